import { setTimeout as sleep } from 'node:timers/promises'
import { EgressRefused, type EgressGuard, EgressUnresolved } from './guard.ts'
import { parseHost } from './host.ts'

/**
 * A guard for targets that a caller names and whose outcome the caller sees. A name in the private network is refused
 * like one that does not exist, with the same message and after the same time: otherwise callers could find out which
 * names the operator's network has.
 */
export function discreetGuard(guard: EgressGuard): EgressGuard {
  return {
    async resolve(target) {
      const startedAt = performance.now()
      try {
        return await guard.resolve(target)
      } catch (error) {
        // The refusal of an address reveals nothing that the caller did not know.
        if (parseHost(target.host)?.address === null) await wholeSecondsSince(startedAt)
        if (error instanceof EgressUnresolved && !error.isTemporary)
          throw new EgressRefused(target.host, error.message)
        throw error
      }
    },
  }
}

/** Waits until a whole number of seconds has passed, at least one, to hide how long a name server took. */
export async function wholeSecondsSince(startedAt: number): Promise<void> {
  const passed = performance.now() - startedAt
  await sleep(Math.ceil(Math.max(passed, 1) / 1000) * 1000 - passed)
}
