import type { Random } from '../seeded.ts'
import type { DavTestClient } from '../servers/dav-client.ts'
import { calendarFile, eventText } from '../servers/event-text.ts'
import { dayAhead } from './caldav-account.ts'
import {
  type CalendarFile,
  describeFile,
  membersOf,
  printFile,
  readFile,
  takenOf,
  valueOf,
} from './held-days.ts'
import { isUntouchable, type OtherCalendars } from './other-calendars.ts'

const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"'
const FILES = `<?xml version="1.0" encoding="utf-8"?><C:calendar-query ${NAMESPACES}><D:prop><D:getetag/><C:calendar-data/></D:prop><C:filter><C:comp-filter name="VCALENDAR"/></C:filter></C:calendar-query>`
const KINDS = `<?xml version="1.0" encoding="utf-8"?><D:propfind ${NAMESPACES}><D:prop><D:resourcetype/></D:prop></D:propfind>`
/** Gone, changed meanwhile, held by a server that keeps a UID in one calendar only, or not done by a server at all. */
const OVERTAKEN = new Set([403, 404, 405, 409, 410, 412])

export interface DavFile {
  path: string
  etag: string
  text: string
}

/** The calendars in a home collection. */
export async function listCalendarPaths(client: DavTestClient, homePath: string): Promise<string[]> {
  const parts = await multistatus(client, 'PROPFIND', homePath, KINDS)
  return parts.filter(part => /<(?:\w+:)?calendar\s*(?:xmlns[^>]*)?\/?>/.test(part)).map(hrefOf)
}

/** The files of a calendar, past everything that stands before it. */
export async function listCalendarFiles(client: DavTestClient, path: string): Promise<DavFile[]> {
  const parts = await multistatus(client, 'REPORT', path, FILES)
  return parts.map(part => ({
    path: hrefOf(part),
    etag: unescapeXml(elementOf(part, 'getetag')),
    text: unescapeXml(elementOf(part, 'calendar-data')),
  }))
}

async function multistatus(
  client: DavTestClient,
  method: string,
  path: string,
  body: string,
): Promise<string[]> {
  const answer = await client.request(method, path, { headers: { depth: '1' }, body })
  const xml = await answer.text()
  if (answer.status === 404) return []
  if (answer.status !== 207) throw new Error(`${method} ${path}: ${answer.status} ${xml}`)
  return xml.split(/<(?:\w+:)?response(?:\s[^>]*)?>/).slice(1)
}

/** The text of an element, as it is escaped. Some servers put it into CDATA. */
function elementOf(part: string, name: string): string {
  const [, literal, escaped] =
    new RegExp(`<(?:\\w+:)?${name}\\b[^>]*>(?:<!\\[CDATA\\[([^]*?)\\]\\]>|([^<]*))</`).exec(part) ?? []
  return literal?.replaceAll('&', '&amp;') ?? escaped ?? ''
}
const hrefOf = (part: string) => new URL(elementOf(part, 'href'), 'http://dav.test/').pathname

const ENTITIES: Readonly<Record<string, string>> = {
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  '#13': '\r',
  '#xD': '\r',
  '#10': '\n',
  '#34': '"',
  amp: '&',
}

