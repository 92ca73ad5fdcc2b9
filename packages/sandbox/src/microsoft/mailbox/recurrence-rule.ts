import type { Moment } from '../../calendaring/moments.ts'
import { type Pattern, type Recurrence, WEEK_INDEXES, WEEKDAYS } from './recurrence.ts'

const codeOf = (day: (typeof WEEKDAYS)[number]): string => day.slice(0, 2).toUpperCase()

/** The rule of a recurrence as iCalendar has it (RFC 5545 section 3.3.10). */
export function recurrenceRule({ pattern, range }: Recurrence, start: Moment): string {
  const parts = [...patternParts(pattern), `INTERVAL=${pattern.interval}`]
  if (range.type === 'numbered') parts.push(`COUNT=${range.numberOfOccurrences}`)
  if (range.endDate !== null) {
    const date = range.endDate.replaceAll('-', '')
    parts.push(`UNTIL=${'day' in start ? date : `${date}T235959Z`}`)
  }
  return `RRULE:${parts.join(';')}`
}

function patternParts(pattern: Pattern): string[] {
  const { type, daysOfWeek, firstDayOfWeek, month } = pattern
  const days = `BYDAY=${daysOfWeek.map(codeOf).join(',')}`
  const position = `BYSETPOS=${pattern.index === 'last' ? -1 : WEEK_INDEXES.indexOf(pattern.index) + 1}`
  switch (type) {
    case 'daily':
      return ['FREQ=DAILY']
    case 'weekly':
      return ['FREQ=WEEKLY', days, `WKST=${codeOf(firstDayOfWeek)}`]
    case 'absoluteMonthly':
      return ['FREQ=MONTHLY', ...monthDay(pattern)]
    case 'relativeMonthly':
      return ['FREQ=MONTHLY', days, position]
    case 'absoluteYearly':
      return ['FREQ=YEARLY', `BYMONTH=${month}`, ...monthDay(pattern)]
    case 'relativeYearly':
      return ['FREQ=YEARLY', `BYMONTH=${month}`, days, position]
  }
}

/** The last day of a shorter month stands for a day that it lacks. */
function monthDay({ dayOfMonth }: Pattern): string[] {
  if (dayOfMonth <= 28) return [`BYMONTHDAY=${dayOfMonth}`]
  const days = Array.from({ length: dayOfMonth - 27 }, (_, at) => 28 + at)
  return [`BYMONTHDAY=${days.join(',')}`, 'BYSETPOS=-1']
}
