import type { SeriesStart } from '../recurrence/member.ts'

/* Events as iTIP messages have them (RFC 5546). */

export type ItipMethod = 'REQUEST' | 'CANCEL' | 'REPLY'

/** A wall clock and its zone, which is null for a day or a floating time. */
export type ItipTime = SeriesStart

export interface ItipPerson {
  name: string | null
  address: string
}

export interface ItipAttendee extends ItipPerson {
  type: 'required' | 'optional' | 'resource'
  response: 'none' | 'accepted' | 'tentative' | 'declined' | 'needs_action'
}

/** A VEVENT of a message. */
export interface ItipComponent {
  uid: string
  /** The member of a series that it is of; null: a single or a whole series. */
  recurrenceId: ItipTime | null
  /** Whether it is of the later members, too. */
  isOfFuture?: boolean
  sequence: number
  stamp: Date
  start: ItipTime
  end: ItipTime
  /** RRULE, EXRULE and RDATE lines without folds, in which times without a known zone are in the zone of the start. */
  recurrence: readonly string[]
  /** Members that the series lacks, as wall clocks in the zone of its start. */
  excluded: readonly string[]
  organizer: ItipPerson
  attendees: readonly ItipAttendee[]
  subject: string | null
  location: string | null
  body: { contentType: 'text' | 'html'; content: string } | null
  meetingUrl: string | null
  status: 'confirmed' | 'tentative' | 'cancelled'
  isPrivate: boolean
  comment: string | null
}
