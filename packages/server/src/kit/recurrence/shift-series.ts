import { type ContentLine, readLine } from '../content-lines/content-line.ts'
import { isDay, printDay, printWall } from '../wall-clock.ts'
import type { SeriesStart } from './member.ts'
import { readRecurrenceDates } from './recurrence-dates.ts'
import { printDates, withValue } from './recurrence-lines.ts'
import { type Shift, shiftRule, shiftWall } from './shift-rule.ts'
import type { Series, ZoneOf } from './split-series.ts'

/** How a file names zones. */
export interface ZoneNames {
  /** The name of the zone of the new start; that of the IANA database unless given. */
  tzid?: string | null
  /** Resolves the TZID of a line, as `toMember` has it. */
  zoneOf?: ZoneOf
}

export interface ShiftedSeries extends Series {
  /**
   * Whether each member has moved by the difference between the wall clocks of both starts, as `shiftWall` has it. Otherwise the
   * nth member has become the nth.
   */
  isExact: boolean
}

/**
 * The series at another start. Rules, RDATEs and taken members move along by the difference between the wall clocks of
 * both starts, and so do exceptions. RDATEs are written in the zone of the new start.
 * @returns null if no rules like those of the series have as many members that lie alike, or if there are too many RDATEs
 */
export function shiftSeries(series: Series, to: SeriesStart, names: ZoneNames = {}): ShiftedSeries | null {
  const shift = { from: series.start, to }
  if (to.wall === series.start.wall && to.zone === series.start.zone) return { ...series, isExact: true }
  const read = series.lines.map(text => ({ text, line: readLine(text) }))
  const dates = read.flatMap(({ line }) => (line?.name === 'RDATE' ? [line] : []))
  if (readRecurrenceDates(dates, series.start, names.zoneOf).isTruncated) return null
  let [rules, isExact] = [0, true]
  const lines: string[] = []
  for (const { text, line } of read) {
    if (line?.name === 'RRULE' || line?.name === 'EXRULE') {
      const moved = shiftRule(line.value, shift, line.name === 'RRULE')
      if (moved === null) return null
      rules++
      isExact &&= moved.isExact
      lines.push(moved.value === line.value ? text : withValue(line, moved.value))
    } else if (line?.name === 'RDATE') lines.push(...shiftDates(line, shift, names))
    else lines.push(text)
  }
  // Members of two rules that move in their own ways would change places.
  if (!isExact && rules > 1) return null
  return { start: to, lines, taken: series.taken.map(member => shiftWall(member, shift)), isExact }
}

/** Values that cannot be read give nothing, and stay. */
function shiftDates(line: ContentLine, shift: Shift, { tzid, zoneOf }: ZoneNames): string[] {
  const print = isDay(shift.from.wall) ? printDay : printWall
  const readOne = (value: string) => readRecurrenceDates([{ ...line, value }], shift.from, zoneOf).members
  const values = line.value.split(',')
  const moved = values.flatMap(readOne).map(({ time, end }) => ({
    wall: shiftWall(print(time), shift),
    end: end === null || isDay(shift.to.wall) ? null : shiftWall(end, shift),
  }))
  const odd = values.filter(value => readOne(value).length === 0)
  return [
    ...printDates('RDATE', moved, shift.to, tzid),
    ...(odd.length > 0 ? [withValue(line, odd.join(','))] : []),
  ]
}
