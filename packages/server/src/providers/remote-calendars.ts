/** Calendars and events as their providers have them. The words are explained in `calendars.ts`. */
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
  /**
   * The revision that people have been sent (SEQUENCE, RFC 5546 section 2.1.4). Absent: 0, or the provider sends all
   * invitations itself.
   */
  sequence?: number
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

/** A zone of an event that no name identifies. */
export interface GuessedZone {
  /** The zone that was taken for it: an IANA name or an `own:` reference. Null: none, and the calendar has none either. */
  zone: string | null
  /** The place, the transitions or the definition in its file, or the zone of its calendar. */
  by: 'location' | 'equal' | 'definition' | 'calendar'
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
  /** Zones of the item that were guessed. Absent: none, as far as is known. */
  guessedZones?: readonly GuessedZone[]
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

/** The time that the index holds. Items that end before `start` are not wanted. */
export interface CalendarWindow {
  start: Date
  end: Date
}
