import { setTimeout as sleep } from 'node:timers/promises'
import { findShortage } from './shortage.ts'
import { DatabaseUnavailable } from './unavailable.ts'

/** In words for people, what keeps the database from doing what it was asked; null if the error has another cause. */
export function describeOutage(error: unknown): string | null {
  if (error instanceof DatabaseUnavailable) return 'The database cannot be reached'
  return findShortage(error)?.message ?? null
}

const RETRY_MILLISECONDS = 100

/**
 * Asks again while the database cannot be reached, at most for so many seconds. A question may take effect more than
 * once.
 */
export async function askThroughOutage<Answer>(ask: () => Promise<Answer>, seconds: number): Promise<Answer> {
  const until = performance.now() + seconds * 1000
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) || performance.now() > until) throw error
      await sleep(RETRY_MILLISECONDS)
    }
  }
}
