import { randomUUID } from 'node:crypto'
import { FileRefused, splitFile } from '../../kit/content-lines/content-file.ts'
import { type ContentLine, parameterOf } from '../../kit/content-lines/content-line.ts'
import { printLine } from '../../kit/content-lines/print-line.ts'
import { DAY_MS, printWall } from '../../kit/wall-clock.ts'
import { readDuration, readTime } from '../../kit/written-time.ts'
import { toInstant } from '../../kit/zones/zones.ts'
import type { CalendarsProvider } from '../calendars.ts'
import { readRefusal } from '../http/answers.ts'
import { askAll } from './ask.ts'
import type { DavClient } from './client.ts'
import { StatusFailure } from './failure.ts'
import { propHref, textsOf } from './multistatus.ts'
import { CALDAV, D, propfindBody } from './names.ts'
import { readItems, type XmlElement } from './xml-stream.ts'

/* Busy times of others by the scheduling outbox of the user (RFC 6638 section 5). */

type FindBusy = NonNullable<CalendarsProvider['findBusy']>
type BusyTimes = Array<{ start: Date; end: Date }>

const ANSWER_BYTES_MAX = 16 * 1024 * 1024
const OUTBOX = `${CALDAV} schedule-outbox-URL`
const OWN_ADDRESSES = `${CALDAV} calendar-user-address-set`
const ANSWER = {
  whole: `${CALDAV} schedule-response`,
  response: `${CALDAV} response`,
  recipient: `${CALDAV} recipient`,
  status: `${CALDAV} request-status`,
  data: `${CALDAV} calendar-data`,
} as const

/** A place to ask at, and in whose name. */
interface Outbox {
  url: URL
  /** A URI of the user, such as `mailto:ada@example.com`. */
  user: string
}

/** Asks the server when people are busy. Without scheduling, nobody is resolved. */
export async function findBusy(
  { client, home }: { client: DavClient; home: URL },
  ...[addresses, range, signal]: Parameters<FindBusy>
): ReturnType<FindBusy> {
  const outbox = await findOutbox(client, home, signal)
  const found = new Map<string, BusyTimes>()
  if (!outbox) return found
  await using answer = await client.send({
    method: 'POST',
    url: outbox.url,
    headers: {
      'content-type': 'text/calendar; charset=utf-8; component=VFREEBUSY; method=REQUEST',
      // Servers that follow drafts of the RFC want to have the people here as well.
      originator: outbox.user,
      recipient: addresses.map(uriOf).join(', '),
    },
    body: requestBody(outbox, addresses, range),
    answerBytesMax: ANSWER_BYTES_MAX,
    signal,
  })
  if (answer.status !== 200) {
    const { status, headers } = await readRefusal(answer)
    throw new StatusFailure(status, headers)
  }
  const asked = new Map(addresses.map(address => [uriOf(address).toLowerCase(), address]))
  for await (const items of readItems(answer.content, ANSWER.whole))
    for (const item of items) {
      const address = asked.get(recipientOf(item)?.toLowerCase() ?? '')
      const times = timesOf(item, range)
      if (address !== undefined && times) found.set(address, times)
    }
  return found
}

/** The outbox of the user to whom a home belongs; null if the server does no scheduling. */
async function findOutbox(client: DavClient, home: URL, signal: AbortSignal): Promise<Outbox | null> {
  const look = async (url: URL, names: readonly string[]) => {
    const body = propfindBody(names)
    const asked = await askAll(client, { method: 'PROPFIND', url, depth: '0', body, signal })
    return { url: asked.url, first: asked.told[0] }
  }
  const at = await look(home, [D.principal])
  const principal = at.first && propHref(at.first, D.principal)
  if (!principal) return null
  const user = URL.parse(principal, at.url.href)
  if (!user) return null
  const own = await look(user, [OUTBOX, OWN_ADDRESSES])
  const href = own.first && propHref(own.first, OUTBOX)
  const uris = textsOf(own.first?.props.get(OWN_ADDRESSES)?.children ?? [], D.href)
  const address = uris.find(uri => /^mailto:/i.test(uri)) ?? uris[0]
  const url = href ? URL.parse(href, own.url.href) : null
  return url && address !== undefined ? { url, user: address } : null
}

const uriOf = (address: string): string => `mailto:${address}`

function requestBody(
  { user }: Outbox,
  addresses: readonly string[],
  { start, end }: { start: Date; end: Date },
): Buffer {
  const line = (rawName: string, value: string) => printLine({ rawName, parameters: [], value }, '\r\n')
  const utc = (date: Date) => `${printWall(date.getTime())}Z`
  return Buffer.concat([
    line('BEGIN', 'VCALENDAR'),
    line('VERSION', '2.0'),
    line('PRODID', '-//Waxwing//Waxwing//EN'),
    line('METHOD', 'REQUEST'),
    line('BEGIN', 'VFREEBUSY'),
    line('UID', randomUUID()),
    line('DTSTAMP', utc(new Date())),
    line('DTSTART', utc(start)),
    line('DTEND', utc(end)),
    line('ORGANIZER', user),
    ...addresses.map(address => line('ATTENDEE', uriOf(address))),
    line('END', 'VFREEBUSY'),
    line('END', 'VCALENDAR'),
  ])
}

const recipientOf = ({ children }: XmlElement): string | undefined => {
  const recipient = children.find(({ name }) => name === ANSWER.recipient)
  return recipient && (textsOf(recipient.children, D.href)[0] ?? recipient.text.trim())
}

/** The busy times that a response has; null if the response has none. */
function timesOf({ name, children }: XmlElement, range: { start: Date; end: Date }): BusyTimes | null {
  const status = textsOf(children, ANSWER.status)[0] ?? ''
  const data = children.find(child => child.name === ANSWER.data)
  if (name !== ANSWER.response || !status.startsWith('2.') || !data || data.isCut) return null
  const lines = freeBusyLines(data.text)
  const times: BusyTimes = []
  for (const line of lines ?? []) {
    if (parameterOf(line, 'FBTYPE')?.toUpperCase() === 'FREE') continue
    for (const value of line.value.split(',')) {
      const period = periodOf(value)
      // A time that cannot be read must not count as free.
      if (!period) return null
      if (period.start < range.end && period.end > range.start) times.push(period)
    }
  }
  return lines && times
}

/** The lines FREEBUSY of an iCalendar; null if it has no VFREEBUSY. */
function freeBusyLines(text: string): ContentLine[] | null {
  try {
    const file = splitFile(Buffer.from(text))
    const inner = file.components.flatMap(({ components }) => components)
    const found = inner.filter(({ name }) => name === 'VFREEBUSY')
    if (found.length === 0) return null
    const contents = found.flatMap(({ lines }) => lines.map(index => file.lines[index]!.content))
    return contents.filter(content => content !== null).filter(({ name }) => name === 'FREEBUSY')
  } catch (error) {
    if (error instanceof FileRefused) return null
    throw error
  }
}

/** A period of UTC, by its end or its length (RFC 5545 section 3.3.9). Null if it is none, or has no end that a clock shows. */
function periodOf(value: string): { start: Date; end: Date } | null {
  const [first = '', last = ''] = value.trim().split('/')
  const [from, to, duration] = [readTime(first), readTime(last), readDuration(last)]
  if (!from || (!to && !duration)) return null
  const start = toInstant(from.wall, 'UTC')
  const end = to ? toInstant(to.wall, 'UTC') : start + duration!.days * DAY_MS + duration!.milliseconds
  const period = { start: new Date(start), end: new Date(end) }
  return Number.isNaN(period.start.getTime()) || Number.isNaN(period.end.getTime()) ? null : period
}