function unescapeXml(text: string): string {
  return text.replace(/&(#?\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole)
}

/** A client of CalDAV that adds to some calendars, and changes the events of all, unless someone else changes them meanwhile. */
export function davCalendars(
  client: DavTestClient,
  { url, homePath, calendars }: { url: URL; homePath: string; calendars: readonly string[] },
): OtherCalendars {
  let made = 0
  const name = (word: string) => `${word} ${++made}`
  const readAll = async () => {
    const files: DavFile[] = []
    // One after the other: Radicale accepts few connections at once.
    for (const path of await listCalendarPaths(client, homePath))
      files.push(...(await listCalendarFiles(client, path)))
    return files
  }

  async function add(random: Random): Promise<string> {
    const uid = `other-${++made}`
    const start = `${dayAhead(random.between(1, 60))}T090000Z`
    const rule = random.chance(0.5) ? [`RRULE:FREQ=DAILY;COUNT=${random.between(2, 6)}`] : []
    const lines = [`DTSTART:${start}`, 'DURATION:PT30M', `SUMMARY:${name('Added')}`, ...rule]
    await client.put(`${random.pick(calendars)}${uid}.ics`, calendarFile([eventText(uid, lines)]))
    return `other: add ${uid}`
  }

  /** Makes a request that fails if the file is not as it was read. */
  async function ask(method: string, { path, etag }: DavFile, given: { body?: string; to?: string } = {}) {
    const { body, to } = given
    const headers = {
      'if-match': etag,
      ...(body !== undefined && { 'content-type': 'text/calendar; charset=utf-8' }),
      ...(to !== undefined && { destination: new URL(to, url).href, overwrite: 'F' }),
    }
    const answer = await client.request(method, path, { headers, ...(body !== undefined && { body }) })
    const text = await answer.text()
    if (!answer.ok && !OVERTAKEN.has(answer.status))
      throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return `other: ${method} ${path} ${to ?? ''}: ${answer.status}`
  }

  return {
    async act(random) {
      const files = (await readAll()).map(file => ({ ...file, held: readFile(file.text) }))
      const free = files.filter(({ held }) => !isUntouchable(valueOf(held.master, 'SUMMARY')))
      const choice = random.next()
      if (free.length < 4 || choice < 0.25) return add(random)
      const file = random.pick(free)
      if (choice < 0.4) return ask('DELETE', file)
      const folder = file.path.slice(0, file.path.lastIndexOf('/') + 1)
      const to = random.pick(calendars)
      if (choice < 0.55 && to !== folder)
        return ask('MOVE', file, { to: `${to}${file.path.slice(folder.length)}` })
      editOne(file.held, random, name)
      return ask('PUT', file, { body: printFile(file.held) })
    },
    list: async () => (await readAll()).flatMap(({ text }) => describeFile(readFile(text))).toSorted(),
  }
}

/** Renames an event, or takes a member from a series, gives it back, or makes it an exception. */
function editOne(file: CalendarFile, random: Random, name: (word: string) => string): void {
  const members = membersOf(file)
  const taken = takenOf(file)
  const member = random.pick(members)
  const choice = random.next()
  if (members.length === 1 || choice < 0.3) {
    file.master = withLine(file.master, 'SUMMARY', `SUMMARY:${name('Renamed')}`)
  } else if (choice < 0.55) {
    file.exceptions.delete(member)
    file.master = withLine(file.master, 'EXDATE', exdate(taken.add(member)))
  } else if (choice < 0.75) {
    taken.delete(member)
    file.exceptions.delete(member)
    file.master = withLine(file.master, 'EXDATE', exdate(taken))
  } else {
    taken.delete(member)
    file.master = withLine(file.master, 'EXDATE', exdate(taken))
    const start = `${member.slice(0, 9)}110000Z`
    const lines = [
      `RECURRENCE-ID:${member}Z`,
      `DTSTART:${start}`,
      'DURATION:PT30M',
      `SUMMARY:${name('Once')}`,
    ]
    file.exceptions.set(member, eventText(valueOf(file.master, 'UID'), lines).split('\r\n'))
  }
}

const exdate = (taken: ReadonlySet<string>) =>
  taken.size === 0 ? null : `EXDATE:${[...taken].map(wall => `${wall}Z`).join(',')}`

/** The lines of an event with one line in place of those of a property. */
function withLine(event: readonly string[], name: string, line: string | null): string[] {
  const alarms = event.indexOf('BEGIN:VALARM')
  const end = alarms < 0 ? event.length - 1 : alarms
  const own = event.slice(0, end).filter(one => !new RegExp(`^${name}[:;]`).test(one))
  return [...own, ...(line === null ? [] : [line]), ...event.slice(end)]
}
