/**
 * The vocabulary in which the service changes the calendars of an account and their events.
 *
 * Words are those of `calendars.ts`. A *write* changes one item, or one item and the one that it is split into or moved to.
 * Everything that a change does not name stays at the provider as it is, whatever the index has. A write reads what is
 * there, and applies its change again if another client was faster, three times; then it is a `conflict`.
 *
 * A write that makes something takes a creation: the same call may be made again after any failure, with `mayExist`, and
 * goes on where the first try stopped. So nothing is made twice.
 *
 * Every method throws only `ProviderFailure`: `not_found` if a calendar, an item or a member that it names is gone,
 * `forbidden` if the account may only read it, `unsupported` if the provider cannot hold a field or do what is asked, which
 * changes nothing, `conflict` as above, `rejected` if the provider refuses.
 */
import type { CheckedRecurrence } from '../kit/recurrence/check-recurrence.ts'
import type {
  CalendarWindow,
  EventAddress,
  EventTime,
  RemoteAttendee,
  RemoteCalendar,
  RemoteEvent,
  RemoteObject,
} from './remote-calendars.ts'

/** By which a write that makes something is found again. */
export interface Creation {
  /** The same in each try of one write. A UUID. */
  creationId: string
  /** Whether there may have been an earlier try. */
  mayExist: boolean
}

export interface CalendarFields {
  name: string
  description: string | null
  /** `#rrggbb`. */
  color: string | null
  /** An IANA name. */
  timeZone: string | null
}

/** An attendee as a caller asks for it. Repeated addresses and those of the account are left out already. */
export type AskedAttendee = Pick<RemoteAttendee, 'name' | 'address' | 'type'>

/** The fields of an event that callers write. */
export interface WritableFields {
  start: EventTime
  /** The first moment after the event. A day if the start is one. */
  end: EventTime
  subject: string | null
  location: string | null
  body: RemoteEvent['body']
  attendees: readonly AskedAttendee[]
  /** Null: a single. */
  recurrence: CheckedRecurrence | null
  showAs: Exclude<RemoteEvent['showAs'], 'unknown'>
  sensitivity: RemoteEvent['sensitivity']
  /** Null: none. */
  reminderMinutes: number | null
  /** Whether the provider is to give the event a meeting of its own. */
  onlineMeeting: boolean
  /** The link to a meeting at another service. */
  onlineMeetingUrl: string | null
}

/** A new event. Without `reminderMinutes`, it has the default of its calendar. */
export type EventInput = Omit<WritableFields, 'reminderMinutes'> & { reminderMinutes?: number | null }

/**
 * Absent fields stay. `start` without `end` moves the event and keeps its length; `end` alone changes the length.
 * `attendees` replaces the list by address: those who stay keep their responses and what else the provider has of them.
 * `recurrence` makes a single a series, null makes a series its first occurrence; on a series it replaces RRULEs and
 * RDATEs, its `taken` are taken as well, and members that were taken before stay so where the new rule gives them.
 */
export type EventChange = Partial<WritableFields>

/** An item of a calendar. */
export interface ItemPlace {
  calendarKey: string
  key: string
}

/** A member of a series, with the key that the provider gives it, as far as it is known. */
export interface MemberPlace {
  member: string
  memberKey: string | null
}

/** A member whose times a change of its whole series has. */
export interface TimesOf extends MemberPlace {
  /**
   * The start of the series for which the change was planned. If the series has moved to where the change moves it, an
   * earlier try did that; if it has any other start, the change is `not_found`. Null: the index has only exceptions of the
   * series, so the start that the provider has counts.
   */
  seriesStart: EventTime | null
}

/**
 * The part of an item that a change is about.
 *
 * `all`: a single, or a whole series. With `timesOf`, the `start` and `end` of a change are those of that member, and the
 * series moves by the difference between wall clocks.
 * `member`: one member, which becomes an exception.
 * `following`: a member of a series and those after it, which become a series of their own, with the rest of COUNT; the
 * exceptions and the taken members among them go over to it. Never the first member.
 */
export type ChangedPart =
  | { type: 'all'; timesOf: TimesOf | null }
  | ({ type: 'member' } & MemberPlace)
  | ({ type: 'following' } & MemberPlace & Creation)

/** `following`: a member and those after it are taken; exceptions among them are gone. Never the first member. */
export type RemovedPart =
  | { type: 'all' }
  | ({ type: 'member' } & MemberPlace)
  | ({ type: 'following' } & MemberPlace)

/** For whom and how a write is made. */
export interface WriteOptions {
  /** The account, as the organizer of events to which it invites. */
  self: EventAddress
  /** All addresses of the account, as `comparedAddress` has them. */
  own: ReadonlySet<string>
  /** Whether the provider is to tell the attendees whom the write concerns. */
  notify: boolean
  /** Whether the write concerns people besides the account. If not, nobody is to be told, whatever `notify` is. */
  concernsOthers: boolean
  /** The window in which a provider that expands series itself is asked for members. */
  window: CalendarWindow
}

