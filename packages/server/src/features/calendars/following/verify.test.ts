import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { type CalendarsKind, PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { findCalendarComparisons } from '../comparisons/store.ts'

const KINDS: readonly CalendarsKind[] = ['files', 'members']
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const times = (days: number) => ({
  start: { wall: printWall(TODAY + days * DAY_MS), zone: 'UTC' },
  end: { wall: printWall(TODAY + days * DAY_MS + 3_600_000), zone: 'UTC' },
})
const EQUAL = { missing: 0, extra: 0, changed: 0 }

/** An account whose three singles and one series were read, and whose comparisons are planned. */
async function openRead(kind: CalendarsKind) {
  await using opened = new AsyncDisposableStack()
  const door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
  const { db } = door
  const account = await door.openAccount(kind)
  const { memory, id, pass } = account
  const [calendar = ''] = memory.calendars.keys()
  const singles = ['Ada', 'Bob', 'Cid'].map((subject, nth) =>
    memory.add(calendar, { ...times(nth), subject }),
  )
  const series = memory.add(
    calendar,
    { ...times(5), subject: 'Series' },
    { recurrence: ['RRULE:FREQ=DAILY;COUNT=4'] },
  )
  memory.setMember(series.key, times(6).start.wall, { ...PLAIN_EVENT, ...times(7), subject: 'Moved' })
  memory.setMember(series.key, times(8).start.wall, null)
  await pass()
  await pass()
  const moved = opened.move()
  return {
    db,
    memory,
    calendar,
    id,
    pass: () => pass(),
    keys: singles.map(({ key }) => key),
    seriesKey: series.key,
    feed: async () =>
      (await readCalendarFeed(db, id)).map(({ type, data }) => `${type} ${data.event?.subject ?? ''}`.trim()),
    half: async () => {
      const { rows } = await sql<{ verifiedAt: Date | null; differs: boolean }>`
        select verified_at as "verifiedAt", differs_since is not null as differs from account_half
        where account_id = ${id} and kind = 'calendar'`.execute(db)
      return rows[0]!
    },
    counts: async () => {
      const { listed, indexed, missing, extra, changed, repaired } = (
        await findCalendarComparisons(db, id)
      )[0]!
      return { listed, indexed, missing, extra, changed, repaired }
    },
    subjects: async () => {
      const { rows } = await sql<{ subject: string }>`
        select shown ->> 'subject' as subject from calendar_event where account_id = ${id} order by 1`.execute(
        db,
      )
      return rows.map(({ subject }) => subject)
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

/** Lets a time that was planned come. */
const makeDue = (db: Db) =>
  sql`update calendar_comparison set due_at = now() - interval '1 second'`.execute(db)

/** Items and members with keys of their own. */
const HELD: Record<CalendarsKind, number> = { files: 4, members: 6 }

describe.each(KINDS)('calendars that are told as %s', kind => {
  test('are compared within minutes of the first sync, and then within a day', async () => {
    await using account = await openRead(kind)
    const { db, pass, counts, half } = account
    expect((await half()).verifiedAt).toBeNull()
    const seconds = async () =>
      (
        await sql<{ seconds: number }>`
          select extract(epoch from due_at - now())::float8 as seconds from calendar_comparison`.execute(db)
      ).rows[0]!.seconds
    expect(await seconds()).toBeLessThanOrEqual(300)
    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toEqual({ listed: HELD[kind], indexed: HELD[kind], ...EQUAL, repaired: 0 })
    expect((await half()).verifiedAt).not.toBeNull()
    expect(await seconds()).toBeGreaterThan(22 * 3_600 - 60)
    expect(await seconds()).toBeLessThanOrEqual(24 * 3_600)
  })

  test('have their differences found, healed by the next pass and announced, and compared again', async () => {
    await using account = await openRead(kind)
    const { db, keys, pass, counts, half, subjects } = account
    const [lost, changed, copied] = keys
    await sql`delete from calendar_event where provider_key = ${lost}`.execute(db)
    await sql`
      update calendar_event set version = 'another', shown = shown || '{"subject": "Eve"}' where provider_key = ${changed}
    `.execute(db)
    const { rows } = await sql<{ row: object }>`
      select to_jsonb(calendar_event) as row from calendar_event where provider_key = ${copied}`.execute(db)
    const ghost = { ...rows[0]!.row, id: newId(), provider_key: 'ghost', uid: null }
    await sql`
      insert into calendar_event select * from jsonb_populate_record(null::calendar_event, ${JSON.stringify(ghost)}::jsonb)
    `.execute(db)
    await sql`
      update calendar_event set shown = shown || '{"subject": "Ghost"}' where provider_key = 'ghost'`.execute(
      db,
    )
    expect(await pass()).toEqual({ hasMore: false })

    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: true })
    expect(await counts()).toMatchObject({ missing: 1, extra: 1, changed: 1, repaired: 0 })
    expect(await half()).toEqual({ verifiedAt: null, differs: true })
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toMatchObject({ ...EQUAL, repaired: 3 })
    expect(await half()).toEqual({ verifiedAt: expect.any(Date), differs: false })
    expect(await subjects()).toEqual(['Ada', 'Bob', 'Cid', 'Moved', 'Series'])
    expect((await account.feed()).toSorted()).toEqual([
      'calendar.initialized',
      'calendar_event.created Ada',
      'calendar_event.deleted Ghost',
      'calendar_event.updated Bob',
    ])
  })

  test('do not differ in an event with another version and equal fields, which gets its version', async () => {
    await using account = await openRead(kind)
    const { db, keys, pass, counts, half } = account
    const versionOf = async () =>
      (
        await sql<{
          version: string
        }>`select version from calendar_event where provider_key = ${keys[0]}`.execute(db)
      ).rows[0]
    const before = await versionOf()
    await sql`update calendar_event set version = 'another' where provider_key = ${keys[0]}`.execute(db)
    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toMatchObject({ ...EQUAL, repaired: 0 })
    expect((await half()).differs).toBe(false)
    expect(await versionOf()).toEqual(before)
    expect(await account.feed()).toEqual(['calendar.initialized'])
  })

  test('do not differ in events that come, change and go during a comparison', async () => {
    await using account = await openRead(kind)
    const { db, memory, calendar, keys, seriesKey, pass, counts } = account
    await makeDue(db)
    memory.onAwait = () => {
      if (memory.calls.at(-1) !== 'list') return
      memory.onAwait = () => undefined
      memory.add(calendar, { ...times(9), subject: 'Fay' })
      memory.update(keys[0]!, { subject: 'Ada the Second' })
      memory.remove(keys[1]!)
      memory.setMember(seriesKey, times(5).start.wall, null)
    }
    await pass()
    expect(await counts()).toMatchObject(EQUAL)
  })

  test('do not differ in events at the edge of the window', async () => {
    await using account = await openRead(kind)
    const { db, memory, calendar, pass, counts } = account
    for (const days of [-97.5, -97, -96, -95.5, 390, 395, 396.5])
      memory.add(calendar, { ...times(Math.floor(days)), subject: `Day ${days}` })
    await pass()
    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toMatchObject(EQUAL)
  })
})

test('old events that a server lists are no difference', async () => {
  await using account = await openRead('files')
  const { db, memory, calendar, pass, counts } = account
  memory.add(calendar, { ...times(-200), subject: 'Old' })
  memory.add(
    calendar,
    { ...times(-220), subject: 'Old series' },
    { recurrence: ['RRULE:FREQ=DAILY;COUNT=4'] },
  )
  memory.listsOld = true
  await pass()
  await makeDue(db)
  expect(await pass()).toEqual({ hasMore: false })
  expect(await counts()).toEqual({ listed: 4, indexed: 4, ...EQUAL, repaired: 0 })
  expect(await account.feed()).toEqual(['calendar.initialized'])
})

test('events that cannot be read are no difference', async () => {
  await using account = await openRead('files')
  const { db, memory, keys, pass, counts } = account
  memory.update(keys[0]!, { subject: 'Ada the Second' })
  memory.setUnreadable(keys[0]!, true)
  await makeDue(db)
  await pass()
  expect(await counts()).toMatchObject({ listed: 4, ...EQUAL })
})

test('a calendar that could not be listed is left alone for an hour, and counts as before', async () => {
  await using account = await openRead('files')
  const { db, memory, pass, half } = account
  await makeDue(db)
  await pass()
  const before = await half()
  await makeDue(db)
  memory.onAwait = () => {
    if (memory.calls.at(-1) === 'list') throw new ProviderFailure('unavailable', 'Not now.')
  }
  await expect(pass()).rejects.toThrow('Not now.')
  expect(await pass()).toEqual({ hasMore: false })
  expect(await half()).toEqual(before)
})
