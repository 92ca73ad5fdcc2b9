import { readLine } from '../content-lines/content-line.ts'
import { isDay, printDay, printWall } from '../wall-clock.ts'
import type { Member } from './expand.ts'
import { readRecurrenceDates } from './recurrence-dates.ts'
import { printDates, withValue } from './recurrence-lines.ts'
import type { SeriesStart } from './member.ts'
import { shiftRule, shiftWall } from './shift-rule.ts'
import type { Series } from './split-series.ts'

/**
 * The series at another start. Rules, RDATEs and taken members move along by the difference between the wall clocks of
 * both starts, and so do exceptions, by `shiftWall`. RDATEs are written in the zone of the new start.
 * @param tzid by which a file names that zone; its name unless given
 * @returns null if no rule gives the new start: a series on the 31st does not move to the 30th, for instance
 */
export function shiftSeries(series: Series, to: SeriesStart, tzid: string | null = to.zone): Series | null {
  const shift = { from: series.start, to }
  if (to.wall === series.start.wall && to.zone === series.start.zone) return series
  const lines: string[] = []
  for (const text of series.lines) {
    const line = readLine(text)
    if (line?.name === 'RRULE' || line?.name === 'EXRULE') {
      const value = shiftRule(line.value, shift)
      if (value === null) return null
      lines.push(value === line.value ? text : withValue(line, value))
    } else if (line?.name === 'RDATE') {
      const print = isDay(series.start.wall) ? printDay : printWall
      const { members } = readRecurrenceDates([line], series.start)
      const moved: Member[] = members.map(({ time, end }) => ({
        wall: shiftWall(print(time), shift),
        end: end === null || isDay(to.wall) ? null : shiftWall(end, shift),
      }))
      lines.push(...printDates('RDATE', moved, to, tzid))
    } else lines.push(text)
  }
  return { start: to, lines, taken: series.taken.map(member => shiftWall(member, shift)) }
}
