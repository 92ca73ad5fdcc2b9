import { expect } from 'vitest'
import { QuotaGovernor, type UserQuota } from '../../src/providers/google/governor.ts'

const TRIES_MAX = 100

/** A quota of a user by a clock that stands still. */
export interface LittleQuota {
  quota: UserQuota
  /** Works until that is done; whenever the quota is spent, more than a minute passes. @returns how often it was spent */
  untilDone(work: () => Promise<boolean>): Promise<number>
}

export function littleQuota(unitsPerMinute: number): LittleQuota {
  let now = 1_000_000
  const governor = new QuotaGovernor({
    userUnitsPerMinute: unitsPerMinute,
    projectUnitsPerMinute: 1e9,
    now: () => now,
  })
  return {
    quota: governor.userOf('project', 'user'),
    async untilDone(work) {
      let spent = 0
      const isDone = async () => {
        try {
          return await work()
        } catch (error) {
          expect(error).toMatchObject({ kind: 'throttled' })
          now += 120_000
          spent += 1
          return false
        }
      }
      for (let tries = 0; tries < TRIES_MAX; tries += 1) if (await isDone()) return spent
      throw new Error('It does not come to its end')
    },
  }
}
