import { readLine } from '../content-lines/content-line.ts'
import { makeParameter, printLine } from '../content-lines/print-line.ts'
import { escapeText } from '../content-lines/text-value.ts'
import { readRecurrenceDates } from '../recurrence/recurrence-dates.ts'
import { printDates, printTzid } from '../recurrence/recurrence-lines.ts'
import type { Steps } from '../sliced-work.ts'
import { isDay, printDay, printWall } from '../wall-clock.ts'
import type { ItipAttendee, ItipComponent, ItipMethod, ItipPerson, ItipTime } from './component.ts'
import { openPrintedBodies, type PrintedBodies } from './printed-bodies.ts'
import { plainText } from './plain-text.ts'
import { openDefinitions, type ZoneDefinitions } from './zone-definitions.ts'

/* Printing iTIP messages (RFC 5546) as iCalendar objects. */

const PRODUCT = '-//Waxwing//Calendar//EN'
const ENDING = '\r\n'

/**
 * An iCalendar object with these components, and the definitions of their zones. A step is a component, or a part of a body.
 * @param bodies those that other objects have as well. Default: none
 */
export function* printCalendarSteps(
  method: ItipMethod,
  components: readonly ItipComponent[],
  bodies: PrintedBodies = openPrintedBodies(),
): Steps<string> {
  const definitions = openDefinitions()
  const events: string[] = []
  for (const component of components) {
    const body = component.body && (yield* bodies.printSteps(component.body))
    events.push(printComponent(method, component, definitions, body?.lines ?? []))
    yield
  }
  const head = [
    printValue('BEGIN', 'VCALENDAR'),
    printValue('PRODID', PRODUCT),
    printValue('VERSION', '2.0'),
    printValue('CALSCALE', 'GREGORIAN'),
    printValue('METHOD', method),
  ]
  const zones = definitions.print().map(printText)
  return [...head, ...zones, ...events, printValue('END', 'VCALENDAR')].join('')
}

function printComponent(
  method: ItipMethod,
  event: ItipComponent,
  zones: ZoneDefinitions,
  body: readonly string[],
): string {
  const { start, end, recurrenceId } = event
  const range = event.isOfFuture ? ';RANGE=THISANDFUTURE' : ''
  const cancelled = method === 'CANCEL' ? 'cancelled' : event.status
  return [
    printValue('BEGIN', 'VEVENT'),
    printValue('UID', escapeText(plainText(event.uid))),
    ...(recurrenceId ? [printText(`RECURRENCE-ID${range}${printTime(recurrenceId, zones)}`)] : []),
    printValue('DTSTAMP', printInstant(event.stamp)),
    printText(`DTSTART${printTime(start, zones)}`),
    ...(isSameTime(start, end) ? [] : [printText(`DTEND${printTime(end, zones)}`)]),
    ...printRecurrence(event, zones).map(printText),
    printValue('SEQUENCE', String(event.sequence)),
    ...(method === 'REPLY' ? [] : [printValue('STATUS', cancelled.toUpperCase())]),
    ...printField('SUMMARY', event.subject),
    ...printField('LOCATION', event.location),
    ...body,
    ...printMeeting(event.meetingUrl),
    ...(event.isPrivate ? [printValue('CLASS', 'PRIVATE')] : []),
    ...printField('COMMENT', event.comment),
    printPerson('ORGANIZER', event.organizer, []),
    ...event.attendees.map(attendee => printAttendee(method, attendee)),
    printValue('END', 'VEVENT'),
  ].join('')
}

const isSameTime = (one: ItipTime, other: ItipTime): boolean =>
  one.wall === other.wall && one.zone === other.zone

/** The value of a time with its parameters. */
function printTime({ wall, zone }: ItipTime, zones: ZoneDefinitions): string {
  if (isDay(wall)) return `;VALUE=DATE:${wall}`
  if (zone === null) return `:${wall}`
  if (zone === 'UTC') return `:${wall}Z`
  return `;${printTzid(zones.use(zone, wall))}:${wall}`
}

