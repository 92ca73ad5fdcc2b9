import { comparedAddress } from '../../../../kit/compared-address.ts'
import type { RemoteEvent, RemoteItem } from '../../../calendars.ts'
import type { WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { type FailureKind, ProviderFailure, restate } from '../../../failure.ts'
import { changing, type Effect, rehearsingAt } from '../../changing/effect.ts'
import { type GraphItem, itemSchema, versionOf } from '../../items.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { EVENT_FIELDS, fieldsOf, type GraphEvent, readGraphEvent } from '../event.ts'
import { pathOfEvent } from '../pages.ts'
import { openPlace, type ReadingPlace } from '../place.ts'
import { readByKeys } from '../reading.ts'

/** Bodies may be long. */
export const EVENT_BYTES_MAX = 8 * 1024 * 1024
/** A change is applied again three times. */
const TRIES_MAX = 4

/** Fields that are not shown, but that copies of an event have as well. */
export const COPIED_FIELDS = [
  'importance',
  'responseRequested',
  'allowNewTimeProposals',
  'hideAttendees',
  'locations',
  'isOnlineMeeting',
] as const
export const WRITING_FIELDS = `${EVENT_FIELDS},${COPIED_FIELDS.join(',')}`

/** The set of public strings (MS-OXPROPS), in which properties of our own have their names. */
const PUBLIC_STRINGS = '{00020329-0000-0000-C000-000000000046}'
/** Names the creation of an event or a calendar, by which an earlier try is found. */
export const CREATION_PROPERTY = `String ${PUBLIC_STRINGS} Name WaxwingCreation`
/** The version of the event of which another one is a copy. */
export const COPIED_PROPERTY = `String ${PUBLIC_STRINGS} Name WaxwingCopied`
/** The members of a series that are still to be written again, as JSON; empty if none are. */
export const MEMBERS_PROPERTY = `String ${PUBLIC_STRINGS} Name WaxwingMembers`

/** One write: its calendar, and the requests that change something. */
export interface Writing {
  connection: CalendarsConnection
  place: ReadingPlace
  effect: Effect
  options: WriteOptions
}

/** An event as it is at Graph. */
export interface EventThere {
  item: GraphItem
  event: GraphEvent
  fields: RemoteEvent
  version: string
}

/** Runs one write in a calendar. */
export function writing<T>(
  connection: CalendarsConnection,
  calendarKey: string,
  options: WriteOptions,
  work: (writing: Writing) => Promise<T>,
): Promise<T> {
  return changing(connection.api, async effect =>
    work(await openWriting(connection, calendarKey, options, effect)),
  )
}

/** Runs one write in a calendar up to its first change, which is not made. */
export function rehearsal(
  connection: CalendarsConnection,
  calendarKey: string,
  options: WriteOptions,
  work: (writing: Writing) => Promise<unknown>,
): Promise<void> {
  return rehearsingAt(connection.api, async effect =>
    work(await openWriting(connection, calendarKey, options, effect)),
  )
}

async function openWriting(
  connection: CalendarsConnection,
  calendarKey: string,
  options: WriteOptions,
  effect: Effect,
): Promise<Writing> {
  const place = await openPlace(connection, { calendarKey, window: options.window }, {})
  return { connection, place, effect, options }
}

/** Reads an event that is to be changed. */
export async function requireThere(
  { connection, place }: Pick<Writing, 'connection' | 'place'>,
  key: string,
): Promise<EventThere> {
  const { value } = await connection.api.ask({
    path: pathOfEvent(place.calendarKey, key),
    query: {
      $select: WRITING_FIELDS,
      $expand: `singleValueExtendedProperties($filter=id eq '${MEMBERS_PROPERTY}')`,
    },
    schema: itemSchema,
    accepts: [200],
    answerBytesMax: EVENT_BYTES_MAX,
  })
  return thereOf(place, value)
}

export function thereOf(place: ReadingPlace, item: GraphItem): EventThere {
  const event = readGraphEvent(item)
  const version = versionOf(item)
  try {
    const fields = typeof event === 'string' ? null : fieldsOf(event, place)
    if (typeof event !== 'string' && fields && version !== null) return { item, event, fields, version }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw new ProviderFailure('unavailable', 'Microsoft Graph gave an event that cannot be read.')
}

/** Reads the single or the series of a key with its members. Throws `not_found`. */
export async function requireItem({ place }: Pick<Writing, 'place'>, key: string): Promise<RemoteItem> {
  const { items, unreadable } = await readByKeys({ ...place, options: {} }, [key])
  const item = items.find(one => one.key === key)
  if (item?.type === 'item') return item
  if (unreadable[0]) throw new ProviderFailure('unavailable', `${unreadable[0].reason}.`)
  throw new ProviderFailure('not_found', 'The event was deleted.')
}

/** The effect of a write that left these items of its calendar. */
export async function written(
  work: Writing,
  keys: readonly string[],
  gone: readonly string[] = [],
): Promise<WrittenEvents> {
  const { calendarKey } = work.place
  const objects = []
  for (const key of keys) objects.push({ calendarKey, object: await requireItem(work, key) })
  return {
    items: objects,
    gone: gone.map(key => ({ calendarKey, key })),
    place: { calendarKey, key: keys.at(-1) ?? gone[0]! },
  }
}

/** Applies a change again while another client is faster. */
export async function appliedAgain<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await work()
    } catch (error) {
      const isOvertaken = error instanceof ProviderFailure && error.kind === 'conflict'
      if (!isOvertaken || tries === TRIES_MAX) throw error
    }
}

/** Kinds of failures of one request that leave a write half done, and that another try of it may not meet. */
const OF_ONE_REQUEST: ReadonlySet<FailureKind> = new Set(['conflict', 'rejected', 'forbidden', 'unsupported'])

/** Runs requests after the first change of a write, so that no failure of them reads as if nothing was changed. */
export async function leftHalfDone<T>(work: () => Promise<T>, ...others: FailureKind[]): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isOfOne =
      error instanceof ProviderFailure && (OF_ONE_REQUEST.has(error.kind) || others.includes(error.kind))
    if (isOfOne) throw restate(error, { kind: 'unavailable', isBeforeAcceptance: false })
    throw error
  }
}

/** Throws `forbidden` for an event that is the copy of an attendee. */
export function requireOrganizer({ event }: EventThere): void {
  if (event.isOrganizer !== false) return
  throw new ProviderFailure('forbidden', 'The owner of the calendar does not organize this event.')
}

/** Exchange tells attendees of whatever their organizer writes. */
export function requireTold(
  { notify, own }: Pick<WriteOptions, 'notify' | 'own'>,
  attendees: ReadonlyArray<{ address: string }>,
): void {
  if (notify || attendees.every(({ address }) => own.has(comparedAddress(address)))) return
  throw new ProviderFailure('unsupported', 'Exchange tells the attendees of every change of the event.')
}
