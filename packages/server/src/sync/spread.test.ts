import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { seeded } from '../../test/seeded.ts'
import { newId } from '../kit/ids.ts'
import { chooseReleased, planShare } from './spread.ts'
import { readSpread } from '../accounts/spread.ts'

const others = (...weights: number[]) => new Map(weights.map((weight, nth) => [String(nth), weight]))

describe('planShare', () => {
  test.each([
    ['a process that is alone claims everything', 0, [], 300, { room: 300, excess: 0 }],
    ['the first of three claims a third', 0, [0, 0], 300, { room: 100, excess: 0 }],
    ['a process that has its share leaves the rest to the others', 100, [60, 60], 80, { room: 0, excess: 0 }],
    ['two that survive a third divide what it had', 100, [100], 100, { room: 50, excess: 0 }],
    ['one that has less gets more', 10, [100], 30, { room: 60, excess: 0 }],
    ['nothing leaves while anything waits to be claimed', 300, [0], 1, { room: 0, excess: 0 }],
    ['what is too much leaves once all is claimed', 300, [0, 0], 0, { room: 0, excess: 200 }],
    ['a small difference stays', 102, [99, 99], 0, { room: 0, excess: 0 }],
    ['of an odd number one process has more', 2, [1], 0, { room: 0, excess: 0 }],
    [
      'the least that can move leaves where many have a little more than one',
      51,
      [51, 51, 40],
      0,
      { room: 0, excess: 2.75 },
    ],
    ['a process that is alone has never too much', 300, [], 0, { room: 0, excess: 0 }],
  ])('%s', (_, staying, weights, unowned, expected) => {
    expect(planShare({ staying, leaving: 0 }, { others: others(...weights), unowned })).toEqual(expected)
  })

  test('leaving accounts count as work, but no longer as work of this process', () => {
    const plan = planShare({ staying: 120, leaving: 180 }, { others: others(0, 0), unowned: 0 })
    expect(plan).toEqual({ room: 0, excess: 20 })
  })
})

describe('chooseReleased', () => {
  const weighing = (...weights: number[]) => weights.map(weight => ({ weight }))

  test.each([
    ['together at most the excess', [1, 1, 1, 1], 2.5, 10, [1, 1]],
    ['no more than so many', [1, 1, 1, 1], 4, 2, [1, 1]],
    ['none that weighs more than the excess', [5, 1, 5, 1], 2, 10, [1, 1]],
    ['nothing if all are too heavy', [7, 7], 3, 10, []],
    ['nothing if as many are leaving already', [1, 1], 2, 0, []],
  ])('releases %s', (_, weights, excess, atOnce, chosen) => {
    expect(chooseReleased(weighing(...weights), excess, atOnce).map(({ weight }) => weight)).toEqual(chosen)
  })
})

/** Processes that follow the rules, and see of each other what was true a while ago. */
function simulate(seed: number, { processes, accounts }: { processes: number; accounts: number }) {
  const random = seeded(seed)
  const weightOf = () => (random.between(1, 10) === 1 ? random.between(1, 8) : 1)
  let unowned = Array.from({ length: accounts }, () => ({ weight: weightOf() }))
  const held = Array.from({ length: processes }, () => [] as Array<{ weight: number }>)
  const weigh = (of: ReadonlyArray<{ weight: number }>) => of.reduce((total, { weight }) => total + weight, 0)
  const shown = held.map(() => 0)
  let moves = 0
  function act(nth: number) {
    const mine = held[nth]!
    const seen = new Map(
      shown.flatMap((weight, other) => (other === nth ? [] : [[String(other), weight] as const])),
    )
    const plan = planShare({ staying: weigh(mine), leaving: 0 }, { others: seen, unowned: unowned.length })
    const claimed = unowned.splice(0, Math.min(50, Math.ceil(plan.room)))
    mine.push(...claimed)
    const released = new Set(chooseReleased(mine, plan.excess, Math.max(1, Math.ceil(mine.length / 20))))
    moves += released.size
    held[nth] = mine.filter(account => !released.has(account))
    unowned = [...unowned, ...released]
    if (random.between(1, 3) > 1) shown[nth] = weigh(held[nth]!)
  }
  return {
    run(rounds: number) {
      for (let round = 0; round < rounds; round++) act(random.between(0, held.length - 1))
      moves = 0
      for (let round = 0; round < rounds; round++) act(random.between(0, held.length - 1))
      return { moves, weights: held.map(weigh), unowned: unowned.length }
    },
    join: () => (held.push([]), void shown.push(0)),
    leave() {
      unowned.push(...(held.pop() ?? []))
      shown.pop()
    },
  }
}

test.each(Array.from({ length: 20 }, (_, seed) => seed + 1))(
  'processes that see each other late come to an even spread, and then nothing moves: seed %i',
  seed => {
    const world = simulate(seed, { processes: 1 + (seed % 4), accounts: 300 })
    const expectEven = () => {
      const { moves, weights, unowned } = world.run(2_000)
      const share = weights.reduce((total, weight) => total + weight, 0) / weights.length
      expect(unowned).toBe(0)
      expect(moves).toBe(0)
      for (const weight of weights) expect(Math.abs(weight - share)).toBeLessThanOrEqual(share / 10 + 1)
    }
    expectEven()
    world.join()
    world.join()
    expectEven()
    world.leave()
    expectEven()
  },
)

describe('readSpread', () => {
  test('finds the living processes that follow accounts, and counts accounts that nobody follows', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const add = async (until: string, weight: number | null) => {
      const id = newId()
      const heartbeat_until = sql<Date>`clock_timestamp() + ${until}::interval`
      await db.insertInto('instance').values({ id, heartbeat_until, weight }).execute()
      return id
    }
    const own = await add('50 seconds', 3)
    const other = await add('50 seconds', 2.5)
    await add('50 seconds', null)
    await add('-1 second', 7)
    const tenant = await sampleTenant(db)
    await sampleAccount(db, tenant.id)
    await sampleAccount(db, tenant.id, { owner_instance: other })
    await sampleAccount(db, tenant.id, { status: 'paused' })
    const suspended = await sampleTenant(db)
    await sampleAccount(db, suspended.id)
    await db.updateTable('tenant').set({ suspended_at: new Date() }).where('id', '=', suspended.id).execute()
    expect(await readSpread(db, own)).toEqual({ others: new Map([[other, 2.5]]), unowned: 1 })
  })
})