const printInstant = (time: Date): string => `${time.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`

/** Rules as they are written. Dates are printed in the zone of the start, which the message defines. */
function printRecurrence({ recurrence, excluded, start }: ItipComponent, zones: ZoneDefinitions): string[] {
  const isZoned = !isDay(start.wall) && start.zone !== null && start.zone !== 'UTC'
  const tzid = isZoned ? zones.use(start.zone!, start.wall) : start.zone
  const lines = recurrence.flatMap(line => readLine(Buffer.from(line, 'utf8').toString('latin1')) ?? [])
  const rules = lines.filter(({ name }) => name === 'RRULE' || name === 'EXRULE')
  const print = isDay(start.wall) ? printDay : printWall
  const dates = readRecurrenceDates(lines, start).members.map(({ time, end }) => ({ wall: print(time), end }))
  const taken = excluded.map(wall => ({ wall, end: null }))
  return [
    ...rules.map(({ name, value }) => `${name}:${value}`),
    ...printDates('RDATE', dates, start, tzid),
    ...printDates('EXDATE', taken, start, tzid),
  ]
}

function printMeeting(url: string | null): string[] {
  if (url === null) return []
  const parameters = [makeParameter('VALUE', ['URI']), makeParameter('FEATURE', ['VIDEO'])]
  return [print({ rawName: 'CONFERENCE', parameters, value: plainText(url).replaceAll('\n', '') })]
}

const STATUSES: Readonly<Record<ItipAttendee['response'], string>> = {
  none: 'NEEDS-ACTION',
  needs_action: 'NEEDS-ACTION',
  accepted: 'ACCEPTED',
  tentative: 'TENTATIVE',
  declined: 'DECLINED',
}

const TYPES: Readonly<Record<ItipAttendee['type'], readonly [kind: string, role: string]>> = {
  required: ['INDIVIDUAL', 'REQ-PARTICIPANT'],
  optional: ['INDIVIDUAL', 'OPT-PARTICIPANT'],
  resource: ['RESOURCE', 'NON-PARTICIPANT'],
}

function printAttendee(method: ItipMethod, attendee: ItipAttendee): string {
  const status: readonly [string, string] = ['PARTSTAT', STATUSES[attendee.response]]
  if (method === 'REPLY') return printPerson('ATTENDEE', attendee, [status])
  const [kind, role] = TYPES[attendee.type]
  const asked: ReadonlyArray<readonly [string, string]> =
    method === 'REQUEST' && status[1] === 'NEEDS-ACTION' ? [['RSVP', 'TRUE']] : []
  return printPerson('ATTENDEE', attendee, [['CUTYPE', kind], ['ROLE', role], status, ...asked])
}

function printPerson(
  rawName: 'ORGANIZER' | 'ATTENDEE',
  { name, address }: ItipPerson,
  facts: ReadonlyArray<readonly [name: string, value: string]>,
): string {
  const plainName = plainText(name ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const parameters = [
    ...(plainName === '' ? [] : [makeParameter('CN', [plainName])]),
    ...facts.map(([parameter, value]) => makeParameter(parameter, [value])),
  ]
  // Readers decode it as a URI.
  const value = `mailto:${plainText(address).replaceAll(/[%?#]/g, encodeURIComponent)}`
  return print({ rawName, parameters, value })
}

const printField = (name: string, text: string | null): string[] =>
  text === null ? [] : [printValue(name, escapeText(plainText(text)))]

const printValue = (rawName: string, value: string): string => print({ rawName, parameters: [], value })

/** Prints a line that has been put together from checked parts. */
function printText(text: string): string {
  const line = readLine(Buffer.from(text, 'utf8').toString('latin1'))
  if (!line) throw new RangeError('A line has no name')
  return print(line)
}

const print = (line: Parameters<typeof printLine>[0]): string => printLine(line, ENDING).toString('utf8')
