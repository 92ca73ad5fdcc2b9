/**
 * The vocabulary in which the service follows the calendars of an account.
 *
 * A *calendar* is what one cursor follows. Its key is unique in the account. An *item* is what a calendar holds under one
 * key, which is unique in its calendar: a single event, or a series with the members that differ from its rule. (The same
 * event may lie in several calendars of an account under one key, as Google has it.) A *member* is one occurrence of a
 * series, named by the wall clock of its original start in the zone of the series. A *version* names one state of an
 * item at the provider. A *cursor* is an adapter's own JSON; the follower stores it in the transaction of the step that
 * brought it, and passes it back.
 *
 * A *wall clock* is `YYYYMMDDTHHMMSS`, or `YYYYMMDD` for a day (RFC 5545 3.3.4, 3.3.5, without `Z`).
 */
import type { CalendarsWriter } from './changing-calendars.ts'
import type { Cursor } from './mail.ts'

export interface EventAddress {
  name: string | null
  address: string
}

export interface RemoteCalendar {
  key: string
  name: string
  description: string | null
  owner: EventAddress | null
  /** Null if the provider does not name a primary calendar at all. */
  isPrimary: boolean | null
  /** `freebusy`: the account sees when events take place, and nothing else of them. */
  access: 'owner' | 'writer' | 'reader' | 'freebusy'
  /** `#rrggbb`. */
  color: string | null
  /** An IANA name. Events of whole days and floating times lie in it. */
  timeZone: string | null
  isHidden: boolean
}

export interface EventTime {
  wall: string
  /** As `kit/zones` names it. Null: a day, or a floating time. */
  zone: string | null
}

export type AttendeeResponse = 'none' | 'accepted' | 'tentative' | 'declined' | 'needs_action'

export interface RemoteAttendee extends EventAddress {
  type: 'required' | 'optional' | 'resource'
  response: AttendeeResponse
}

/** The fields of a single, a series or an exception that are shown. Null: not set. */
export interface RemoteEvent {
  start: EventTime
  /** The first moment after the event. A day if the start is one. */
  end: EventTime
  subject: string | null
  location: string | null
  body: { contentType: 'text' | 'html'; content: string } | null
  organizer: EventAddress | null
  attendees: readonly RemoteAttendee[]
  /** The part of the account in the event; null if the provider does not name it, so that addresses are compared (CalDAV). */
  self: { isOrganizer: boolean; response: AttendeeResponse | 'organizer' } | null
  status: 'confirmed' | 'tentative' | 'cancelled'
  showAs: 'free' | 'busy' | 'tentative' | 'oof' | 'working_elsewhere' | 'unknown'
  sensitivity: 'normal' | 'personal' | 'private' | 'confidential'
  onlineMeetingUrl: string | null
  onlineMeetingProvider: 'google_meet' | 'teams' | 'skype' | 'zoom' | 'webex' | 'other' | null
  iCalUid: string | null
  categories: readonly string[]
  hasAttachments: boolean
  reminderMinutes: number | null
  webLink: string | null
  /** When it was last changed; null if the provider does not report that. */
  updatedAt: Date | null
}

/** A member of a series that differs from what the rule gives. */
export interface RemoteException {
  member: string
  /** Its own key at the provider; null if it has none (CalDAV). */
  key: string | null
  event: RemoteEvent
}

/** A member as the provider itself has expanded it. */
export interface RemoteOccurrence {
  member: string
  key: string
  start: EventTime
  end: EventTime
}

export interface RemoteItem {
  type: 'item'
  key: string
  version: string
  /** The UID by which the item is known again under another key or in another calendar; null if keys last. */
  uid: string | null
  /** The single, or what the series gives to each member. Null: the calendar has only exceptions of a series, and not the series. */
  event: RemoteEvent | null
  /** RRULE, EXRULE and RDATE lines of a series as the provider has them. Null: a single. */
  recurrence: readonly string[] | null
  /** Null: the provider reports members one by one; those in the index stay. */
  members: {
    exceptions: readonly RemoteException[]
    /** Members that were deleted or cancelled. A day takes every member of that day from a series of times (CalDAV). */
    taken: readonly string[]
  } | null
  /**
   * Members that EXDATE lines of a series take whose members are reported one by one: always all of them, as in `taken`.
   * Absent: none.
   */
  excluded?: readonly string[]
  /** The members in the window as the provider gives them; null: the service expands the rule. */
  occurrences: readonly RemoteOccurrence[] | null
}

