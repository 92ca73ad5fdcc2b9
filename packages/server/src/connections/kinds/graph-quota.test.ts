/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { CALLS_WINDOW, GraphGovernor } from '../../providers/graph/governor.ts'
import { OwnSlots } from '../../providers/graph/slots.ts'
import { sharedUse } from './quota-use.ts'

const CALLS_MAX = 1_000
const PROCESSES = 3
/** Calls of each process without asking the others. */
const UNASKED = Math.floor((CALLS_MAX * 0.1) / PROCESSES)

/** Takes calls one after the other until there is no room. @returns how many there were */
async function takeAll(quota: ReturnType<GraphGovernor['quotaOf']>, calls: number): Promise<number> {
  for (let taken = 0; ; taken += calls)
    try {
      await quota.take(calls, 'interactive')
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      expect(error).toMatchObject({ kind: 'throttled', isBusy: true })
      return taken
    }
}

test('processes use the calls to a mailbox together, and one of them may use nearly all', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const quotas = Array.from({ length: PROCESSES }, () =>
    new GraphGovernor({
      callsMax: CALLS_MAX,
      sharing: { countProcesses: () => PROCESSES, use: sharedUse(db, CALLS_WINDOW) },
      now: () => 1_000_000,
    }).quotaOf('app mailbox', new OwnSlots()),
  )
  for (const quota of quotas) for (let poll = 0; poll < UNASKED; poll++) await quota.take(1, 'interactive')
  expect(await db.selectFrom('quota_use').select('name').execute()).toEqual([])

  const [busy] = quotas
  const used = await takeAll(busy!, 20)
  const rest = await Promise.all(quotas.map(quota => takeAll(quota, 1)))
  const all = PROCESSES * UNASKED + used + rest.reduce((sum, taken) => sum + taken, 0)
  expect(used).toBeGreaterThan(CALLS_MAX * 0.8)
  expect(all).toBeLessThanOrEqual(CALLS_MAX)
  expect(all).toBeGreaterThan(CALLS_MAX * 0.9)
})
