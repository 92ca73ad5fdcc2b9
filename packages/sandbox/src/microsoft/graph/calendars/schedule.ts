import { DAY_MS } from '../../../calendaring/moments.ts'
import { type CalendarEvent, instantAt, occurrencesIn, type Span } from '../../mailbox/occurrences.ts'
import type { Mailbox } from '../../mailbox/mailbox.ts'
import { badRequest, type GraphRefusal } from '../errors.ts'
import { text, wrongValue } from '../message-input.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, ok, READ_CALENDARS } from '../method.ts'
import { contextOf } from '../odata/paging.ts'
import { momentOf, type NamedZone, preferredZone, presentTime, readTime } from './event-times.ts'
import { CALENDAR_PATHS } from './find.ts'
import { mailboxAt } from './invitations.ts'

const ADDRESSES_MAX = 20
const DAYS_MAX = 62
const MINUTE_MS = 60_000
const INTERVAL_MINUTES = { min: 5, max: 1_440, usual: 30 }

/** The method that says when people and rooms are busy. */
export const scheduleMethods: readonly GraphMethod[] = CALENDAR_PATHS.map(path => ({
  http: 'POST',
  path: `${path}/getSchedule`,
  scopes: READ_CALENDARS,
  run: getSchedule,
}))

function getSchedule(call: MethodCall): GraphAnswer {
  const json = new Map(Object.entries(call.json()).map(([name, value]) => [name.toLowerCase(), value]))
  const schedules = json.get('schedules')
  if (!Array.isArray(schedules) || schedules.length === 0) throw wrongValue('schedules')
  const [from, to] = ['starttime', 'endtime'].map(name => instantOfTime(json.get(name), name))
  if (from === undefined || to === undefined || to <= from)
    throw invalid('The end time has to be after the start time.')
  if (to - from > DAYS_MAX * DAY_MS)
    throw invalid('The requested time duration specified for FreeBusy is too long.')
  const interval = json.get('availabilityviewinterval') ?? INTERVAL_MINUTES.usual
  if (typeof interval !== 'number' || interval < INTERVAL_MINUTES.min || interval > INTERVAL_MINUTES.max)
    throw invalid('The interval is invalid.')
  const asked = { span: { from, to }, interval, zone: preferredZone(call.prefer) }
  return ok({
    '@odata.context': contextOf(call.url, 'Collection(microsoft.graph.scheduleInformation)'),
    value: schedules.map(address => scheduleOf(call, text(address, 'schedules'), schedules.length, asked)),
  })
}

const invalid = (message: string): GraphRefusal => badRequest(message, 'ErrorInvalidParameter')

function instantOfTime(value: unknown, name: string): number {
  return instantAt(momentOf(readTime(value, name), false))
}

interface Asked {
  readonly span: Span
  readonly interval: number
  readonly zone: NamedZone
}

function scheduleOf(call: MethodCall, address: string, count: number, asked: Asked): object {
  if (count > ADDRESSES_MAX)
    return failed(address, 'ErrorTooManyAttendees', `At most ${ADDRESSES_MAX} schedules can be asked for.`)
  const mailbox =
    mailboxAt(call.graph, address) ?? (address.toLowerCase() === call.mailbox.email ? call.mailbox : null)
  if (!mailbox)
    return failed(address, 'ErrorMailRecipientNotFound', 'Unable to resolve e-mail address to a mailbox.')
  const events = [...mailbox.calendars.main.events.values()]
    .flatMap(event => occurrencesIn(mailbox, event, asked.span))
    .filter(event => !event.isCancelled)
    .toSorted((a, b) => instantAt(a.start) - instantAt(b.start))
  return {
    scheduleId: address,
    availabilityView: viewOf(events, asked),
    scheduleItems: events.map(event => itemOf(event, isHidden(call, mailbox, event), asked.zone)),
    workingHours: {
      daysOfWeek: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
      startTime: '08:00:00.0000000',
      endTime: '17:00:00.0000000',
      timeZone: { name: 'UTC' },
    },
  }
}

const failed = (scheduleId: string, responseCode: string, message: string): object => ({
  scheduleId,
  error: { message, responseCode },
})

/** Others see subject and place only of a calendar that is shared with them. */
const isHidden = ({ mailbox: own }: MethodCall, mailbox: Mailbox, { sensitivity }: CalendarEvent): boolean =>
  mailbox !== own &&
  (sensitivity === 'private' ||
    ['read', 'write', 'limitedRead'].every(role => mailbox.calendars.main.shares.get(own.email) !== role))

function itemOf(event: CalendarEvent, hidden: boolean, zone: NamedZone): object {
  return {
    isPrivate: event.sensitivity === 'private',
    status: event.showAs,
    ...(!hidden && { subject: event.subject, location: String(event.locations[0]?.['displayName'] ?? '') }),
    start: presentTime(event.start, zone),
    end: presentTime(event.end, zone),
  }
}

/** Digits of the states by which slots are shown, the stronger ones later. */
const DIGITS = ['free', 'workingElsewhere', 'tentative', 'busy', 'oof'] as const
const SHOWN: Readonly<Record<string, string>> = {
  free: '0',
  tentative: '1',
  busy: '2',
  oof: '3',
  workingElsewhere: '4',
}

/** A digit for each slot of the time, by the strongest state of its events. */
function viewOf(events: readonly CalendarEvent[], { span, interval }: Asked): string {
  let view = ''
  for (let from = span.from; from < span.to; from += interval * MINUTE_MS) {
    const to = Math.min(span.to, from + interval * MINUTE_MS)
    const states = events
      .filter(({ start, end }) => instantAt(start) < to && instantAt(end) > from)
      .map(({ showAs }) => showAs)
    view += SHOWN[DIGITS.findLast(state => states.some(one => one === state)) ?? 'free'] ?? '0'
  }
  return view
}
