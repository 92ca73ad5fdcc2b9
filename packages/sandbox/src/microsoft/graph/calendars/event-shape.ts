import { type Attendee, type EventFields, type ResponseStatus } from '../../mailbox/event.ts'
import type { Mailbox } from '../../mailbox/mailbox.ts'
import type { Body, Recipient } from '../../mailbox/message.ts'
import { type CalendarEvent, instantAt, occurrenceOn } from '../../mailbox/occurrences.ts'
import { dateOf } from '../../mailbox/recurrence.ts'
import { htmlOf, textOfHtml } from '../body-text.ts'
import { expandedIds } from '../extended.ts'
import { etagOf } from '../message-shape.ts'
import { timeText } from '../message-times.ts'
import type { MethodCall } from '../method.ts'
import { type Expanded, parseExpand, parseSelect } from '../odata/select.ts'
import { type NamedZone, preferredZone, presentTime } from './event-times.ts'

/** Properties, ids, zone and form of the body of events that a client asked for. */
export interface EventView {
  /** Null for the properties that come without `$select`. */
  readonly select: readonly string[] | null
  readonly expand: readonly Expanded[]
  readonly immutableIds: boolean
  readonly bodyType: 'text' | 'html' | null
  readonly zone: NamedZone
  /** The mailbox that has the events. */
  readonly mailbox: Mailbox
  /** The role of a user who sees little of another one's calendar; null: all is shown. */
  readonly masked: 'freeBusyRead' | 'limitedRead' | null
  /** Whether private events are masked. */
  readonly hidesPrivate: boolean
}

const TYPE = 'microsoft.graph.event'
const PREVIEW_CHARACTERS = 255
/** Graph's time of a response that was not given. */
const NEVER = '0001-01-01T00:00:00Z'

type Shown = (event: CalendarEvent, view: EventView) => unknown

/** The properties of an event, in the order in which Graph writes them. */
const PROPERTIES: Readonly<Record<string, Shown>> = {
  id: (event, view) => idOf(event, view),
  createdDateTime: ({ createdAt }) => timeText(createdAt),
  lastModifiedDateTime: ({ modifiedAt }) => timeText(modifiedAt),
  changeKey: ({ changeKey }) => changeKey,
  categories: ({ categories }) => categories,
  transactionId: ({ of }) => of.transactionId,
  originalStartTimeZone: ({ startZone }) => startZone,
  originalEndTimeZone: ({ endZone }) => endZone,
  iCalUId: event => iCalUIdOf(event),
  reminderMinutesBeforeStart: ({ reminderMinutesBeforeStart }) => reminderMinutesBeforeStart,
  isReminderOn: ({ isReminderOn }) => isReminderOn,
  hasAttachments: ({ attachments }) => attachments.length > 0,
  subject: ({ subject }) => subject,
  bodyPreview: ({ body }) => plainText(body).replaceAll(/\s+/g, ' ').trim().slice(0, PREVIEW_CHARACTERS),
  importance: ({ importance }) => importance,
  sensitivity: ({ sensitivity }) => sensitivity,
  originalStart: ({ originalStart }) => originalStart && timeText(instantAt(originalStart)),
  isAllDay: ({ start }) => 'day' in start,
  isCancelled: ({ isCancelled }) => isCancelled,
  isOrganizer: ({ of }) => of.isOrganizer,
  responseRequested: ({ responseRequested }) => responseRequested,
  seriesMasterId: ({ of, day }, view) => (day === null ? null : wholeId(of, view)),
  showAs: ({ showAs }) => showAs,
  type: ({ type }) => type,
  webLink: ({ id }) =>
    `https://outlook.office365.com/owa/?itemid=${encodeURIComponent(id)}&exvsurl=1&path=/calendar/item`,
  onlineMeetingUrl: () => null,
  isOnlineMeeting: ({ joinUrl }) => joinUrl !== null,
  onlineMeetingProvider: ({ onlineMeetingProvider }) => onlineMeetingProvider,
  allowNewTimeProposals: ({ allowNewTimeProposals }) => allowNewTimeProposals,
  isDraft: () => false,
  hideAttendees: ({ hideAttendees }) => hideAttendees,
  responseStatus: ({ response }) => presentResponse(response),
  body: ({ body }, { bodyType }) => presentBody(body, bodyType),
  start: ({ start }, { zone }) => presentTime(start, zone),
  end: ({ end }, { zone }) => presentTime(end, zone),
  location: ({ locations }) => ({
    displayName: '',
    locationType: 'default',
    uniqueIdType: 'unknown',
    ...locations[0],
  }),
  locations: ({ locations }) =>
    locations.map(place => ({ locationType: 'default', uniqueIdType: 'unknown', ...place })),
  recurrence: ({ type, of }) => (type === 'seriesMaster' ? of.recurrence : null),
  attendees: ({ attendees }) => attendees.map(presentAttendee),
  organizer: ({ of }) => ({ emailAddress: emailAddress(of.organizer) }),
  onlineMeeting: ({ joinUrl }) => (joinUrl === null ? null : { joinUrl }),
}

/** Properties that only some clouds have, and only if they are selected. */
const CANCELLED = 'cancelledOccurrences'
const EXCEPTIONS = 'exceptionOccurrences'

const NAMES = Object.keys(PROPERTIES)
const NAVIGATIONS = [
  'attachments',
  'calendar',
  'extensions',
  'instances',
  'multiValueExtendedProperties',
  'singleValueExtendedProperties',
]

