import type { CalendarsProvider, CalendarWindow } from '../../../providers/calendars.ts'
import type {
  CalendarsWriter,
  ChangedPart,
  Creation,
  EventChange,
  EventInput,
  EventResponse,
  ItemPlace,
  RemovedPart,
  WriteOptions,
  WrittenEvents,
} from '../../../providers/changing-calendars.ts'
import { ProviderFailure, restate } from '../../../providers/failure.ts'

/* The calls of each write of events. Only `ProviderFailure` is thrown. */

export interface AskedEvent {
  type: 'create'
  calendarKey: string
  fields: EventInput
  creation: Creation
}

export interface AskedChange {
  type: 'change'
  place: ItemPlace
  part: ChangedPart
  /** Without fields: the event stays as it is. */
  change: EventChange
  /** The calendar that it is moved to; null: it stays. */
  toCalendarKey: string | null
  creation: Creation
}

export interface AskedRemoval {
  type: 'remove'
  place: ItemPlace
  part: RemovedPart
}

export interface AskedResponse extends EventResponse {
  type: 'respond'
  place: ItemPlace
  part: Parameters<CalendarsWriter['respond']>[0]['part']
}

/** A write of events as JSON can hold it. */
export type AskedWrite = AskedEvent | AskedChange | AskedRemoval | AskedResponse

export function askForWrite(
  writer: CalendarsWriter,
  asked: AskedWrite,
  options: WriteOptions,
): Promise<WrittenEvents> {
  switch (asked.type) {
    case 'create':
      return askForEvent(writer, asked, options)
    case 'change':
      return askForChange(writer, asked, options)
    case 'remove':
      return askForRemoval(writer, asked, options)
    case 'respond':
      return writer.respond(asked, options)
  }
}

const askForEvent = (
  writer: CalendarsWriter,
  { calendarKey, fields, creation }: Omit<AskedEvent, 'type'>,
  options: WriteOptions,
): Promise<WrittenEvents> => writer.createEvent({ calendarKey, fields, ...creation }, options)

/** Moves an event, which tells nobody, and then changes it. A change that cannot be made keeps it where it is. */
async function askForChange(
  writer: CalendarsWriter,
  { place, part, change, toCalendarKey, creation }: AskedChange,
  options: WriteOptions,
): Promise<WrittenEvents> {
  if (toCalendarKey === null) return writer.changeEvent({ place, part, change }, options)
  const toOwn = { ...options, concernsOthers: false }
  const isChanged = Object.keys(change).length > 0
  if (isChanged && !creation.mayExist)
    await writer.requireChangeable({ place, part, change, toCalendarKey }, options)
  const moved = await writer.moveEvent({ place, toCalendarKey, ...creation }, toOwn)
  if (!isChanged) return moved
  const changed = await writer.changeEvent({ place: moved.place, part, change }, options).catch(afterMove)
  return oneAfterTheOther(moved, changed)
}

/** The move has had its effect already. */
function afterMove(error: unknown): never {
  if (error instanceof ProviderFailure) throw restate(error, { isBeforeAcceptance: false })
  throw error
}

/** The effect of two writes. Items that the second has ended are not among those of the first. */
function oneAfterTheOther(first: WrittenEvents, second: WrittenEvents): WrittenEvents {
  const nameOf = ({ calendarKey, key }: ItemPlace) => JSON.stringify([calendarKey, key])
  const ended = new Set(second.gone.map(nameOf))
  const left = first.items.filter(
    ({ calendarKey, object: { key } }) => !ended.has(nameOf({ calendarKey, key })),
  )
  return { items: [...left, ...second.items], gone: [...first.gone, ...second.gone], place: second.place }
}

/** Deletes an event. It is no failure if the event is gone already, by an earlier try. */
async function askForRemoval(
  writer: CalendarsWriter,
  { place, part }: AskedRemoval,
  options: WriteOptions,
): Promise<WrittenEvents> {
  if (part.type !== 'all') return writer.removeEvent({ place, part }, options)
  const removed = await writer.removeEvent({ place, part }, options).catch((error: unknown) => {
    if (!isGone(error)) throw error
    return { items: [], gone: [], place }
  })
  return { ...removed, gone: [...removed.gone, place] }
}

const isGone = (error: unknown) => error instanceof ProviderFailure && error.kind === 'not_found'

interface Again {
  options: WriteOptions
  isLatest: boolean
  signal: AbortSignal
  /** Called when a moved event is not changed, since the provider refuses that for good. */
  onHalfDone: (error: ProviderFailure) => void
}

