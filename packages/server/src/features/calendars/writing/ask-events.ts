import type { EventTarget } from '../events/find-target.ts'
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

const TELLS_SECONDS = 20

/** A write is refused if people are to be told of it and nobody would tell them. */
async function requireTelling(
  writer: CalendarsWriter,
  calendarKey: string,
  { notify, concernsOthers }: WriteOptions,
): Promise<void> {
  if (!notify || !concernsOthers) return
  if (await writer.tellsPeople(calendarKey, AbortSignal.timeout(TELLS_SECONDS * 1_000))) return
  throw new ProviderFailure(
    'unsupported',
    'The calendar server of this account sends no invitations. Give notify: false to write without them.',
  )
}

export interface AskedEvent {
  calendarKey: string
  fields: EventInput
  creation: Creation
}

export async function askForEvent(
  writer: CalendarsWriter,
  { calendarKey, fields, creation }: AskedEvent,
  options: WriteOptions,
): Promise<WrittenEvents> {
  await requireTelling(writer, calendarKey, options)
  return writer.createEvent({ calendarKey, fields, ...creation }, options)
}

export interface AskedChange {
  target: Pick<EventTarget, 'root'>
  place: ItemPlace
  part: ChangedPart
  /** Without fields: the event stays as it is. */
  change: EventChange
  /** The calendar that it is moved to; null: it stays. */
  toCalendarKey: string | null
  creation: Creation
  /** Whether people besides the account are concerned. */
  concernsOthers: boolean
}

/** Moves an event, which tells nobody, and then changes it. */
export async function askForChange(
  writer: CalendarsWriter,
  { place, part, change, toCalendarKey, creation }: Omit<AskedChange, 'concernsOthers'>,
  options: WriteOptions,
): Promise<WrittenEvents> {
  await requireTelling(writer, place.calendarKey, options)
  if (toCalendarKey === null) return writer.changeEvent({ place, part, change }, options)
  const toOwn = { ...options, concernsOthers: false }
  const moved = await writer.moveEvent({ place, toCalendarKey, ...creation }, toOwn)
  if (Object.keys(change).length === 0) return moved
  const changed = await writer.changeEvent({ place: moved.place, part, change }, options).catch(afterMove)
  return oneAfterTheOther(moved, changed)
}

/** The move has had its effect already. */
function afterMove(error: unknown): never {
  if (error instanceof ProviderFailure) throw restate(error, { isBeforeAcceptance: false })
  throw error
}

/** The effect of two writes. Items that the second has ended are not among those of the first. */
export function oneAfterTheOther(first: WrittenEvents, second: WrittenEvents): WrittenEvents {
  const nameOf = ({ calendarKey, key }: ItemPlace) => JSON.stringify([calendarKey, key])
  const ended = new Set(second.gone.map(nameOf))
  const left = first.items.filter(
    ({ calendarKey, object: { key } }) => !ended.has(nameOf({ calendarKey, key })),
  )
  return { items: [...left, ...second.items], gone: [...first.gone, ...second.gone], place: second.place }
}

export interface AskedRemoval {
  place: ItemPlace
  part: RemovedPart
}

/** Deletes an event. It is no failure if the event is gone already, by an earlier try. */
export async function askForRemoval(
  writer: CalendarsWriter,
  { place, part }: AskedRemoval,
  options: WriteOptions,
): Promise<WrittenEvents> {
  await requireTelling(writer, place.calendarKey, options)
  if (part.type !== 'all') return writer.removeEvent({ place, part }, options)
  const removed = await writer.removeEvent({ place, part }, options).catch((error: unknown) => {
    if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
    return { items: [], gone: [], place }
  })
  return { ...removed, gone: [...removed.gone, place] }
}

export interface AskedResponse extends EventResponse {
  place: ItemPlace
  part: Parameters<CalendarsWriter['respond']>[0]['part']
}

export async function askForResponse(
  writer: CalendarsWriter,
  asked: AskedResponse,
  options: WriteOptions,
): Promise<WrittenEvents> {
  await requireTelling(writer, asked.place.calendarKey, options)
  return writer.respond(asked, options)
}
