import { expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { History, Killed, timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { expectEqualIndex, readIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { seeded } from '../../../../test/seeded.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { SECOND_LOOK_SECONDS, Doubts } from '../../../sync/doubts.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import { countQuarantined } from './quarantine.ts'

const SEEDS = seedsFor(1)
const PASSES = 25
const HOUR_MS = 3_600_000

test.each(SEEDS.flatMap(seed => (['files', 'members'] as const).map(kind => ({ seed, kind }))))(
  'after the random history $seed of calendars told as $kind, the index holds what the provider holds',
  async ({ seed, kind }) => {
    await using database = await openTestDatabase()
    await using door = await openCalendarDoor(database)
    const account = await door.openAccount(kind)
    const { memory } = account
    memory.createCalendar('second')
    const history = new History(memory, seeded(seed))
    await account.pass()
    const initial = await readShown(door.db, account.id)
    memory.onAwait = () => history.disturb()
    for (let nth = 0; nth < PASSES; nth++)
      await account.pass().catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error
      })
    history.isOver = true
    for (const { key, isUnreadable } of memory.items.values())
      if (isUnreadable) memory.setUnreadable(key, false)
    for (let nth = 0; nth < 2; nth++) await account.pass()

    await expectEqualIndex(door.db, account, initial)
  },
)

test('a calendar that is emptied, or that is not listed, is asked for again before that is believed', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [first = ''] = memory.calendars.keys()
  for (let nth = 0; nth < 120; nth++) memory.add(first, timesAt(TODAY + nth * HOUR_MS))
  const second = memory.createCalendar('second')
  memory.add(second, timesAt(TODAY))
  await account.pass()
  let now = 0
  const doubts = new Doubts(() => now)
  for (const { key, calendarKey } of memory.items.values()) if (calendarKey === first) memory.remove(key)
  memory.removeCalendar(second)
  await account.pass(doubts)
  await account.pass(doubts)
  expect((await readIndex(door.db, account.id)).spans).toHaveLength(121)
  now = SECOND_LOOK_SECONDS * 1_000
  await account.pass(doubts)
  expect((await readIndex(door.db, account.id)).spans).toEqual([])
  const feed = (await readCalendarFeed(door.db, account.id)).map(({ type }) => type)
  // The events of a deleted calendar go in silence.
  expect(feed.filter(type => type === 'calendar.deleted')).toHaveLength(1)
  expect(feed.filter(type => type === 'calendar_event.deleted')).toHaveLength(120)
})

test('an event that moves to another calendar keeps its id, whichever calendar is read first', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [first = ''] = memory.calendars.keys()
  const second = memory.createCalendar('second')
  const recurrence = ['RRULE:FREQ=DAILY;COUNT=3']
  const forth = memory.add(first, { ...timesAt(TODAY + DAY_MS), subject: 'Forth' }, { recurrence })
  const back = memory.add(second, { ...timesAt(TODAY + 2 * DAY_MS), subject: 'Back' })
  const copied = memory.add(first, { ...timesAt(TODAY + 3 * DAY_MS), subject: 'Copied' })
  await account.pass()
  const rowOf = async (subject: string) =>
    (await readIndex(door.db, account.id)).events.find(({ shown }) => shown?.subject === subject)!
  const before = { forth: await rowOf('Forth'), back: await rowOf('Back') }
  memory.move(forth.key, second)
  memory.move(back.key, first)
  memory.add(second, { ...timesAt(TODAY + 3 * DAY_MS), subject: 'Copy' }, { uid: copied.uid })
  await account.pass()
  const after = { forth: await rowOf('Forth'), back: await rowOf('Back') }
  expect([after.forth.id, after.back.id]).toEqual([before.forth.id, before.back.id])
  expect([after.forth.calendar_id, after.back.calendar_id]).toEqual([
    before.back.calendar_id,
    before.forth.calendar_id,
  ])
  expect((await rowOf('Copied')).id).not.toBe((await rowOf('Copy')).id)
  const feed = (await readCalendarFeed(door.db, account.id)).slice(1)
  const lines = feed.map(({ type, data }) => `${type} ${data.event?.subject} ${data.changes ?? ''}`.trim())
  expect(lines.toSorted()).toEqual([
    'calendar_event.created Copy',
    'calendar_event.updated Back calendarId',
    'calendar_event.updated Forth calendarId',
  ])
})

test('an event that cannot be read is left alone and counted until it has another version', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [calendar = ''] = memory.calendars.keys()
  const odd = memory.add(calendar, { ...timesAt(TODAY), subject: 'Odd' }, { isUnreadable: true })
  const ada = memory.add(calendar, { ...timesAt(TODAY), subject: 'Ada' })
  const subjects = async () =>
    (await readIndex(door.db, account.id)).spans.map(({ subject }) => subject).toSorted()
  await account.pass()
  expect(await subjects()).toEqual(['Ada'])
  expect(await countQuarantined(door.db, account.id)).toBe(1)
  memory.loseCursors()
  memory.calls.length = 0
  await account.pass()
  // A comparison that brings nothing has one page, its end.
  expect(memory.calls.filter(call => call === 'page')).toHaveLength(1)
  memory.setUnreadable(ada.key, true)
  memory.setUnreadable(odd.key, false)
  await account.pass()
  expect(await subjects()).toEqual(['Ada', 'Odd'])
  expect(await countQuarantined(door.db, account.id)).toBe(1)
  memory.remove(ada.key)
  await account.pass()
  expect(await subjects()).toEqual(['Odd'])
  expect(await countQuarantined(door.db, account.id)).toBe(0)
})

test.each(['files', 'members'] as const)(
  'a provider that dates all events told as %s anew, and loses its cursors, doubles and announces nothing',
  async kind => {
    await using database = await openTestDatabase()
    await using door = await openCalendarDoor(database)
    const account = await door.openAccount(kind)
    const { memory } = account
    const [calendar = ''] = memory.calendars.keys()
    memory.add(calendar, { ...timesAt(TODAY), subject: 'Single' })
    const series = { ...timesAt(TODAY), subject: 'Series' }
    const { key } = memory.add(calendar, series, { recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] })
    const dated = (nth: number) => ({ updatedAt: new Date(TODAY + nth) })
    const except = (nth: number) =>
      memory.setMember(key, timesAt(TODAY + DAY_MS).start.wall, {
        ...memory.items.get(key)!.event!,
        ...timesAt(TODAY + DAY_MS),
        subject: 'Exception',
        ...dated(nth),
      })
    except(0)
    await account.pass()
    const ids = async () => {
      const { spans } = await readIndex(door.db, account.id)
      return spans.map(({ id, subject }) => `${id} ${subject}`).toSorted()
    }
    const before = await ids()
    expect(before).toHaveLength(6)
    for (let nth = 1; nth <= 10; nth++) {
      for (const item of memory.items.values()) memory.update(item.key, dated(nth))
      except(nth)
      if (nth % 2 === 0) memory.loseCursors()
      await account.pass()
    }
    expect(await ids()).toEqual(before)
    expect((await readCalendarFeed(door.db, account.id)).map(({ type }) => type)).toEqual([
      'calendar.initialized',
    ])
  },
)
