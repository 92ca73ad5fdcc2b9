import { findIanaZone } from '../../kit/zones/named-zone.ts'
import { zoneOfTzid } from '../../kit/zones/zone-of-tzid.ts'
import type { CalendarWindow, GuessedZone } from '../calendars.ts'
import type { MailedEvent } from '../changing-calendars.ts'
import type { ContactChange } from '../contacts.ts'
import { UnreadableCard } from './cards/card.ts'
import { UnwritableCard } from './cards/check-change.ts'
import { editCard } from './cards/edit-card.ts'
import { readCard, type ReadCard } from './cards/read-card.ts'
import { UnreadableEvents } from './events/event-file.ts'
import { editEvents, type EditOptions } from './events/edit-events.ts'
import type { EventEdit } from './events/event-edit.ts'
import { readMailedEvent } from './events/mailed/mailed-event.ts'
import { type EventsOfFile, readEvents, type ResolveZone } from './events/read-events.ts'
import { MissingMember, UnheldChange, UnwritableEvents } from './events/unwritable.ts'

/* The work on files that can take long, in one place, so that a thread can do it as well as the event loop. */

export type FileTask =
  | { type: 'readCard'; bytes: Uint8Array }
  | { type: 'editCard'; bytes: Uint8Array; change: ContactChange }
  | { type: 'readEvents'; bytes: Uint8Array; timeZone: string | null; window: CalendarWindow }
  | { type: 'readInvitation'; bytes: Uint8Array; from: string; own: ReadonlySet<string> }
  | {
      type: 'editEvents'
      bytes: Uint8Array
      edit: EventEdit
      options: EditOptions
      timeZone: string | null
      window: CalendarWindow
    }

export interface FileResults {
  readCard: ReadCard
  editCard: Uint8Array
  /** Null: the file has components of other kinds only. */
  readEvents: EventsOfFile | null
  /** Null: nothing may be done because of the mail. */
  readInvitation: MailedEvent | null
  /** Null: nothing of the event is left. */
  editEvents: Uint8Array | null
}

/** The outcome of a task, in a form that a thread can send. */
export type FileOutcome =
  | { type: 'done'; result: FileResults[FileTask['type']] }
  | { type: 'refused'; refusal: RefusalName; reason: string }

const REFUSALS = {
  UnreadableCard,
  UnwritableCard,
  UnreadableEvents,
  UnwritableEvents,
  UnheldChange,
  MissingMember,
} as const
type RefusalName = keyof typeof REFUSALS
const REFUSAL_NAMES = Object.keys(REFUSALS) as RefusalName[]

/** A larger file may take milliseconds: some hundred lines, or values outside of the table of their zone. */
const BYTES_MAX = {
  readCard: 32 * 1024,
  editCard: 32 * 1024,
  readEvents: 8 * 1024,
  readInvitation: 8 * 1024,
  editEvents: 8 * 1024,
} as const
/** More zones of one file may take milliseconds, since the table of a zone is made when it is first used. */
const ZONES_MAX = 3

/** The task takes too long for the event loop. */
export class LongTask extends Error {
  override name = 'LongTask'
}

/** The work that a value takes besides its characters: a line of its own, for instance. */
const VALUE_SIZE = 30

/** Does a task that takes only a moment. Throws `LongTask` for any other. */
export function doShortTask(task: FileTask): FileOutcome {
  const size = task.bytes.length + sizeOf(changeOf(task))
  if (size > BYTES_MAX[task.type]) throw new LongTask('The file or its change is large')
  if (task.type === 'editEvents' && (isDense(task.bytes) || isDense(withText(task.edit))))
    throw new LongTask('The series has many members')
  let zones = 0
  return doTask(task, tzid => {
    // A zone that has no IANA name is compared with all that have one.
    if (findIanaZone(tzid) === null || ++zones > ZONES_MAX) throw new LongTask('The file has odd time zones')
  })
}

/** Rules with members at every moment. To find some of them takes milliseconds. */
const DENSE = /FREQ=(?:SECONDLY|MINUTELY|HOURLY)|BY(?:HOUR|MINUTE|SECOND)=/i

function isDense(given: Uint8Array | EventEdit): boolean {
  if (!(given instanceof Uint8Array) && given.type === 'mailed') return isDense(given.bytes)
  const text = given instanceof Uint8Array ? Buffer.from(given).toString('latin1') : JSON.stringify(given)
  return DENSE.test(text.replaceAll(/\r?\n[ \t]/g, ''))
}

/** The change, or the file that it brings. */
const withText = (edit: EventEdit) => (edit.type === 'mailed' ? edit.bytes : edit)

function changeOf(task: FileTask): unknown {
  if (task.type === 'editEvents') return task.edit
  return task.type === 'editCard' ? task.change : null
}

/** Characters of all texts of a change, and something for each value. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + VALUE_SIZE
  if (value instanceof Uint8Array) return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((size, inner) => size + sizeOf(inner), 0)
}

/** @param beforeZone is called before a TZID is resolved, and may throw */
export function doTask(task: FileTask, beforeZone: (tzid: string) => void = () => undefined): FileOutcome {
  try {
    return { type: 'done', result: resultOf(task, beforeZone) }
  } catch (error) {
    const name = REFUSAL_NAMES.find(each => error instanceof REFUSALS[each])
    if (name) return refused(name, error as Error)
    // A time that no zone has costs the file, and not the calendar.
    if (error instanceof RangeError && task.type === 'readEvents') return refused('UnreadableEvents', error)
    if (error instanceof RangeError && task.type === 'readInvitation')
      return refused('UnreadableEvents', error)
    if (error instanceof RangeError && task.type === 'editEvents') return refused('UnwritableEvents', error)
    throw error
  }
}

function refused(refusal: RefusalName, { message: reason }: Error): FileOutcome {
  return { type: 'refused', refusal, reason }
}

function resultOf(task: FileTask, beforeZone: (tzid: string) => void): FileResults[FileTask['type']] {
  const { buffer, byteOffset, length } = task.bytes
  const bytes = Buffer.from(buffer, byteOffset, length)
  if (task.type === 'readCard') return readCard(bytes)
  if (task.type === 'editCard') return editCard(bytes, task.change)
  if (task.type === 'readInvitation') return readMailedEvent(bytes, task)
  const { timeZone: preferred, window } = task
  const guessedZones: GuessedZone[] = []
  const resolveZone: ResolveZone = (tzid, definition) => {
    beforeZone(tzid)
    const { zone, by } = zoneOfTzid({ tzid, definition, preferred, window })
    if (by !== 'iana' && by !== 'windows') guessedZones.push({ zone, by })
    return zone
  }
  if (task.type === 'editEvents') return editEvents(bytes, task.edit, task.options, resolveZone)
  const read = readEvents(bytes, resolveZone)
  return read && guessedZones.length > 0 ? { ...read, guessedZones } : read
}

/** The error of an outcome, as it was thrown where the work was done. */
export function refusalOf({ refusal, reason }: FileOutcome & { type: 'refused' }): Error {
  return new REFUSALS[refusal](reason)
}
