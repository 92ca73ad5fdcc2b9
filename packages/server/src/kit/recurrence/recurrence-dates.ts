import type { ContentLine } from '../content-lines/content-line.ts'
import { DAY_MS, isDay, readWall, requireWall, WALL_TIME_END } from '../wall-clock.ts'
import { toInstant, toWall } from '../zones/zones.ts'
import { readDuration } from '../written-time.ts'
import { type SeriesStart, toMember } from './member.ts'
import { MEMBERS_MAX } from './walk-rule.ts'

/** A member that an RDATE names. `end` is null unless it is a period. */
export interface RecurrenceDate {
  time: number
  end: string | null
}

/**
 * Reads the values of RDATE lines, at most `MEMBERS_MAX`. Values that cannot be read are left out.
 * @param zoneOf as for `toMember`
 */
export function readRecurrenceDates(
  lines: readonly ContentLine[],
  start: SeriesStart,
  zoneOf?: (tzid: string) => string | null,
): { members: RecurrenceDate[]; isTruncated: boolean } {
  const members: RecurrenceDate[] = []
  let count = 0
  for (const line of lines) {
    if (line.name !== 'RDATE') continue
    for (const value of valuesOf(line.value)) {
      if (count++ === MEMBERS_MAX) return { members, isTruncated: true }
      const member = readRecurrenceDate(value, line, start, zoneOf)
      if (member) members.push(member)
    }
  }
  return { members, isTruncated: false }
}

/**
 * The members that EXDATE lines take, as `toMember` has them, of at most `MEMBERS_MAX` values. Values that cannot be read
 * take nothing.
 * @param zoneOf as for `toMember`
 */
export function readExceptionDates(
  lines: readonly ContentLine[],
  start: SeriesStart,
  zoneOf?: (tzid: string) => string | null,
): { members: Set<string>; isTruncated: boolean } {
  const members = new Set<string>()
  let count = 0
  for (const line of lines) {
    if (line.name !== 'EXDATE') continue
    for (const value of valuesOf(line.value)) {
      // Repeated values take as long as others.
      if (count++ === MEMBERS_MAX) return { members, isTruncated: true }
      const member = toMember(value, line.parameters, start, zoneOf)
      if (member !== null) members.add(member)
    }
  }
  return { members, isTruncated: false }
}

/** One value after the other, so that a long list is not split when only its beginning is read. */
function* valuesOf(list: string) {
  for (let from = 0; from <= list.length;) {
    const comma = list.indexOf(',', from)
    const end = comma === -1 ? list.length : comma
    yield list.slice(from, end)
    from = end + 1
  }
}

function readRecurrenceDate(
  value: string,
  line: ContentLine,
  start: SeriesStart,
  zoneOf: ((tzid: string) => string | null) | undefined,
): RecurrenceDate | null {
  const [first = '', last] = value.split('/', 2)
  const begin = toMember(first, line.parameters, start, zoneOf)
  if (begin === null) return null
  const day = requireWall(begin)
  // A day on a series with times is its usual time on that day.
  const isUsualTime = isDay(begin) && !isDay(start.wall)
  const time = isUsualTime ? day + (((requireWall(start.wall) % DAY_MS) + DAY_MS) % DAY_MS) : day
  if (last === undefined) return { time, end: null }
  const end = readEnd(
    last.trim(),
    begin,
    (text: string) => toMember(text, line.parameters, start, zoneOf),
    start,
  )
  const endTime = end === null ? null : readWall(end)
  return { time, end: endTime !== null && endTime >= time ? end : null }
}

/** The end of a period (RFC 5545 section 3.3.9): a time, or a duration after its begin. */
function readEnd(
  text: string,
  begin: string,
  readTime: (text: string) => string | null,
  start: SeriesStart,
): string | null {
  if (isDay(begin)) return null
  const duration = readDuration(text)
  if (!duration) return readTime(text)
  const { days, milliseconds } = duration
  if (days < 0 || milliseconds < 0) return null
  const afterDays = requireWall(begin) + days * DAY_MS
  if (afterDays + milliseconds >= WALL_TIME_END - 2 * DAY_MS) return null
  // Without a zone, UTC counts as a floating time does.
  const zone = start.zone ?? 'UTC'
  return toWall(toInstant(toWall(afterDays, 'UTC'), zone) + milliseconds, zone)
}
