import { describe, expect, test } from 'vitest'
import { arrangeGoogleCalendar } from '../../../test/google-calendar/arrange-google-calendar.ts'
import { callsOf, DECEMBER, hourAt, open, WINDOW } from '../../../test/google-calendar/followed-calendar.ts'
import {
  CALENDAR_HOST,
  CALENDAR_SCOPE,
  configureCalendar,
} from '../../../test/google-calendar/other-client.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { never } from '../conformance/arrangement.ts'
import { openEventIndex } from '../conformance/event-index.ts'
import { QuotaGovernor } from '../google/governor.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

test('renews only the calendar whose token has expired, and loses nothing', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  await using other = await arrangeGoogleCalendar(sandbox())
  const { client } = arranged
  const { id } = await other.client.addCalendar({ summary: 'Shared' })
  await sandbox().control('POST', '/calendar/shares', {
    calendarId: id,
    user: arranged.email,
    role: 'reader',
  })
  const kept = await client.insert({ summary: 'Kept', ...DECEMBER })
  const gone = await client.insert({ summary: 'Gone', ...DECEMBER })
  const { calendars, listed, index } = await open(arranged)
  const shared = openEventIndex(
    listed.find(({ key }) => key === id)!,
    WINDOW,
  )
  await shared.follow(calendars)
  await client.expire()
  await client.remove(gone.id)
  await client.insert({ summary: 'New', ...DECEMBER })

  const asked = [index, shared].map(({ calendar, cursor }) => ({ calendar, cursor }))
  expect(await calendars.findChanged(asked, never)).toEqual(new Set([arranged.email]))
  await index.follow(calendars)
  await shared.follow(calendars)

  expect(index.subjects()).toEqual(['Kept', 'New'])
  const brought = index.takeSteps().flatMap(step => (step.type === 'items' ? step.items : []))
  expect(brought.map(({ key }) => key)).not.toContain(kept.id)
  expect([index.comparisons, shared.comparisons]).toEqual([2, 1])
})

test('goes on with a first listing at the page that failed, also if exceptions come before their series', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { client, world } = arranged
  const [series] = await world.add([
    { subject: 'Series', start: '20261201T090000', end: '20261201T100000', rule: 'FREQ=DAILY;COUNT=9' },
  ])
  await world.except(series!, '20261203T090000', 'Once')
  await world.take(series!, '20261204T090000')
  for (const number of [1, 2, 3]) await client.insert({ summary: `Single ${number}`, ...DECEMBER })
  await configureCalendar(sandbox(), { pageMax: 2, exceptionsFirst: true })
  try {
    const { calendars } = await arranged.connect()
    const [primary] = await calendars.listCalendars(never)
    const index = openEventIndex(primary!, WINDOW)
    expect(await index.follow(calendars, 1)).toBe(false)
    await sandbox().addFault({ does: 'error', host: CALENDAR_HOST, count: 1 })
    await expect(index.follow(calendars)).rejects.toMatchObject({ kind: 'unavailable' })

    const paths = await callsOf(sandbox(), arranged, () => index.follow(calendars))

    expect(paths.every(path => path.includes('pageToken='))).toBe(true)
    expect(index.subjects()).toEqual(['Series', 'Single 1', 'Single 2', 'Single 3'])
    expect(index.members(series!)).toEqual({ '20261203T090000': 'Once', '20261204T090000': null })
    expect(index.comparisons).toBe(1)
  } finally {
    await configureCalendar(sandbox(), { pageMax: null, exceptionsFirst: false })
  }
})

test('takes an exception from an index whose series was deleted while its token had expired', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { client, world } = arranged
  const [series] = await world.add([
    { subject: 'Series', start: '20261201T090000', end: '20261201T100000', rule: 'FREQ=DAILY;COUNT=9' },
  ])
  await world.except(series!, '20261203T090000', 'Once')
  await world.take(series!, '20261204T090000')
  const { calendars, index } = await open(arranged)
  expect(index.objects.size).toBe(3)

  await client.remove(series!)
  await client.expire()
  await index.follow(calendars)

  expect(index.objects.size).toBe(0)
})