/** The account's answer to an invitation. */
export interface EventResponse {
  response: 'accepted' | 'tentative' | 'declined'
  comment: string | null
}

/** An invitation, or a change, an end or an answer of one, as it came by mail (RFC 6047). */
export interface MailedInvitation {
  /** The calendar object of the mail (RFC 5546), in UTF-8. */
  bytes: Buffer
  /** The author of the mail, as `comparedAddress` has the address. */
  from: string
}

/** The subject of such a mail. Addresses are as `comparedAddress` has them. */
export interface MailedEvent {
  /** `request`: the event as it is to be from now on. `cancel`: its end, or that of the account's part in it. */
  method: 'request' | 'cancel' | 'reply'
  uid: string
  organizer: string
}

/** The effect of a write, read from the provider after it. */
export interface WrittenEvents {
  /** The objects that were written, and others that the write has changed. */
  items: ReadonlyArray<{ calendarKey: string; object: RemoteObject }>
  /** Items, and exceptions with keys of their own, that the write has ended. */
  gone: readonly ItemPlace[]
  /** The item that holds what was asked for: of `following` the new series. */
  place: ItemPlace
}

/** Changes calendars and their events at the provider of an account. */
export interface CalendarsWriter {
  createCalendar(fields: CalendarFields & Creation): Promise<RemoteCalendar>

  changeCalendar(key: string, change: Partial<CalendarFields>): Promise<RemoteCalendar>

  /** Deletes a calendar with its events. */
  removeCalendar(key: string): Promise<void>

  /**
   * Whether the provider itself tells people of invitations in this calendar, of their changes and of responses. If it does
   * not (CalDAV without scheduling), `notify` has no effect there.
   */
  tellsPeople(calendarKey: string, signal: AbortSignal): Promise<boolean>

  /** Creates an event, or finds what an earlier try of the same creation made. */
  createEvent(
    event: { calendarKey: string; fields: EventInput } & Creation,
    options: WriteOptions,
  ): Promise<WrittenEvents>

  /**
   * The same change may be asked for again after any failure, and ends what the first try has begun. A change without fields
   * ends that as well, and does nothing else.
   */
  changeEvent(
    asked: { place: ItemPlace; part: ChangedPart; change: EventChange },
    options: WriteOptions,
  ): Promise<WrittenEvents>

  /**
   * Changes nothing, and fails as `changeEvent` would if the provider cannot hold what is asked, or does not allow it. It is
   * asked before an event is moved and changed by one request.
   * @param asked.toCalendarKey the calendar in which the event is to be changed
   */
  requireChangeable(
    asked: { place: ItemPlace; part: ChangedPart; change: EventChange; toCalendarKey: string },
    options: WriteOptions,
  ): Promise<void>

  /** Deletes an event, whatever version it has by now. Of an invitation, the account's own copy. */
  removeEvent(asked: { place: ItemPlace; part: RemovedPart }, options: WriteOptions): Promise<WrittenEvents>

  /** Moves a single or a whole series to another calendar of the account. */
  moveEvent(
    asked: { place: ItemPlace; toCalendarKey: string } & Creation,
    options: WriteOptions,
  ): Promise<WrittenEvents>

  /** Answers an invitation to an event, to a series, or to one member of it. */
  respond(
    asked: { place: ItemPlace; part: { type: 'all' } | ({ type: 'member' } & MemberPlace) } & EventResponse,
    options: WriteOptions,
  ): Promise<WrittenEvents>

  /**
   * Reads the subject of a mail, and asks nothing of the provider. Null if nothing may be done because of it: it is no calendar
   * object of one event, it is not for the account, or its author may not send it, as far as it shows that. Absent, as
   * `takeInvitation` is: the provider itself acts on such mails.
   */
  readInvitation?(
    mail: MailedInvitation,
    options: Pick<WriteOptions, 'own' | 'window'>,
  ): Promise<MailedEvent | null>

  /**
   * Brings an event to what a mail says of it, at the first of these places that has it. Everything else of the event stays as it
   * is: own reminders, and the own response where no time changes. Nothing is done unless the mail is from the organizer of the event,
   * or for a reply from one of its attendees, and newer than what is there (RFC 5546 section 2.1.5), so that a repeat does
   * nothing.
   * @param asked.newEvent the calendar in which a request creates an event that no place has, with the response `needs_action`. Null: none
   * @returns null if nothing was done
   */
  takeInvitation?(
    asked: {
      mail: MailedInvitation
      places: readonly ItemPlace[]
      newEvent: { uid: string; calendarKey: string } | null
    },
    options: WriteOptions,
  ): Promise<WrittenEvents | null>

  /** The key of the item that an earlier try of this creation made in a calendar; null if there is none. */
  findCreated(asked: { calendarKey: string; creationId: string }, signal: AbortSignal): Promise<string | null>
}
