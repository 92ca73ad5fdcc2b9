import type { Moment } from '../../calendaring/moments.ts'
import type { NumberedLog } from './change-log.ts'
import type { Body, Recipient } from './message.ts'
import type { Recurrence } from './recurrence.ts'

export const RESPONSES = [
  'none',
  'organizer',
  'tentativelyAccepted',
  'accepted',
  'declined',
  'notResponded',
] as const

export interface ResponseStatus {
  readonly response: (typeof RESPONSES)[number]
  /** Milliseconds since 1970; null if there was no response. */
  readonly at: number | null
}

export const ATTENDEE_TYPES = ['required', 'optional', 'resource'] as const

export interface Attendee extends Recipient {
  readonly type: (typeof ATTENDEE_TYPES)[number]
  readonly status: ResponseStatus
}

export const SHOW_AS = ['unknown', 'free', 'tentative', 'busy', 'oof', 'workingElsewhere'] as const
export const SENSITIVITIES = ['normal', 'personal', 'private', 'confidential'] as const
export const IMPORTANCES = ['low', 'normal', 'high'] as const
export const MEETING_PROVIDERS = [
  'unknown',
  'skypeForBusiness',
  'skypeForConsumer',
  'teamsForBusiness',
] as const

/** Fields of an event that an exception can have of its own. */
export interface EventFields {
  readonly subject: string
  readonly body: Body
  /** A day for an event of whole days, otherwise an instant in an IANA zone. */
  readonly start: Moment
  /** The first moment after the event. */
  readonly end: Moment
  /** Names of the zones as the client wrote them. */
  readonly startZone: string
  readonly endZone: string
  readonly locations: readonly Readonly<Record<string, unknown>>[]
  readonly attendees: readonly Attendee[]
  readonly showAs: (typeof SHOW_AS)[number]
  readonly sensitivity: (typeof SENSITIVITIES)[number]
  readonly importance: (typeof IMPORTANCES)[number]
  readonly categories: readonly string[]
  readonly isReminderOn: boolean
  readonly reminderMinutesBeforeStart: number
  readonly responseRequested: boolean
  readonly allowNewTimeProposals: boolean
  readonly hideAttendees: boolean
  readonly isCancelled: boolean
  readonly onlineMeetingProvider: (typeof MEETING_PROVIDERS)[number]
  /** Null: no online meeting. */
  readonly joinUrl: string | null
  /** Files by their names and sizes. Only other clients add them. */
  readonly attachments: readonly { readonly name: string; readonly size: number }[]
  /** The response of the owner of the calendar. */
  readonly response: ResponseStatus
  /** Extended properties with one value, by their normalized ids (`propertyId`). */
  readonly extended: ReadonlyMap<string, string>
}

/** Fields of an event of which a client wrote only the times. */
export const EVENT_DEFAULTS: Omit<EventFields, 'start' | 'end' | 'startZone' | 'endZone'> = {
  subject: '',
  body: { contentType: 'html', content: '' },
  locations: [],
  attendees: [],
  showAs: 'busy',
  sensitivity: 'normal',
  importance: 'normal',
  categories: [],
  isReminderOn: true,
  reminderMinutesBeforeStart: 15,
  responseRequested: true,
  allowNewTimeProposals: true,
  hideAttendees: false,
  isCancelled: false,
  onlineMeetingProvider: 'unknown',
  joinUrl: null,
  attachments: [],
  response: { response: 'organizer', at: null },
  extended: new Map(),
}

/** An occurrence that differs from its series. */
export interface EventException {
  readonly fields: Partial<EventFields>
  readonly changeKey: string
  readonly createdAt: number
  readonly modifiedAt: number
}

/** A single event, or a series with its exceptions, as it was after one change. */
export interface StoredEvent extends EventFields {
  /** Counts items made in the mailbox. Occurrences are named by the number of their series. */
  readonly number: number
  readonly immutableId: string
  readonly id: string
  /** Upper-case hexadecimal digits: the same for the copies of all attendees. */
  readonly uid: string
  readonly organizer: Recipient
  readonly isOrganizer: boolean
  readonly transactionId: string | null
  /** The request that made it, with which the same transaction answers it again. */
  readonly transaction: string | null
  /** Null: a single event. */
  readonly recurrence: Recurrence | null
  /** Exceptions by the day on which the rule has them. */
  readonly exceptions: ReadonlyMap<number, EventException>
  /** Days whose occurrences were deleted. */
  readonly deleted: ReadonlySet<number>
  readonly changeKey: string
  readonly createdAt: number
  readonly modifiedAt: number
}

/** A change of a calendar: the event before it and after it; null where there is none. */
export interface EventChange {
  readonly number: number
  readonly before: StoredEvent | null
  readonly after: StoredEvent | null
  /** The occurrence that changed; null for a single event or a whole series. */
  readonly day: number | null
}

export const COLORS = [
  'auto',
  'lightBlue',
  'lightGreen',
  'lightOrange',
  'lightGray',
  'lightYellow',
  'lightTeal',
  'lightPink',
  'lightBrown',
  'lightRed',
  'maxColor',
] as const
export type CalendarColor = (typeof COLORS)[number]

export const SHARE_ROLES = ['freeBusyRead', 'limitedRead', 'read', 'write'] as const
export type ShareRole = (typeof SHARE_ROLES)[number]

/** A calendar of a mailbox. Only the functions of `calendars.ts` and `events.ts` change it. */
export interface Calendar {
  readonly id: string
  readonly number: number
  /** Address of the user whose mailbox has it. */
  readonly owner: string
  readonly name: string
  readonly color: CalendarColor
  readonly changeKey: string
  /** Extended properties by their ids. */
  readonly extended: ReadonlyMap<string, string>
  readonly events: Map<number, StoredEvent>
  readonly log: NumberedLog<EventChange>
  /** Roles of other users, by their addresses. */
  readonly shares: Map<string, ShareRole>
}

/** The calendar of another user in the list of somebody who may see it. */
export interface SharedCalendar {
  readonly id: string
  readonly name: string
  readonly color: CalendarColor
  readonly calendar: Calendar
}

/** The calendars of a mailbox. */
export interface Calendars {
  /** The default calendar, which has events for which none is named. */
  readonly main: Calendar
  /** By id. */
  readonly own: Map<string, Calendar>
  readonly shared: Map<string, SharedCalendar>
  /** Calendars of events by the numbers of the events. */
  readonly byEvent: Map<number, Calendar>
  /** Numbers of events by both of their ids. */
  readonly byId: Map<string, number>
  readonly listeners: Set<(calendar: Calendar, change: EventChange) => void>
}