test('does not take an event for gone because it ended before the window', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { client } = arranged
  await client.insert({ summary: 'Old', ...hourAt('20260910T090000') })
  const gone = await client.insert({ summary: 'Gone', ...hourAt('20260911T090000') })
  const { index, calendars } = await open(arranged)
  const window = { ...WINDOW, start: new Date('2026-10-01T00:00:00Z') }
  await client.remove(gone.id)
  await client.expire()

  const known = async () => index.versions()
  const from = { calendar: index.calendar, window, cursor: index.cursor, known, signal: never }
  const steps = await Array.fromAsync(calendars.follow(from))

  expect(steps.flatMap(step => (step.type === 'gone' ? step.keys : []))).toEqual([gone.id])
})

test('takes an event that moved to before the window while its token had expired as it is now', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { client } = arranged
  const moved = await client.insert({ summary: 'Moved', ...DECEMBER })
  const series = await client.insert({ summary: 'Over', ...DECEMBER, recurrence: ['RRULE:FREQ=DAILY'] })
  const { index, calendars } = await open(arranged)
  await client.patch(moved.id, hourAt('20200910T090000'))
  await client.patch(series.id, {
    ...hourAt('20200910T090000'),
    recurrence: ['RRULE:FREQ=DAILY;UNTIL=20200915T070000Z'],
  })
  await client.expire()

  await index.follow(calendars)

  const starts = index.items().map(({ event }) => event?.start.wall)
  expect(starts).toEqual(['20200910T090000', '20200910T090000'])
})

describe('looks', () => {
  test('cost a call for each calendar, and leave those that seldom change to a later look if they may', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const { client, email } = arranged
    const { id: busy } = await client.addCalendar({ summary: 'Busy' })
    const { id: still } = await client.addCalendar({ summary: 'Still' })
    const { listed, calendars: first } = await open(arranged)
    const indexes = listed.map(calendar => openEventIndex(calendar, WINDOW))
    for (const index of indexes) await index.follow(first)
    let minutes = 0
    const clock = { at: 0 }
    const { calendars } = await arranged.connect({ clock })
    const look = async (mayDefer: boolean, after: number) => {
      minutes += after
      clock.at = minutes * 60_000
      const asked = indexes.map(({ calendar, cursor }) => ({ calendar, cursor }))
      let changed: ReadonlySet<string> = new Set()
      const paths = await callsOf(sandbox(), arranged, async () => {
        changed = await calendars.findChanged(asked, never, mayDefer)
      })
      const named = paths.map(path => decodeURIComponent(/calendars\/([^/]+)/.exec(path)?.[1] ?? ''))
      return { changed, named }
    }

    // After a start, questions about calendars that may seldom change are spread over 5 minutes.
    const spread = [await look(true, 0)]
    while (spread.length < 6) spread.push(await look(true, 1))
    const asked = spread.map(({ named }) => named)
    expect(asked.flat().filter(key => key === email)).toHaveLength(6)
    for (const key of [busy, still]) expect([1, 2]).toContain(asked.flat().filter(one => one === key).length)
    expect((await look(false, 0)).named).toEqual([email, busy, still])
    await client.insert({ summary: 'News', ...DECEMBER }, busy)
    expect(await look(true, 1)).toEqual({ changed: new Set(), named: [email] })
    expect(await look(false, 1)).toEqual({ changed: new Set([busy]), named: [email, busy, still] })
    await indexes[1]!.follow(calendars)
    expect(await look(true, 1)).toEqual({ changed: new Set(), named: [email, busy] })
    expect((await look(true, 4)).named).toEqual([email, busy, still])
    expect((await look(true, 24 * 60)).named).toEqual([email, busy, still])
    expect((await look(true, 1)).named).toEqual([email])
  })

  test('find what changed in the primary calendar although there is no room to ask about others', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const { client, email } = arranged
    await client.addCalendar({ summary: 'Other' })
    const { listed, calendars: first } = await open(arranged)
    const indexes = listed.map(calendar => openEventIndex(calendar, WINDOW))
    for (const index of indexes) await index.follow(first)
    const governor = new QuotaGovernor({
      api: 'Google Calendar',
      userUnitsPerMinute: 100,
      projectUnitsPerMinute: 2,
    })
    const { calendars } = await arranged.connect({ quota: governor.userOf('calendar', email) })
    await client.insert({ summary: 'News', ...DECEMBER })
    const asked = indexes.map(({ calendar, cursor }) => ({ calendar, cursor }))

    expect(await calendars.findChanged(asked, never, true)).toEqual(new Set([email]))
    await expect(calendars.findChanged(asked, never)).rejects.toMatchObject({ isBusy: true })
  })

  test('are made only within the quota, of which others keep a part for requests of people', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const governor = new QuotaGovernor({
      api: 'Google Calendar',
      userUnitsPerMinute: 5,
      projectUnitsPerMinute: 100,
    })
    const quota = governor.userOf('calendar', arranged.email)
    const { calendars } = await arranged.connect({ quota })
    const [calendar] = await calendars.listCalendars(never)
    const index = openEventIndex(calendar!, WINDOW)
    const look = () => calendars.findChanged([{ calendar: calendar!, cursor: index.cursor }], never)

    const calls = await callsOf(sandbox(), arranged, async () => {
      for (let nth = 0; nth < 3; nth += 1) {
        await index.follow(calendars)
        index.cursor = null
      }
      // Listings leave a fifth of the quota to others.
      await expect(index.follow(calendars)).rejects.toMatchObject({ kind: 'throttled', isBusy: true })
    })
    expect(calls).toHaveLength(3)
    await calendars.listCalendars(never)
    await expect(look()).resolves.toEqual(new Set([calendar!.key]))
    await expect(calendars.listCalendars(never)).rejects.toMatchObject({ kind: 'throttled', isBusy: true })
  })
})

