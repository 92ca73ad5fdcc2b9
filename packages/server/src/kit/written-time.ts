import { readWall } from './wall-clock.ts'

/* Times and durations as iCalendar writes them (RFC 5545 sections 3.3.4 to 3.3.6). */

export interface WrittenTime {
  /** A wall clock, as `kit/wall-clock.ts` describes it. */
  wall: string
  isUtc: boolean
}

const TIME = /^(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?(Z)?)?$/i

/** Reads a date or a time, also in the extended form (ISO 8601) or without seconds. Null if it is none. */
export function readTime(value: string): WrittenTime | null {
  const [, year, month, day, hour, minute, second = '00', utc] = TIME.exec(value.trim()) ?? []
  if (year === undefined) return null
  // A leap second is the second before it (RFC 5545 section 3.3.5).
  const time = hour === undefined ? '' : `T${hour}${minute}${second === '60' ? '59' : second}`
  const wall = `${year}${month}${day}${time}`
  return readWall(wall) === null ? null : { wall, isUtc: utc !== undefined }
}

/** A duration: nominal days, and the exact time beside them. Both have the same sign. */
export interface WrittenDuration {
  days: number
  milliseconds: number
}

const DURATION =
  /^([+-]?)P(?:(\d{1,5})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,7})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/i

/** Reads a duration. Null if it is none. */
export function readDuration(value: string): WrittenDuration | null {
  const found = DURATION.exec(value.trim())
  if (!found || !/\d/.test(value)) return null
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = found
    .slice(2)
    .map(part => Number(part ?? 0))
  const sign = found[1] === '-' ? -1 : 1
  return {
    days: sign * (weeks * 7 + days),
    milliseconds: sign * (hours * 3_600 + minutes * 60 + seconds) * 1_000,
  }
}
