/** Requests of one credential that may be under way at a time. */
export const IN_FLIGHT_MAX = 16
/** They end soon, or the caller has to wait for its own ones anyway. */
export const IN_FLIGHT_RETRY_SECONDS = 1

/** Counts what each credential has under way in this process. */
export interface InFlight {
  /** Begins a request and returns what ends it, at most once; null where the credential has too many under way. */
  enter(credentialId: string): (() => void) | null
  /** Of all credentials together. */
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