describe('failures', () => {
  const NO_LISTING = 'https://www.googleapis.com/auth/calendar.events'

  test('name a permission that the user has not granted', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox(), [NO_LISTING])
    const { calendars } = await arranged.connect()
    await expect(calendars.listCalendars(never)).rejects.toMatchObject({ kind: 'scope_missing' })
  })

  test('are none if the user has granted the permission a moment ago', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox(), [NO_LISTING])
    await using connected = await arranged.connect({ newerScopes: [CALENDAR_SCOPE] })
    const calls = await callsOf(sandbox(), arranged, async () => {
      expect(await connected.calendars.listCalendars(never)).toHaveLength(1)
    })
    expect(calls).toHaveLength(2)
  })

  test.each([403, 429])('wait after an answer %i for the rate', async quotaAnswer => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const { calendars } = await arranged.connect()
    await configureCalendar(sandbox(), { quota: 'on', callsPerMinute: 1, quotaAnswer })
    try {
      await calendars.listCalendars(never)
      await expect(calendars.listCalendars(never)).rejects.toMatchObject({
        kind: 'throttled',
        retryAfterSeconds: expect.any(Number),
      })
      // Until then nothing is asked.
      const calls = await callsOf(sandbox(), arranged, () => calendars.listCalendars(never).catch(() => {}))
      expect(calls).toEqual([])
    } finally {
      await configureCalendar(sandbox(), { quota: 'off', callsPerMinute: 600, quotaAnswer: 403 })
    }
  })

  test('name an API that the project has not switched on', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const { calendars } = await arranged.connect()
    await configureCalendar(sandbox(), { enabled: false })
    try {
      await expect(calendars.listCalendars(never)).rejects.toMatchObject({ kind: 'misconfigured' })
    } finally {
      await configureCalendar(sandbox(), { enabled: true })
    }
  })

  test('are not taken for missing events if the calendar is gone', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const { client } = arranged
    const { id: calendarKey } = await client.addCalendar({ summary: 'Gone' })
    const { id } = await client.insert(DECEMBER, calendarKey)
    const { calendars, listed } = await open(arranged)
    const index = openEventIndex(
      listed.find(({ key }) => key === calendarKey)!,
      WINDOW,
    )
    await index.follow(calendars)
    await client.removeCalendar(calendarKey)

    const asked = [{ calendar: index.calendar, cursor: index.cursor }]
    expect(await calendars.findChanged(asked, never)).toEqual(new Set([calendarKey]))
    await expect(calendars.read({ calendarKey, keys: [id], window: WINDOW })).rejects.toMatchObject({
      kind: 'not_found',
    })
    await expect(index.follow(calendars)).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('do not come from keys that would name another path: they are those of no event', async () => {
    await using arranged = await arrangeGoogleCalendar(sandbox())
    const { calendars, index } = await open(arranged)
    const keys = ['..', '.', '', 'a/b', '../../users/me/calendarList']
    const read = await calendars.read({ calendarKey: index.calendar.key, keys, window: WINDOW })
    expect(read).toEqual({ items: [], unreadable: [] })
  })
})
