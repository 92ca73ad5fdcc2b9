/** @module-tag postgres-16 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { newId } from '../../kit/ids.ts'
import { isClaimed } from '../../processes/claims.ts'
import { SharedSlots, type SlotTable } from '../../providers/graph/shared-slots.ts'
import type { Urgency } from '../../providers/graph/api.ts'
import { slotTable, sweepSlots } from './slot-table.ts'

const NAME = 'app mailbox'
const LEASE_ENDED = sql<Date>`'-infinity'`

/** Processes that have slots of one mailbox. */
async function openProcesses() {
  const database = await openTestDatabase()
  const { db } = database
  let underWay = 0
  let mostUnderWay = 0

  async function start(change: (table: SlotTable) => Partial<SlotTable> = () => ({})) {
    const process = { id: newId(), isAlone: false, heldUpSeconds: 0 }
    const heartbeat_until = sql<Date>`clock_timestamp() + interval '50 seconds'`
    await db.insertInto('instance').values({ id: process.id, heartbeat_until }).execute()
    const table = slotTable(db, isClaimed)
    const slots = new SharedSlots(NAME, {
      table: { ...table, ...change(table) },
      isAlone: () => process.isAlone,
      instanceId: () => process.id,
      onHeldUp: (_, seconds) => {
        process.heldUpSeconds = seconds
      },
    })
    return {
      slots,
      process,
      /** Has a call under way for some time. */
      async call(urgency: Urgency, milliseconds: number) {
        using _slot = await slots.enter(urgency)
        underWay += 1
        mostUnderWay = Math.max(mostUnderWay, underWay)
        await sleep(milliseconds)
        underWay -= 1
      },
      endLease: () =>
        db
          .updateTable('instance')
          .set({ heartbeat_until: LEASE_ENDED })
          .where('id', '=', process.id)
          .execute(),
    }
  }
  return {
    db,
    start,
    mostUnderWay: () => mostUnderWay,
    rows: () => db.selectFrom('graph_slot').selectAll().orderBy('number').execute(),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

test('three processes have three calls under way together, and never more', async () => {
  await using processes = await openProcesses()
  const [follower, ...others] = [await processes.start(), await processes.start(), await processes.start()]
  await using _followed = follower.slots.follow()
  const calls = [follower, ...others].flatMap(each =>
    Array.from({ length: 30 }, (_, nth) =>
      each.call((['interactive', 'prompt', 'background'] as const)[nth % 3]!, 1 + ((nth * 7) % 20)),
    ),
  )
  await Promise.all(calls)
  expect(processes.mostUnderWay()).toBe(3)
})

test('the process that follows a mailbox calls it without a statement', async () => {
  await using processes = await openProcesses()
  const { slots, call } = await processes.start()
  await using _followed = slots.follow()
  for (let nth = 0; nth < 5; nth += 1) await call('prompt', 0)
  expect(await processes.rows()).toEqual([])
})

test('a process that no longer follows has to borrow, and its call under way is waited for', async () => {
  await using processes = await openProcesses()
  const { slots, call } = await processes.start()
  const followed = slots.follow()
  const slot = await slots.enter('prompt')
  let hasEnded = false
  const ending = followed[Symbol.asyncDispose]().then(() => (hasEnded = true))
  await call('prompt', 0)
  expect(hasEnded).toBe(false)
  expect(await processes.rows()).toHaveLength(1)
  slot[Symbol.dispose]()
  await ending
})

test('background work of all processes leaves a slot to people', async () => {
  await using processes = await openProcesses()
  const [one, other] = [await processes.start(), await processes.start()]
  using _background = await one.slots.enter('background')
  const stop = new AbortController()
  const second = other.slots.enter('background', stop.signal)
  await other.call('interactive', 0)
  stop.abort()
  await expect(second).rejects.toMatchObject({ kind: 'unavailable', isBusy: true })
})

test('the slots of a dead process come back with its lease', async () => {
  await using processes = await openProcesses()
  const [dead, other] = [await processes.start(), await processes.start()]
  await dead.slots.enter('prompt')
  await dead.slots.enter('prompt')
  const entered = Promise.all([other.slots.enter('interactive'), other.slots.enter('prompt')])
  let hasEntered = false
  void entered.then(() => (hasEntered = true))
  await waitUntil('the other in line', async () => (await processes.rows()).some(row => row.wanted_by))
  expect(hasEntered).toBe(false)
  await dead.endLease()
  for (const slot of await entered) slot[Symbol.dispose]()
})

test('a process that lost its lease uses no slot that it had under it', async () => {
  await using processes = await openProcesses()
  const [lapsed, other] = [await processes.start(), await processes.start()]
  await lapsed.call('prompt', 0)
  await lapsed.endLease()
  lapsed.process.id = newId()
  using _one = await other.slots.enter('prompt')
  using _two = await other.slots.enter('prompt')
  const stop = new AbortController()
  const waiting = lapsed.slots.enter('interactive', stop.signal)
  await waitUntil('the other in line', async () => (await processes.rows()).some(row => row.wanted_by))
  stop.abort()
  await expect(waiting).rejects.toMatchObject({ kind: 'unavailable' })
})

test('a busy process gives its slots up when another waits', async () => {
  await using processes = await openProcesses()
  const [busy, other] = [await processes.start(), await processes.start()]
  const over = new AbortController()
  const works = async () => {
    while (!over.signal.aborted) await busy.call('prompt', 5)
  }
  const working = Array.from({ length: 6 }, works)
  await waitUntil('both slots in use', async () => (await processes.rows()).length === 2)
  await other.call('prompt', 5)
  over.abort()
  await Promise.all(working)
})

test('idle slots are kept for a moment, and longer by a process that is alone until another comes', async () => {
  await using processes = await openProcesses()
  let asked = 0
  const one = await processes.start(table => ({
    take(ask) {
      asked += 1
      return table.take(ask)
    },
  }))
  const isHeldBy = async ({ process }: typeof one) =>
    (await processes.rows()).some(row => row.instance === process.id)
  await one.call('prompt', 0)
  await one.call('prompt', 0)
  expect(asked).toBe(1)
  await waitUntil('the slot given back', async () => !(await isHeldBy(one)))

  one.process.isAlone = true
  await one.call('prompt', 0)
  // The moment of the other begins later, and has passed when its slot is given back.
  const other = await processes.start()
  await other.call('prompt', 0)
  await waitUntil('the slot of the other given back', async () => !(await isHeldBy(other)))
  expect(await isHeldBy(one)).toBe(true)
  using _slot = await other.slots.enter('prompt')
  const waiting = other.slots.enter('prompt')
  await waitUntil('the other in line', async () => (await processes.rows()).some(row => row.wanted_by))
  one.process.isAlone = false
  one.slots.giveBackIdle()
  const slot = await waiting
  slot[Symbol.dispose]()
})

test('a refusal holds up the calls of other processes for its time', async () => {
  await using processes = await openProcesses()
  const [one, other] = [await processes.start(), await processes.start()]
  one.slots.holdUp(30)
  await waitUntil('the refusal', async () => (await processes.rows()).length === 2)
  const failure = { kind: 'throttled', isBusy: true, retryAfterSeconds: 30 }
  await expect(other.slots.enter('interactive')).rejects.toMatchObject(failure)
  expect(Math.ceil(other.process.heldUpSeconds)).toBe(30)
  // A shorter one takes nothing from it.
  one.slots.holdUp(1)
  await expect(other.slots.enter('interactive')).rejects.toMatchObject(failure)
  const ago = sql<Date>`clock_timestamp() - interval '1 second'`
  await processes.db.updateTable('graph_slot').set({ paused_until: ago }).execute()
  await other.call('interactive', 0)
  // As a clock leaves it that was ahead.
  const ahead = sql<Date>`clock_timestamp() + interval '1 day'`
  await processes.db.updateTable('graph_slot').set({ paused_until: ahead, wanted_until: ahead }).execute()
  await one.call('interactive', 0)
})

test('slots whose answer was lost are given back', async () => {
  await using processes = await openProcesses()
  let isLost = true
  const losing = await processes.start(table => ({
    async take(ask) {
      const taken = await table.take(ask)
      if (isLost) throw new Error('the answer is lost')
      return taken
    },
  }))
  await expect(losing.slots.enter('prompt')).rejects.toThrow('the answer is lost')
  isLost = false
  await waitUntil('the slot given back', async () =>
    (await processes.rows()).every(({ instance }) => instance === null),
  )
  await losing.call('prompt', 0)
})

test('rows that nobody has asked for in an hour are deleted, but not those of a living process', async () => {
  await using processes = await openProcesses()
  const { db } = processes
  const [living, dead] = [await processes.start(), await processes.start()]
  await living.slots.enter('prompt')
  await dead.slots.enter('prompt')
  await dead.endLease()
  await sweepSlots(db, isClaimed)
  expect(await processes.rows()).toHaveLength(2)
  await db
    .updateTable('graph_slot')
    .set({ used_at: sql<Date>`used_at - interval '61 minutes'` })
    .execute()
  await sweepSlots(db, isClaimed)
  expect((await processes.rows()).map(({ instance }) => instance)).toEqual([living.process.id])
})
