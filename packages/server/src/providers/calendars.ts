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
import type { CalendarWindow, RemoteCalendar, RemoteObject, UnreadableItem } from './remote-calendars.ts'

export type {
  AttendeeResponse,
  CalendarWindow,
  EventAddress,
  EventTime,
  GuessedZone,
  RemoteAttendee,
  RemoteCalendar,
  RemoteEvent,
  RemoteException,
  RemoteItem,
  RemoteMember,
  RemoteObject,
  RemoteOccurrence,
  UnreadableItem,
} from './remote-calendars.ts'

/** An item as its calendar lists it. */
export interface ListedItem {
  key: string
  version: string
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

  readonly writer: CalendarsWriter

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

  /**
   * The keys among these, at most 50, that a calendar has. Absent: reading the items costs no more than asking for their
   * keys.
   */
  findHeld?(
    of: { calendarKey: string; keys: readonly string[] },
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>>

  /** These items of a calendar as they are now. A key that is in neither list of the answer is gone. At most 50 keys. */
  read(
    of: { calendarKey: string; keys: readonly string[]; window: CalendarWindow },
    signal?: AbortSignal,
  ): Promise<{ items: readonly RemoteObject[]; unreadable: readonly UnreadableItem[] }>
}