/**
 * Finishes a write of an earlier try: the same calls go on where they stopped. A write that is found by its creation is
 * left out if that made nothing; all others are done now, unless they are done already.
 * @param isLatest whether the index has recorded nothing of the item since the first try. If it has, a change or a response that
 * was not begun is left out, since it would undo a later one
 * @returns null if nothing was begun
 */
export async function askAgain(
  provider: Pick<CalendarsProvider, 'writer' | 'read'>,
  asked: AskedWrite,
  again: Again,
): Promise<WrittenEvents | null> {
  const { writer } = provider
  const { options, isLatest, signal } = again
  if (asked.type === 'change') return changeAgain(provider, asked, again)
  if (asked.type === 'create') {
    const { calendarKey, creation } = asked
    const { creationId } = creation
    const made = await writer.findCreated({ calendarKey, creationId }, signal)
    if (made === null) return null
    return askForEvent(writer, { ...asked, creation: { creationId, mayExist: true } }, options)
  }
  const { place } = asked
  const read = () => readWritten(provider, { items: [], gone: [place], place }, options.window, signal)
  if (asked.type === 'respond') return isLatest ? writer.respond(asked, options) : read()
  try {
    return await askForRemoval(writer, asked, options)
  } catch (error) {
    if (isGone(error)) return read()
    throw error
  }
}

async function changeAgain(
  provider: Pick<CalendarsProvider, 'writer' | 'read'>,
  asked: AskedChange,
  { options, isLatest, signal, onHalfDone }: Again,
): Promise<WrittenEvents | null> {
  const { writer } = provider
  const { place, part, change, toCalendarKey, creation } = asked
  if (part.type !== 'following' && toCalendarKey === null) {
    if (isLatest) return writer.changeEvent({ place, part, change }, options)
    return writer.changeEvent({ place, part: { type: 'all', timesOf: null }, change: {} }, options)
  }
  const { creationId } = creation
  const calendarKey = toCalendarKey ?? place.calendarKey
  const isBegun =
    (await writer.findCreated({ calendarKey, creationId }, signal)) !== null ||
    (toCalendarKey !== null && (await isThere(provider, { calendarKey, key: place.key }, options, signal)))
  if (!isBegun) return null
  if (part.type === 'following')
    return writer.changeEvent({ place, part: { ...part, mayExist: true }, change }, options)
  const moved = await writer.moveEvent(
    { place, toCalendarKey: calendarKey, creationId, mayExist: true },
    { ...options, concernsOthers: false },
  )
  if (Object.keys(change).length === 0) return moved
  try {
    const changed = await writer.changeEvent({ place: moved.place, part, change }, options)
    return oneAfterTheOther(moved, changed)
  } catch (error) {
    if (!(error instanceof ProviderFailure && isFinal(error))) throw error
    onHalfDone(error)
    return moved
  }
}

/** Whether a moved item is where it was moved to, under the key that it had: not all providers give it another one. */
async function isThere(
  provider: Pick<CalendarsProvider, 'read'>,
  { calendarKey, key }: ItemPlace,
  { window }: WriteOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const { items, unreadable } = await provider.read({ calendarKey, keys: [key], window }, signal)
  return items.length + unreadable.length > 0
}

/** Whether another try of a write would fail as well. */
export const isFinal = ({ isPermanent, kind }: ProviderFailure) => isPermanent || kind === 'conflict'

/** Keys of which `CalendarsProvider.read` takes so many at once. */
const READ_AT_ONCE = 50

/** The effect of a write, read again. */
export async function readWritten(
  provider: Pick<CalendarsProvider, 'read'>,
  { items, gone, place }: WrittenEvents,
  window: CalendarWindow,
  signal?: AbortSignal,
): Promise<WrittenEvents> {
  const named: ItemPlace[] = [
    ...items.map(({ calendarKey, object }) => ({ calendarKey, key: object.key })),
    ...gone,
  ]
  const read: { items: Array<WrittenEvents['items'][number]>; gone: ItemPlace[] } = { items: [], gone: [] }
  for (const [calendarKey, places] of Map.groupBy(named, one => one.calendarKey)) {
    const all = [...new Set(places.map(({ key }) => key))]
    for (let at = 0; at < all.length; at += READ_AT_ONCE) {
      const keys = all.slice(at, at + READ_AT_ONCE)
      const found = await provider.read({ calendarKey, keys, window }, signal)
      const left = new Set([...found.items, ...found.unreadable].map(({ key }) => key))
      read.items.push(...found.items.map(object => ({ calendarKey, object })))
      read.gone.push(...keys.filter(key => !left.has(key)).map(key => ({ calendarKey, key })))
    }
  }
  return { ...read, place }
}
