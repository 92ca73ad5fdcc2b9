import { setTimeout as sleep } from 'node:timers/promises'
import { EgressRefused, type EgressGuard, EgressUnresolved } from './guard.ts'
import { parseHost } from './host.ts'

/**
 * A guard for targets that a caller names and whose outcome the caller is told. A name that leads inside is refused as
 * one that does not exist, in the same words and after the same time: else callers could find out which names the
 * network of the operator has.
 */
export function discreetGuard(guard: EgressGuard): EgressGuard {
  return {
    async resolve(target) {
      const startedAt = performance.now()
      try {
        return await guard.resolve(target)
      } catch (error) {
        // What is refused for an address says nothing that the caller did not say.
        if (parseHost(target.host)?.address === null) await wholeSecondsSince(startedAt)
        if (error instanceof EgressUnresolved && !error.isTemporary) throw new EgressRefused(error.message)
        throw error
      }
    },
  }
}

/** Waits until whole seconds have passed, at least one: how long a name server took is not to be seen. */
export async function wholeSecondsSince(startedAt: number): Promise<void> {
  const passed = performance.now() - startedAt
  await sleep(Math.ceil(Math.max(passed, 1) / 1000) * 1000 - passed)
}
