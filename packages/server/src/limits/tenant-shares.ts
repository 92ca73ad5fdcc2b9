/** Requests at work at a time in a process that tenants share. */
const AT_WORK_MAX = 256
/** Number of them that one tenant may hold while others ask. */
export const TENANT_AT_WORK_MAX = AT_WORK_MAX / 2
/** Another tenant asks if a request of it has begun in this time. */
const ASKING_MILLISECONDS = 60_000

/** A request in its tenant's share. */
export interface Sharing {
  /** Leaves the share while the request only waits. Returns the function that takes it back. */
  rest(): () => void
  /** Ends the request. Further calls have no effect. */
  end(): void
}

/**
 * Bounds the requests at work of one tenant in this process, however many credentials it has. A tenant that is alone is
 * not bounded.
 */
export interface TenantShares {
  /** Begins a request. Null if its tenant has its share already. */
  enter(tenantId: string): Sharing | null
}

/** @param now monotonic time. Default: that of the process */
export function createTenantShares(now: () => number = () => performance.now()): TenantShares {
  const working = new Map<string, number>()
  let total = 0
  /** When each tenant asked last, the one that did not for the longest time first. */
  const askedAt = new Map<string, number>()

  function add(tenantId: string, change: 1 | -1): void {
    const count = (working.get(tenantId) ?? 0) + change
    if (count > 0) working.set(tenantId, count)
    else working.delete(tenantId)
    total += change
  }

  function noteAsking(tenantId: string): void {
    for (const [other, at] of askedAt) {
      if (now() - at < ASKING_MILLISECONDS) break
      askedAt.delete(other)
    }
    askedAt.delete(tenantId)
    askedAt.set(tenantId, now())
  }

  return {
    enter(tenantId) {
      noteAsking(tenantId)
      const held = working.get(tenantId) ?? 0
      const isShared = askedAt.size > 1 || total > held
      if (isShared && held >= TENANT_AT_WORK_MAX) return null
      let isUnderWay = true
      let isCounted = false
      const count = (isToBe: boolean) => {
        if (isToBe !== isCounted) add(tenantId, isToBe ? 1 : -1)
        isCounted = isToBe
      }
      count(true)
      return {
        rest() {
          count(false)
          return () => count(isUnderWay)
        },
        end() {
          isUnderWay = false
          count(false)
        },
      }
    },
  }
}
