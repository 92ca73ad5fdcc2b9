import { DAY_MS, printWall } from '../wall-clock.ts'
import { offsetAt, type Transitions } from './transitions.ts'
import { requireTransitions } from './zones.ts'

/* Printing time zones into calendar files (RFC 5545 section 3.6.5). */

/** A moment at which a zone changes its offset. */
interface Onset {
  /** The wall time, in the offset before. */
  wallTime: number
  instant: number
  before: number
  offset: number
}

/** Onsets that one observance gives. */
interface Observance {
  onsets: readonly Onset[]
  /** The value of its RRULE; null if its onsets are given one by one. */
  rule: string | null
}

/** Fewer onsets in the same place of successive years are given one by one. */
const YEARS_MIN = 3
/** Longer than from one onset of a rule to the next. */
const LATER_MS = 400 * DAY_MS
const DAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']

/**
 * A VTIMEZONE of a zone, which gives its offsets from one instant up to another. The last rules have no end, so that members
 * after that time are right as long as the zone does not change.
 * @param zone an IANA name, which is the TZID as well
 * @returns its lines
 * @throws RangeError if the database lacks the zone
 */
export function printDefinition(zone: string, { from, to }: { from: Date; to: Date }): string[] {
  const end = to.getTime()
  // Later onsets show which rules go on.
  const onsets = onsetsOf(requireTransitions(zone), from.getTime(), end + LATER_MS)
  const groups = Map.groupBy(onsets, ({ before, offset }) => `${before} ${offset}`)
  const observances = [...groups.values()].flatMap(observancesOf).flatMap(one => endAt(one, end))
  return [
    'BEGIN:VTIMEZONE',
    `TZID:${zone}`,
    ...observances
      .toSorted((a, b) => a.onsets[0]!.instant - b.onsets[0]!.instant)
      .flatMap(observance => printObservance(observance, end)),
    'END:VTIMEZONE',
  ]
}

/** The onsets of a time, and the one that it begins in. */
function onsetsOf({ at, offsets }: Transitions, from: number, to: number): Onset[] {
  const onsets = at.map((instant, index) => {
    const [before, offset] = [offsets[index]!, offsets[index + 1]!]
    return { wallTime: instant + before, instant, before, offset }
  })
  const later = onsets.filter(({ instant }) => instant > from && instant <= to)
  const first = onsets.findLast(({ instant }) => instant <= from)
  if (first) return [first, ...later]
  const offset = offsetAt({ at, offsets }, from)
  // Before its first transition, a zone has had this offset for ever.
  const ever = { wallTime: 0, instant: -offset, before: offset, offset }
  return [ever, ...later]
}

/** An observance without onsets after an instant, but for those of a rule, which goes on then. */
function endAt({ onsets, rule }: Observance, end: number): Observance[] {
  const kept = onsets.filter(({ instant }) => instant <= end)
  if (kept.length === 0) return []
  return [rule === null ? { onsets: kept, rule } : { onsets, rule }]
}

/** Splits onsets with the same offsets, ascending, into those that follow a rule and those that do not. */
function observancesOf(onsets: readonly Onset[]): Observance[] {
  const found: Observance[] = []
  const single: Onset[] = []
  for (let at = 0; at < onsets.length;) {
    const { length, rule } = longestRule(onsets.slice(at))
    if (length < YEARS_MIN) single.push(onsets[at++]!)
    else {
      found.push({ onsets: onsets.slice(at, at + length), rule })
      at += length
    }
  }
  return single.length > 0 ? [...found, { onsets: single, rule: null }] : found
}

/** How many of the first onsets follow one rule, which gives the same weekday of the same month in each year. */
function longestRule(onsets: readonly Onset[]): { length: number; rule: string } {
  const rules = ['first', 'last'] as const
  const candidates = rules.map(counted => {
    const place = placeOf(onsets[0]!, counted)
    const year = yearOf(onsets[0]!)
    const end = onsets.findIndex(
      (onset, index) => yearOf(onset) !== year + index || placeOf(onset, counted).text !== place.text,
    )
    return { length: end === -1 ? onsets.length : end, rule: place.rule }
  })
  return candidates.reduce((best, one) => (one.length > best.length ? one : best))
}

const yearOf = ({ wallTime }: Onset): number => new Date(wallTime).getUTCFullYear()

/** The place of an onset in its year: the nth weekday of a month, counted from its first or from its last day, and the time. */
function placeOf({ wallTime }: Onset, counted: 'first' | 'last'): { text: string; rule: string } {
  const date = new Date(wallTime)
  const [month, day] = [date.getUTCMonth(), date.getUTCDate()]
  const days = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate()
  const nth = counted === 'first' ? Math.ceil(day / 7) : -Math.ceil((days - day + 1) / 7)
  const rule = `FREQ=YEARLY;BYMONTH=${month + 1};BYDAY=${nth}${DAYS[date.getUTCDay()]}`
  return { text: `${rule} ${wallTime % DAY_MS}`, rule }
}

function printObservance({ onsets, rule }: Observance, to: number): string[] {
  const { wallTime, before, offset } = onsets[0]!
  const name = offset > before ? 'DAYLIGHT' : 'STANDARD'
  const last = onsets.at(-1)!
  const end = last.instant > to ? '' : `;UNTIL=${printWall(last.instant)}Z`
  return [
    `BEGIN:${name}`,
    `DTSTART:${printWall(wallTime)}`,
    // Some readers take DTSTART for none of them where there are dates.
    ...(rule === null && onsets.length > 1 ? onsets.map(onset => `RDATE:${printWall(onset.wallTime)}`) : []),
    ...(rule === null ? [] : [`RRULE:${rule}${end}`]),
    `TZOFFSETFROM:${printOffset(before)}`,
    `TZOFFSETTO:${printOffset(offset)}`,
    `END:${name}`,
  ]
}

/** `+HHMM`, with seconds where the offset has some (RFC 5545 section 3.3.14). */
function printOffset(offset: number): string {
  const seconds = Math.abs(offset) / 1_000
  const parts = [seconds / 3_600, (seconds / 60) % 60, seconds % 60].map(part =>
    String(Math.floor(part)).padStart(2, '0'),
  )
  return `${offset < 0 ? '-' : '+'}${parts.slice(0, seconds % 60 === 0 ? 2 : 3).join('')}`
}
