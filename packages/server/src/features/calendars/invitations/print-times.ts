import { readLine } from '../../../kit/content-lines/content-line.ts'
import { readRule, type Rule } from '../../../kit/recurrence/rule.ts'
import { DAY_MS, isDay, requireWall } from '../../../kit/wall-clock.ts'
import { presentZone, toInstant, toWall } from '../../../kit/zones/zones.ts'
import type { EventTime } from '../../../providers/calendars.ts'

/* Times of events in words. */

const DAY = new Intl.DateTimeFormat('en-GB', {
  weekday: 'long',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
})

/** A wall clock as a day: `Monday, 30 November 2026`. */
export function printDate(wall: string): string {
  const parts = new Map(DAY.formatToParts(requireWall(wall)).map(({ type, value }) => [type, value]))
  return `${parts.get('weekday')}, ${parts.get('day')} ${parts.get('month')} ${parts.get('year')}`
}

const printClock = (wall: string): string => `${wall.slice(9, 11)}:${wall.slice(11, 13)}`

/** `Monday, 30 November 2026, 12:00 to 13:00 (Europe/Berlin)`. */
export function printTimes({ start, end }: { start: EventTime; end: EventTime }): string {
  if (isDay(start.wall)) {
    // The end is the day after the last one.
    const last = requireWall(end.wall) - DAY_MS
    const first = requireWall(start.wall)
    return last <= first
      ? printDate(start.wall)
      : `${printDate(start.wall)} to ${printDate(new Date(last).toISOString().slice(0, 10).replaceAll('-', ''))}`
  }
  const isSameDay = start.wall.slice(0, 8) === end.wall.slice(0, 8)
  const from = `${printDate(start.wall)}, ${printClock(start.wall)}`
  if (start.wall === end.wall && start.zone === end.zone) return `${from}${printZone(start)}`
  const to = isSameDay ? printClock(end.wall) : `${printDate(end.wall)}, ${printClock(end.wall)}`
  if (start.zone !== end.zone) return `${from}${printZone(start)} to ${to}${printZone(end)}`
  return `${from} to ${to}${printZone(start)}`
}

/** The zone in brackets: its name, or its offset at that time. */
function printZone({ wall, zone }: EventTime): string {
  if (zone === null) return ''
  const name = presentZone(zone)
  if (name !== null) return ` (${name})`
  const minutes = Math.round((requireWall(wall) - toInstant(wall, zone)) / 60_000)
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  const sign = minutes < 0 ? '-' : '+'
  return ` (UTC${sign}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')})`
}

const UNITS: Readonly<Partial<Record<Rule['frequency'], string>>> = {
  DAILY: 'day',
  WEEKLY: 'week',
  MONTHLY: 'month',
  YEARLY: 'year',
}
const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const PLACES = new Map([
  [1, 'first'],
  [2, 'second'],
  [3, 'third'],
  [4, 'fourth'],
  [5, 'fifth'],
  [-1, 'last'],
])

/** A recurrence in words: `every week on Monday, 10 times`. Null for one that needs more words. */
export function printRecurrence(lines: readonly string[], start: EventTime): string | null {
  const [line, ...others] = lines.flatMap(text => readLine(text) ?? [])
  const rule = line?.name === 'RRULE' && others.length === 0 ? readRule(line.value) : null
  const unit = rule && UNITS[rule.frequency]
  const days = rule && printDays(rule)
  if (!rule || !unit || days === null) return null
  const every = rule.interval === 1 ? `every ${unit}` : `every ${rule.interval} ${unit}s`
  return `${every}${days}${printEnd(rule, start)}`
}

/** The days of a rule. Null for lists that are seldom. */
function printDays(rule: Rule): string | null {
  const { weekdays, monthDays, frequency, months } = rule
  const isUnusual =
    rule.positions ?? rule.yearDays ?? rule.weekNumbers ?? rule.hours ?? rule.minutes ?? rule.seconds
  if (isUnusual || (months && frequency !== 'YEARLY')) return null
  if (frequency === 'YEARLY') return weekdays || (monthDays && monthDays.length > 1) ? null : ''
  if (monthDays)
    return weekdays || monthDays.some(day => day < 1) ? null : ` on day ${printList(monthDays.map(String))}`
  if (!weekdays) return ''
  const names = weekdays.map(({ weekday, nth }) => {
    const place = nth === 0 ? '' : PLACES.get(nth)
    return place === undefined
      ? null
      : place === ''
        ? WEEKDAYS[weekday]!
        : `the ${place} ${WEEKDAYS[weekday]!}`
  })
  return names.includes(null) ? null : ` on ${printList(names as string[])}`
}

const printList = (texts: readonly string[]): string =>
  texts.length < 2 ? texts.join('') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`

function printEnd({ count, until }: Rule, { zone }: EventTime): string {
  if (count !== null) return count === 1 ? ', once' : `, ${count} times`
  if (until === null) return ''
  const isUtc = until.endsWith('Z') && zone !== null
  const wall = isUtc ? toWall(toInstant(until.slice(0, -1), 'UTC'), zone) : until.replace('Z', '')
  return `, until ${printDate(wall)}`
}
