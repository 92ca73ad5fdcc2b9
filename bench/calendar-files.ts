import { calendarFile, eventText } from '../packages/server/test/servers/event-text.ts'
import { davTestClient } from '../packages/server/test/servers/dav-client.ts'
import type { DavTestServer, DavTestUser } from '../packages/server/test/servers/dav-test-server.ts'
import { DAY_MS, printWall } from '../packages/server/src/kit/wall-clock.ts'

const TAGS = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:" xmlns:S="http://calendarserver.org/ns/"><D:prop><S:getctag/><D:sync-token/></D:prop></D:propfind>`
/** Events are spread over the days that the index shows. */
const DAYS = { past: 80, all: 430 }
const HOUR_MS = 3_600_000
/** One in so many events is a series. */
const SERIES_EVERY = 50
/** The name of the calendar in the home of its user. */
export const CALENDAR = 'work'

/** Creates a user of a Radicale with one calendar of this many events, of which one in 50 is a series. */
export async function makeFullCalendar(server: DavTestServer, events: number): Promise<DavTestUser> {
  const user = await server.addUser()
  const client = davTestClient(server, user)
  if (events === 0) {
    await client.makeCalendar(CALENDAR)
    return user
  }
  // Radicale takes a whole collection.
  const answer = await client.request('PUT', `${user.homePath}${CALENDAR}/`, {
    headers: { 'content-type': 'text/calendar; charset=utf-8' },
    body: calendarFile(Array.from({ length: events }, (_, nth) => componentOf(`event-${nth}`, nth))),
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
  // Radicale reads each file once before it knows the tag of the calendar, which takes longer than the service waits.
  const told = await client.request('PROPFIND', user.homePath, { headers: { depth: '1' }, body: TAGS })
  await told.arrayBuffer()
  return user
}

/** A file with one event. */
export const fileOf = (uid: string, nth: number): string => calendarFile([componentOf(uid, nth)])

/** The hour of an event, as its wall clocks in UTC. */
export function hourOf(nth: number): { start: number; end: number } {
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS
  const start = today + ((nth % DAYS.all) - DAYS.past) * DAY_MS + (7 + (nth % 11)) * HOUR_MS
  return { start, end: start + HOUR_MS }
}

function componentOf(uid: string, nth: number): string {
  const { start, end } = hourOf(nth)
  return eventText(uid, [
    `DTSTART:${printWall(start)}Z`,
    `DTEND:${printWall(end)}Z`,
    ...(nth % SERIES_EVERY === 0 ? ['RRULE:FREQ=WEEKLY;COUNT=20'] : []),
    `SUMMARY:Meeting ${nth} about subject ${nth % 97}`,
    `LOCATION:Room ${nth % 13}`,
    'DESCRIPTION:What we said last time\\, and what comes next.',
    'ORGANIZER;CN=Ada:mailto:ada@example.com',
    `ATTENDEE;CN=Guest ${nth % 211};PARTSTAT=ACCEPTED:mailto:guest${nth % 211}@example.org`,
    'BEGIN:VALARM',
    'ACTION:DISPLAY',
    'TRIGGER:-PT15M',
    'DESCRIPTION:Soon',
    'END:VALARM',
  ])
}