/** Reads `$select`, `$expand` and the preferences of a request. */
export function eventViewOf(
  { query, prefer, abilities }: Pick<MethodCall, 'query' | 'prefer' | 'abilities'>,
  { mailbox, masked, hidesPrivate }: Pick<EventView, 'mailbox' | 'masked' | 'hidesPrivate'>,
): EventView {
  const lists = abilities.exceptionLists ? [CANCELLED, EXCEPTIONS] : []
  const expandable = [...NAVIGATIONS, ...lists.slice(1)]
  return {
    select: parseSelect(query.options.get('select'), [...NAMES, ...NAVIGATIONS, ...lists], TYPE),
    expand: parseExpand(query.options.get('expand'), expandable, TYPE),
    immutableIds: prefer.immutableIds,
    bodyType: prefer.bodyType,
    zone: preferredZone(prefer),
    mailbox,
    masked,
    hidesPrivate,
  }
}

const wholeId = (of: CalendarEvent['of'], { immutableIds }: EventView): string =>
  immutableIds ? of.immutableId : of.id

export const idOf = (
  { id, immutableId }: Pick<CalendarEvent, 'id' | 'immutableId'>,
  { immutableIds }: Pick<EventView, 'immutableIds'>,
): string => (immutableIds ? immutableId : id)

/** An event as Graph answers it. */
export function presentEvent(given: CalendarEvent, view: EventView): Record<string, unknown> {
  const isHidden = view.hidesPrivate && given.sensitivity === 'private'
  const role = isHidden ? 'freeBusyRead' : view.masked
  const event = role ? masked(given, role) : given
  const shown: Record<string, unknown> = { '@odata.etag': etagOf(event) }
  for (const name of view.select ?? NAMES) {
    const present = PROPERTIES[name]
    if (present) shown[name] = present(event, view)
  }
  if (event.type === 'seriesMaster') Object.assign(shown, seriesLists(event, view))
  const extended = view.expand.find(({ name }) => name === 'singleValueExtendedProperties')
  if (extended) {
    const properties = expandedIds(extended.options.get('filter')).flatMap(id => {
      const value = event.extended.get(id)
      return value === undefined ? [] : [{ id, value }]
    })
    // An event that has none of them does not have the collection.
    if (properties.length > 0) shown[extended.name] = properties
  }
  return shown
}

function seriesLists({ of }: CalendarEvent, view: EventView): Record<string, unknown> {
  const { select, expand, mailbox } = view
  const expanded = expand.find(({ name }) => name === EXCEPTIONS)
  const days = [...of.exceptions.keys()].toSorted((a, b) => a - b)
  return {
    ...(select?.includes(CANCELLED) && {
      [CANCELLED]: [...of.deleted]
        .toSorted((a, b) => a - b)
        .map(day => `OID.${wholeId(of, view)}.${dateOf(day)}`),
    }),
    ...((expanded || select?.includes(EXCEPTIONS)) && {
      [EXCEPTIONS]: days.flatMap(day => {
        const exception = occurrenceOn(mailbox, of, day)
        return exception ? [presentEvent(exception, { ...view, expand: [] })] : []
      }),
    }),
  }
}

/** The few properties that a delta reports of an occurrence without changes of its own. */
export const presentStub = (event: CalendarEvent, view: EventView): Record<string, unknown> =>
  presentEvent(event, { ...view, expand: [], select: ['id', 'seriesMasterId', 'type', 'start', 'end'] })

/** The part of an event that a user sees who may see little. */
const masked = (event: CalendarEvent, role: NonNullable<EventView['masked']>): CalendarEvent => ({
  ...event,
  body: { contentType: 'text', content: '' },
  attendees: [],
  categories: [],
  extended: new Map(),
  joinUrl: null,
  attachments: [],
  ...(role === 'freeBusyRead' && { subject: 'Busy', locations: [] }),
})

const presentResponse = ({ response, at }: ResponseStatus): object => ({
  response,
  time: at === null ? NEVER : timeText(at),
})

const emailAddress = ({ name, address }: Recipient): object => ({ name: name || address, address })

const presentAttendee = ({ type, status, ...one }: Attendee): object => ({
  type,
  status: presentResponse(status),
  emailAddress: emailAddress(one),
})

const plainText = ({ contentType, content }: Body): string =>
  contentType === 'html' ? textOfHtml(content) : content

/** Graph answers HTML unless text is preferred. */
function presentBody(body: Body, asked: 'text' | 'html' | null): Body {
  if (asked === 'text') return { contentType: 'text', content: plainText(body) }
  if (body.contentType === 'html' || body.content === '')
    return { contentType: 'html', content: body.content }
  return { contentType: 'html', content: htmlOf(body.content) }
}

/** Letters of a global object id before the date of an occurrence ([MS-OXOCAL] section 2.2.1.27). */
const GLOBAL_ID = '040000008200E00074C5B7101A82E008'

/** The UID, which has the date of an occurrence, so that each has another one. */
export function iCalUIdOf({ of, originalStart }: Pick<CalendarEvent, 'of' | 'originalStart'>): string {
  if (!/^[0-9A-F]{40}$/.test(of.uid)) return of.uid
  return `${GLOBAL_ID}${originalStart === null ? '00000000' : dateHex(originalStart)}${of.uid}`
}

function dateHex(start: EventFields['start']): string {
  const date = new Date(instantAt(start))
  const hex = (number: number, length: number) => number.toString(16).toUpperCase().padStart(length, '0')
  return hex(date.getUTCFullYear(), 4) + hex(date.getUTCMonth() + 1, 2) + hex(date.getUTCDate(), 2)
}
