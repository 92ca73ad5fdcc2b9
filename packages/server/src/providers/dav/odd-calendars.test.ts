import { expect, test } from 'vitest'
import { calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { type OddDav, type Oddities, startOddDav } from '../../../test/servers/odd-dav.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import type { CalendarsProvider } from '../calendars.ts'
import { never } from '../conformance/arrangement.ts'
import { type EventIndex, openEventIndex } from '../conformance/event-index.ts'
import { calDavAccount } from './caldav.ts'
import { openFileThread } from './file-thread.ts'
import { LoginSchemes } from './login.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const window = { start: new Date('2026-09-01'), end: new Date('2027-09-01') }
const OLD = ['DTSTART:20240101T090000Z', 'DTEND:20240101T100000Z']
const NOW = ['DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z']
/** More than are read without asking the server for the events of a time. */
const MANY = 120

const eventOf = (name: string, lines: readonly string[] = NOW) =>
  calendarFile([eventText(name, [...lines, `SUMMARY:${name}`])])

interface OddCalendar extends AsyncDisposable {
  dav: OddDav
  calendars: CalendarsProvider
  index: EventIndex
}

/** A server with events of these names, and the index of its calendar. */
async function openOddCalendar(
  oddities: Oddities,
  names: readonly string[] = ['a', 'b', 'c'],
): Promise<OddCalendar> {
  await using stack = new AsyncDisposableStack()
  const dav = stack.use(await startOddDav(oddities, 'calendar'))
  for (const name of names) dav.put(`${name}.ics`, eventOf(name))
  const { home, login } = dav
  const files = stack.use(openFileThread())
  const own = { home, login, guard, files, authorities: undefined }
  const { signal } = new AbortController()
  const { calendars } = stack.use(calDavAccount({ ...own, schemes: new LoginSchemes(), signal }))
  const [calendar] = await calendars.listCalendars(never)
  const owned = stack.move()
  return {
    dav,
    calendars,
    index: openEventIndex(calendar!, window),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

const ALL: ReadonlyArray<readonly [string, Oddities]> = [
  ['nothing odd', {}],
  ['Digest only', { digest: { algorithm: 'SHA-256', usesMax: 3 } }],
  ['tokens answered with 415', { tokenStatus: 415 }],
  ['tags only', { tokenStatus: null }],
  ['neither tokens nor tags', { tokenStatus: null, lacksCtag: true }],
  ['weak ETags', { etags: 'weak', tokenStatus: null }],
  ['seconds as ETags', { etags: 'seconds', tokenStatus: null }],
  ['no ETags', { etags: 'none', tokenStatus: null }],
  ['absolute hrefs', { hrefs: 'absolute' }],
  ['hrefs of another encoding', { hrefs: 'encoded' }],
  ['hrefs with a last slash', { hrefs: 'last_slash' }],
  ['two members at a time', { membersMax: 2 }],
  ['no multiget', { multiget: 'missing' }],
  ['a multiget that leaves out events', { multiget: 'forgetful' }],
]

test.concurrent.each(ALL)('follows events on a server with %s', async (_, oddities) => {
  await using opened = await openOddCalendar(oddities)
  const { dav, calendars, index } = opened
  await index.follow(calendars)
  expect(index.subjects()).toEqual(['a', 'b', 'c'])

  dav.now += 5_000
  dav.put('a.ics', eventOf('changed'))
  dav.remove('b.ics')
  dav.put('d.ics', eventOf('d'))
  const { calendar, cursor } = index
  expect([...(await calendars.findChanged([{ calendar, cursor }], never))]).toEqual([calendar.key])
  for (let nth = 0; nth < 2; nth++) {
    await index.follow(calendars)
    expect(index.subjects()).toEqual(['c', 'changed', 'd'])
  }
})

test.each<[string, Oddities]>([
  ['has no query for events of a time', { queries: 'missing' }],
  ['finds no event of any time', { queries: 'empty' }],
])('nothing is left out where a server %s', async (_, oddities) => {
  const names = [...Array(MANY).keys()].map(nth => `event-${String(nth).padStart(3, '0')}`)
  await using opened = await openOddCalendar(oddities, names)
  const { calendars, index } = opened
  await index.follow(calendars)
  expect(index.subjects()).toEqual(names)
})

test('50,000 old events cost a listing, and not their content', async () => {
  await using opened = await openOddCalendar({}, ['current'])
  const { dav, calendars, index } = opened
  for (let nth = 0; nth < 50_000; nth++) dav.put(`old-${nth}.ics`, eventOf(`old-${nth}`, OLD))
  dav.bodies.length = 0

  await index.follow(calendars)

  expect(index.subjects()).toEqual(['current'])
  const read = dav.bodies.filter(body => body.includes('<calendar-multiget'))
  expect(read.flatMap(body => body.match(/<href/g) ?? []).length).toBeLessThanOrEqual(51)
  dav.put('old-7.ics', eventOf('moved here'))
  await index.follow(calendars)
  expect(index.subjects()).toEqual(['current', 'moved here'])
})

test('a calendar keeps what it was if its server stores only a part of a change', async () => {
  await using opened = await openOddCalendar({})
  const { dav, calendars } = opened
  const [{ key = '' } = {}] = await calendars.listCalendars(never)
  const changed = calendars.writer.changeCalendar(key, { name: 'Team', color: '#ff0000' })
  await expect(changed).rejects.toMatchObject({ kind: 'unsupported' })
  expect(await calendars.listCalendars(never)).toMatchObject([{ name: 'Calendar', color: null }])
  expect(dav.requests.filter(request => request.startsWith('PROPPATCH'))).toHaveLength(2)
  expect(await calendars.writer.changeCalendar(key, { name: 'Team' })).toMatchObject({ name: 'Team' })
})