/** One member of a series, reported on its own. `event` is null if it was taken from the series. */
export interface RemoteMember {
  type: 'member'
  key: string
  version: string
  seriesKey: string
  member: string
  event: RemoteEvent | null
}

export type RemoteObject = RemoteItem | RemoteMember

/** An item that the provider has, but that cannot be read, with the reason. */
export interface UnreadableItem {
  key: string
  /** Null if the provider named none. It is read again once its version differs. */
  version: string | null
  reason: string
}

/** An item as its calendar lists it. */
export interface ListedItem {
  key: string
  version: string
}

/** The time that the index holds. Items that end before `start` are not wanted. */
export interface CalendarWindow {
  start: Date
  end: Date
}

/**
 * One step of following a calendar. Steps are recorded in their order, each with the cursor after it.
 *
 * `items`: these are as the provider has them now. `gone`: the provider no longer has these. `end`: the calendar is caught
 * up.
 */
export type EventsStep =
  | {
      type: 'items'
      items: readonly RemoteObject[]
      unreadable: readonly UnreadableItem[]
      /** Items of the calendar that are still to come, as far as is known; null if it is not. */
      remaining: number | null
      /** Absent if following must begin again at the former cursor after this step. */
      cursor?: Cursor
    }
  | { type: 'gone'; keys: readonly string[]; cursor?: Cursor }
  | { type: 'end'; cursor: Cursor | null }

export interface FollowCalendar {
  calendar: RemoteCalendar
  window: CalendarWindow
  /** Null for the first time, and whenever the whole calendar is to be compared with the index. */
  cursor: Cursor | null
  /** The versions that the index holds of the calendar, by key, unreadable items among them. Asked for only if needed. */
  known(): Promise<ReadonlyMap<string, string>>
  signal: AbortSignal
}

/** Follows calendars. Every method throws only `ProviderFailure`: `not_found` if a calendar that it names is gone. */
export interface CalendarsProvider {
  /** As `ContactsProvider.keepNotifying`. */
  keepNotifying?(signal: AbortSignal): Promise<void>

  /** Absent while nothing can be changed at the provider. */
  readonly writer?: CalendarsWriter

  /**
   * The busy times of these people in a range, in any order. Addresses that cannot be resolved are absent. Absent: nobody
   * can be asked.
   */
  findBusy?(
    addresses: readonly string[],
    range: { start: Date; end: Date },
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, ReadonlyArray<{ start: Date; end: Date }>>>

  /** All calendars that hold events, hidden ones too, in the order of the provider. */
  listCalendars(signal: AbortSignal): Promise<RemoteCalendar[]>

  /**
   * Whether anything of these calendars may have changed since these cursors, asked as cheaply as the provider allows;
   * keys of calendars that are to be followed now. A calendar without a cursor is always among them.
   * @param mayDefer whether calendars that seldom change may be left to a later look, if each question costs a call. Not
   * for a look that somebody asked for.
   */
  findChanged(
    calendars: ReadonlyArray<{ calendar: RemoteCalendar; cursor: Cursor | null }>,
    signal: AbortSignal,
    mayDefer?: boolean,
  ): Promise<ReadonlySet<string>>

  /** The changes of a calendar since its cursor. A cursor that the provider no longer takes leads to a whole comparison. */
  follow(from: FollowCalendar): AsyncGenerator<EventsStep, void, void>

  /** Keys and versions of what a calendar holds in the window and after it, for comparisons. */
  list(
    calendar: RemoteCalendar,
    window: CalendarWindow,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ListedItem[], void, void>

  /** These items of a calendar as they are now. A key that is in neither list of the answer is gone. At most 50 keys. */
  read(
    of: { calendarKey: string; keys: readonly string[]; window: CalendarWindow },
    signal?: AbortSignal,
  ): Promise<{ items: readonly RemoteObject[]; unreadable: readonly UnreadableItem[] }>
}
