import { isDeepStrictEqual } from 'node:util'
import { findHits } from '../../../kit/recurrence/hits.ts'
import { printDates } from '../../../kit/recurrence/recurrence-lines.ts'
import type { Series } from '../../../kit/recurrence/split-series.ts'
import { ProviderFailure } from '../../failure.ts'
import { pagesOf } from '../following.ts'
import { requireNamed } from '../reading.ts'
import { deleteEvent, listByUid } from './event-calls.ts'
import { eventGone, type HeldEvent, type Json, objectAt, readHeld } from './held-event.ts'
import type { EventWrite } from './event-write.ts'
import { readObjects } from './surroundings.ts'

/** A member of a series with fields of its own. */
export interface HeldException {
  member: string
  held: HeldEvent
}

/** A series with what differs from its rule. */
export interface HeldSeries {
  master: HeldEvent
  /** Its taken members are those of EXDATE lines and those that were deleted. */
  series: Series
  exceptions: readonly HeldException[]
  /** Members that were deleted one by one. */
  cancelled: ReadonlyArray<{ key: string; member: string }>
  /** Exceptions and deleted members, as they were answered. */
  answered: readonly unknown[]
}

/** Reads what a calendar has of a series besides the series itself. Throws `rejected` if a part of it cannot be read. */
export async function loadSeries({ calendar }: EventWrite, master: HeldEvent): Promise<HeldSeries> {
  const { api, key } = calendar
  const uid = master.event.iCalUID
  const answered = new Map<string, unknown>()
  if (uid)
    for await (const { items } of pagesOf(pageToken => listByUid(api, key, uid, pageToken)))
      for (const item of items) {
        const { id, recurringEventId } = requireNamed(item)
        if (recurringEventId === master.key) answered.set(id, item)
      }
  const { objects, unreadable } = await readObjects(calendar, [master.raw, ...answered.values()])
  const [odd] = unreadable
  if (odd) throw new ProviderFailure('rejected', `${odd.key} cannot be read: ${odd.reason}.`)
  const excluded: string[] = []
  const cancelled: Array<{ key: string; member: string }> = []
  const exceptions: HeldException[] = []
  for (const object of objects) {
    if (object.type === 'item') excluded.push(...(object.excluded ?? []))
    else if (object.event === null) cancelled.push({ key: object.key, member: object.member })
    else exceptions.push({ member: object.member, held: readHeld(calendar, answered.get(object.key)) })
  }
  const lines = (master.event.recurrence ?? []).filter(line => !/^EXDATE[:;]/i.test(line))
  const { start } = master.fields
  // A cancelled member stays at Google when its series moves away.
  const members = cancelled.map(({ member }) => member)
  const hits = findHits({ start, lines }, members)
  const series = { start, lines, taken: [...excluded, ...members.filter(member => hits.has(member))] }
  return { master, series, exceptions, cancelled, answered: [...answered.values()] }
}

/** The lines of a series as Google takes them: it writes names of zones without quotes. */
export function recurrenceJson({ start, lines, taken }: Series): readonly string[] {
  const members = [...new Set(taken)].map(wall => ({ wall, end: null }))
  return [...lines, ...printDates('EXDATE', members, start)].map(line =>
    line.replace(/^((?:RDATE|EXDATE)(?:;VALUE=[\w-]+)?;TZID=)"([\w+/-]+)"/, '$1$2'),
  )
}

/** Fields that an event has of its own, or that are written apart. */
const NOT_COPIED: ReadonlySet<string> = new Set(
  [
    'kind etag id htmlLink created updated creator organizer start end endTimeUnspecified recurrence',
    'recurringEventId originalStartTime iCalUID sequence hangoutLink attendeesOmitted privateCopy locked',
  ].flatMap(names => names.split(' ')),
)

/** The fields of an event that another one gets, also those that the service does not read. */
export function copiedFields(raw: Json): Json {
  const { conferenceData, ...kept } = Object.fromEntries(
    Object.entries(raw).filter(([name]) => !NOT_COPIED.has(name)),
  )
  if (typeof conferenceData !== 'object' || conferenceData === null) return kept
  const { createRequest: _made, ...conference } = conferenceData as Json
  return Object.keys(conference).length > 0 ? { ...kept, conferenceData: conference } : kept
}

/** Fields with a patch over them. Properties are merged, as Google merges them. */
export function mergedFields(fields: Json, patch: Json): Json {
  const [own, next] = [fields, patch].map(each => objectAt(each, 'extendedProperties'))
  const all = { ...fields, ...patch }
  if (Object.keys(next!).length === 0) return all
  const [ownPrivate, nextPrivate] = [own!, next!].map(each => objectAt(each, 'private'))
  return { ...all, extendedProperties: { ...own, ...next, private: { ...ownPrivate, ...nextPrivate } } }
}

/** The fields, besides its times, in which an exception differs from its series, as a patch. */
export function differencesOf(exception: Json, series: Json): Json {
  const [own, given] = [copiedFields(exception), copiedFields(series)]
  const names = new Set([...Object.keys(own), ...Object.keys(given)])
  const differing = [...names].filter(name => !isDeepStrictEqual(own[name], given[name]))
  return Object.fromEntries(differing.map(name => [name, own[name] ?? null]))
}

/** Deletes exceptions that their series does not have any more. An exception that is gone already is no failure. */
export async function deleteExceptions(
  { calendar, record }: EventWrite,
  exceptions: readonly HeldException[],
): Promise<string[]> {
  for (const { held } of exceptions)
    try {
      const place = { calendarKey: calendar.key, key: held.key }
      // People who are invited are told of the series.
      await record.run(() => deleteEvent(calendar.api, place, false))
    } catch (error) {
      if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
    }
  return exceptions.map(({ held }) => held.key)
}

export const isSeries = ({ event }: HeldEvent): boolean => (event.recurrence ?? []).length > 0

/** Throws `not_found` for an event that is no series. */
export function requireSeries(held: HeldEvent): HeldEvent {
  if (isSeries(held)) return held
  throw eventGone()
}
