import { isDay, requireWall } from '../wall-clock.ts'
import type { SeriesStart } from './member.ts'
import { withParts } from './recurrence-lines.ts'
import { readParts, WEEKDAYS } from './rule.ts'

/**
 * The value of a rule with the parts that it takes from the start of its series, if another start would give others
 * (RFC 5545 section 3.3.10).
 */
export function fillRule(value: string, start: SeriesStart, next: SeriesStart): string {
  const parts = readParts(value) ?? new Map<string, string>()
  const frequency = parts.get('FREQ') ?? ''
  const from = new Date(requireWall(start.wall))
  const changes: Record<string, string> = {}
  const add = (name: string, part: string | number) => {
    if (!parts.has(name)) changes[name] = String(part)
  }
  const has = (...names: string[]) => names.some(name => parts.has(name))
  if (!isDay(start.wall) && start.wall.slice(8) !== next.wall.slice(8)) {
    if (frequency !== 'HOURLY') add('BYHOUR', from.getUTCHours())
    add('BYMINUTE', from.getUTCMinutes())
    add('BYSECOND', from.getUTCSeconds())
  }
  if (frequency === 'WEEKLY') add('BYDAY', WEEKDAYS[from.getUTCDay()]!)
  if (frequency === 'MONTHLY' && !has('BYDAY', 'BYMONTHDAY')) add('BYMONTHDAY', from.getUTCDate())
  if (frequency === 'YEARLY' && !has('BYDAY', 'BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO')) {
    add('BYMONTH', from.getUTCMonth() + 1)
    add('BYMONTHDAY', from.getUTCDate())
  }
  return withParts(value, changes)
}
