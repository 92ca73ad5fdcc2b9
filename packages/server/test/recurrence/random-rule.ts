import { DAY_MS, printWall } from '../../src/kit/wall-clock.ts'
import type { Random } from '../seeded.ts'

/** A rule and the wall clocks for which it is expanded. */
export interface RuleCase {
  rule: string
  start: string
  from: string
  to: string
}

const WEEKDAYS = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'] as const
/** The days after the start that are looked at, so that a case has some hundred members at most. */
const DAYS = { YEARLY: 3600, MONTHLY: 1500, WEEKLY: 700, DAILY: 400, HOURLY: 60, MINUTELY: 3, SECONDLY: 0.1 }
type Frequency = keyof typeof DAYS

export function randomRule(random: Random): RuleCase {
  const frequency = random.pick<Frequency>([
    'YEARLY',
    'YEARLY',
    'YEARLY',
    'MONTHLY',
    'MONTHLY',
    'WEEKLY',
    'WEEKLY',
    'DAILY',
    'HOURLY',
    'MINUTELY',
    'SECONDLY',
  ])
  // Some starts lie at the ends of months and years.
  const day = Date.UTC(
    random.between(1996, 2028),
    random.pick([0, 1, 2, 5, 8, 10, 11]),
    random.pick([1, 2, 13, 28, 29, 30, 31]),
  )
  const start = day + random.between(0, 86_399) * 1000
  const from =
    start + Math.floor((random.chance(0.5) ? 0 : random.next() * DAYS[frequency] * DAY_MS) / 1000) * 1000
  const to = from + DAYS[frequency] * DAY_MS
  const parts = [`FREQ=${frequency}`, ...partsOf(random, frequency)]
  const ending = random.next()
  if (ending < 0.3) parts.push(`COUNT=${random.between(1, 80)}`)
  else if (ending < 0.5)
    parts.push(`UNTIL=${printWall(from + Math.floor(random.next() * DAYS[frequency] * 86_400) * 1000)}`)
  return { rule: parts.join(';'), start: printWall(start), from: printWall(from), to: printWall(to) }
}

function partsOf(random: Random, frequency: Frequency): string[] {
  const isYearly = frequency === 'YEARLY'
  const isOfMonths = isYearly || frequency === 'MONTHLY'
  const isWithinDays = frequency === 'HOURLY' || frequency === 'MINUTELY' || frequency === 'SECONDLY'
  // dateutil steps through all minutes and seconds of days that do not match.
  const isShort = frequency === 'MINUTELY' || frequency === 'SECONDLY'
  const list = (max: number, print: () => string | number) =>
    [...new Set(Array.from({ length: random.between(1, max) }, print))].join(',')
  const signed = (from: number, to: number) => random.between(from, to) * (random.chance(0.4) ? -1 : 1)
  const weekday = () => {
    // dateutil fails on a weekday that no month, or not each year, has.
    const hasMonth = parts.some(part => part.startsWith('BYMONTH='))
    const nth = isOfMonths && random.chance(0.5) ? signed(1, isYearly && !hasMonth ? 52 : 4) : ''
    return `${nth}${random.pick(WEEKDAYS)}`
  }
  const parts: string[] = []
  const add = (chance: number, name: string, value: () => string | number) => {
    if (random.chance(chance)) parts.push(`${name}=${value()}`)
  }
  add(0.4, 'INTERVAL', () => random.between(1, isWithinDays ? 90 : 5))
  add(0.4, 'WKST', () => random.pick(WEEKDAYS))
  add(isWithinDays ? 0 : 0.3, 'BYMONTH', () => list(5, () => random.between(1, 12)))
  if (isYearly) {
    add(0.2, 'BYWEEKNO', () => list(4, () => signed(1, 53)))
    add(0.2, 'BYYEARDAY', () => list(6, () => signed(1, 366)))
  }
  if (frequency !== 'WEEKLY')
    add(isOfMonths ? 0.4 : isShort ? 0 : 0.2, 'BYMONTHDAY', () => list(8, () => signed(1, 31)))
  add(isShort ? 0 : 0.5, 'BYDAY', () => list(4, weekday))
  add(0.2, 'BYHOUR', () => list(4, () => random.between(0, 23)))
  add(0.2, 'BYMINUTE', () => list(4, () => random.between(0, 59)))
  add(0.1, 'BYSECOND', () => list(4, () => random.between(0, 59)))
  if (parts.some(part => part.startsWith('BY')))
    add(0.3, 'BYSETPOS', () => list(3, () => signed(1, random.pick([2, 8, 366]))))
  return parts
}
