/** Maximum requests of one credential in progress at a time. */
export const IN_FLIGHT_MAX = 16
/** One second: requests end soon, and if not, the caller has to wait for them anyway. */
export const IN_FLIGHT_RETRY_SECONDS = 1

/** Counts the requests in progress for each credential, in this process. */
export interface InFlight {
  /**
   * Begins a request and returns the function that ends it. Null if the credential has too many requests in progress.
   */
  enter(credentialId: string): (() => void) | null
  /** Requests in progress for all credentials together. */
  readonly total: number
}

export function createInFlight(): InFlight {
  const counts = new Map<string, number>()
  let total = 0

  function leave(credentialId: string) {
    const left = (counts.get(credentialId) ?? 0) - 1
    if (left > 0) counts.set(credentialId, left)
    else counts.delete(credentialId)
    total -= 1
  }

  return {
    enter(credentialId) {
      const before = counts.get(credentialId) ?? 0
      if (before >= IN_FLIGHT_MAX) return null
      counts.set(credentialId, before + 1)
      total += 1
      let isUnderWay = true
      return () => {
        if (isUnderWay) leave(credentialId)
        isUnderWay = false
      }
    },
    get total() {
      return total
    },
  }
}
