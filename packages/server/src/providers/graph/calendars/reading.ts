import type { RemoteEvent, RemoteObject, UnreadableItem } from '../../calendars.ts'
import { isOfPart } from '../../http/ask-twice.ts'
import { BATCH_PARTS_MAX } from '../api.ts'
import { askTwice } from '../ask-twice.ts'
import { type GraphItem, itemSchema, versionOf } from '../items.ts'
import { pathOfCalendar, PROBE } from './calendar-list.ts'
import { fieldsOf, type GraphEvent, namedZoneOf, readGraphEvent } from './event.ts'
import { seriesOf } from './pages.ts'
import { type ReadingPlace, requestOfEvent } from './place.ts'
import { type GivenMembers, readMembers } from './members.ts'
import { ruleOf } from './recurrence.ts'

/** Outcomes of reading events. */
export interface ReadEvents {
  items: RemoteObject[]
  unreadable: UnreadableItem[]
  /** Keys that the calendar does not have. */
  gone: string[]
  /** Series to which occurrences belong whose keys were asked for. */
  series: string[]
}

export const nothingRead = (): ReadEvents => ({ items: [], unreadable: [], gone: [], series: [] })

/** Reads events by their keys. Throws failures that no event causes. */
export async function readByKeys(place: ReadingPlace, keys: readonly string[]): Promise<ReadEvents> {
  const { connection, calendarKey, options } = place
  const result = nothingRead()
  for (let at = 0; at < keys.length; at += BATCH_PARTS_MAX) {
    const asked = keys.slice(at, at + BATCH_PARTS_MAX)
    const requests = asked.map(key => requestOfEvent(calendarKey, key))
    const outcomes = await askTwice(connection.api, requests, options, PROBE)
    const found: GraphItem[] = []
    for (const [index, { value, failure }] of outcomes.entries()) {
      const key = asked[index]!
      if (failure?.kind === 'not_found') result.gone.push(key)
      else if (failure && !isOfPart(failure)) throw failure
      else if (value?.id === key) found.push(value)
      else {
        const reason = failure?.message ?? 'Microsoft Graph answered with another event'
        result.unreadable.push({ key, version: null, reason })
      }
    }
    await readFound(place, found, result)
  }
  // Events of a calendar that is gone are not found, either.
  if (keys.length > 0 && result.gone.length === keys.length) await requireCalendar(place)
  return result
}

async function requireCalendar({ connection, calendarKey, options }: ReadingPlace): Promise<void> {
  const path = pathOfCalendar(calendarKey)
  await connection.api.ask({ path, query: { $select: 'id' }, schema: itemSchema, accepts: [200] }, options)
}

/** Adds events that have every field to those that were read. The members of series are asked for. */
export async function readFound(
  place: ReadingPlace,
  found: readonly GraphItem[],
  result: ReadEvents,
): Promise<void> {
  const masters: Array<{ item: GraphItem; event: GraphEvent }> = []
  for (const item of found) {
    const seriesKey = seriesOf(item)
    const event = readGraphEvent(item)
    if (seriesKey !== null) result.series.push(seriesKey)
    else if (typeof event === 'string')
      result.unreadable.push(unreadable(item, `whose ${event} cannot be read`))
    else if (event.recurrence && isReadable(place, item, event)) masters.push({ item, event })
    else addItem(place, { item, event, members: null }, result)
  }
  if (masters.length === 0) return
  const members = await readMembers(
    place,
    masters.map(({ event }) => event),
  )
  for (const { item, event } of masters) {
    const given = members.get(event.id)
    if (given === undefined) result.gone.push(event.id)
    // Without a version it is read again later, although the series itself has not changed.
    else if ('reason' in given) result.unreadable.push({ key: event.id, version: null, reason: given.reason })
    else addItem(place, { item, event, members: given }, result)
  }
}

/** The parts of an event that every item needs; otherwise what is wrong with it. */
function partsOf(
  place: ReadingPlace,
  item: GraphItem,
  event: GraphEvent,
): { version: string; fields: RemoteEvent; rule: string | null } | string {
  try {
    const version = versionOf(item)
    const fields = fieldsOf(event, place)
    if (version === null) return 'without a version'
    if (fields === null) return 'whose start cannot be read'
    const rule = event.recurrence ? ruleOf(event.recurrence, fields.start) : null
    return event.recurrence && rule === null ? 'with a recurrence of another form' : { version, fields, rule }
  } catch (error) {
    if (error instanceof RangeError) return 'whose times cannot be calculated'
    throw error
  }
}

const isReadable = (place: ReadingPlace, item: GraphItem, event: GraphEvent): boolean =>
  typeof partsOf(place, item, event) !== 'string'

function addItem(
  place: ReadingPlace,
  { item, event, members }: { item: GraphItem; event: GraphEvent; members: GivenMembers | null },
  { items, unreadable: others }: ReadEvents,
): void {
  const parts = partsOf(place, item, event)
  if (typeof parts === 'string') {
    others.push(unreadable(item, parts))
    return
  }
  if (namedZoneOf(event) === null) place.connection.onCustomZone()
  const { version, fields, rule } = parts
  items.push({
    type: 'item',
    key: item.id,
    version,
    // Another client that moves an event to another calendar gives it another id.
    uid: fields.iCalUid,
    event: fields,
    recurrence: rule === null ? null : [rule],
    members: members && { exceptions: members.exceptions, taken: members.takenOf(rule!, fields.start) },
    occurrences: members && members.occurrences,
  })
}

const unreadable = (item: GraphItem, problem: string): UnreadableItem => ({
  key: item.id,
  version: versionOf(item),
  reason: `Microsoft Graph gave an event ${problem}`,
})
