import type {
  ChangedPart,
  EventChange,
  EventInput,
  EventResponse,
  MemberPlace,
  RemovedPart,
} from '../../changing-calendars.ts'
import type { TakenMail } from './mailed/take-mailed.ts'

/** A change of the file of an event. */
export type EventEdit =
  | { type: 'create'; uid: string; fields: EventInput }
  | { type: 'change'; part: Exclude<ChangedPart, { type: 'following' }>; change: EventChange }
  /** The part of a series that begins at a member, with a change, as a file of its own. */
  | { type: 'rest'; member: string; uid: string; change: EventChange }
  /** The series before a member. */
  | { type: 'truncate'; member: string }
  /** Ends a series before its first member from this one on. It stays as it is if it has none. */
  | { type: 'end'; member: string }
  | { type: 'remove'; part: Extract<RemovedPart, { type: 'member' }> }
  | { type: 'respond'; part: { type: 'all' } | ({ type: 'member' } & MemberPlace); response: EventResponse }
  /** Brings the event to the state that a mail has. */
  | ({ type: 'mailed' } & TakenMail)
  /** The calendar object of a mail as a file of its own. */
  | { type: 'invited' }
  /** Changes nothing, and is refused if the server informs people of the end of the event. */
  | { type: 'silence' }
