/* Recurrence rules as they are written (RFC 5545 section 3.3.10). */

export const FREQUENCIES = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY', 'SECONDLY'] as const
export type Frequency = (typeof FREQUENCIES)[number]

/** A day of the week: 0 is Sunday. `nth` counts in the month or the year, from its end if negative; 0 is each. */
export interface NthWeekday {
  weekday: number
  nth: number
}

/** Lists are null if the rule lacks the part. They have no value twice, and are ascending. */
export interface Rule {
  frequency: Frequency
  interval: number
  count: number | null
  /** As written: a day, a local time, or one in UTC with its `Z`. */
  until: string | null
  weekStart: number
  seconds: readonly number[] | null
  minutes: readonly number[] | null
  hours: readonly number[] | null
  weekdays: readonly NthWeekday[] | null
  monthDays: readonly number[] | null
  yearDays: readonly number[] | null
  weekNumbers: readonly number[] | null
  months: readonly number[] | null
  positions: readonly number[] | null
}

/** Longer rules are not read. The longest list of positions has 3,400 characters. */
const RULE_LENGTH_MAX = 20_000
export const WEEKDAYS: readonly string[] = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA']
const WEEKDAY = /^([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)$/
const NUMBER = /^[+-]?\d{1,10}$/
const UNTIL = /^\d{8}(?:T\d{6}Z?)?$/

/** The parts of a rule by their names, all in upper case. Null if one lacks its value or occurs twice. */
export function readParts(value: string): Map<string, string> | null {
  if (value.length > RULE_LENGTH_MAX) return null
  const parts = new Map<string, string>()
  for (const part of value.toUpperCase().split(';')) {
    // Some writers end a rule with a semicolon.
    if (part.trim() === '') continue
    const [name = '', text = '', ...rest] = part.split('=').map(piece => piece.trim())
    if (text === '' || rest.length > 0 || parts.has(name)) return null
    parts.set(name, text)
  }
  return parts
}

/** Reads the value of an RRULE or EXRULE. Unknown parts are passed over. Null if the rule cannot be understood. */
export function readRule(value: string): Rule | null {
  const parts = readParts(value)
  if (!parts || !isGregorian(parts)) return null
  const frequency = FREQUENCIES.find(name => name === parts.get('FREQ'))
  const interval = readNumber(parts.get('INTERVAL') ?? '1', 1, 1e9)
  const count = readNumber(parts.get('COUNT') ?? '-1', -1, 1e10)
  const until = parts.get('UNTIL') ?? null
  const weekStart = WEEKDAYS.indexOf(parts.get('WKST') ?? 'MO')
  if (!frequency || interval === null || count === null || weekStart === -1) return null
  if (until !== null && !UNTIL.test(until)) return null
  const lists = readLists(parts)
  return lists && { frequency, interval, count: count === -1 ? null : count, until, weekStart, ...lists }
}

/** Rules of other calendars, or with another way to skip dates (RFC 7529), are not understood. */
function isGregorian(parts: ReadonlyMap<string, string>): boolean {
  return (parts.get('RSCALE') ?? 'GREGORIAN') === 'GREGORIAN' && (parts.get('SKIP') ?? 'OMIT') === 'OMIT'
}

function readLists(parts: ReadonlyMap<string, string>) {
  let isReadable = true
  const list = (name: string, min: number, max: number, isSigned = false) => {
    const text = parts.get(name)
    if (text === undefined) return null
    const numbers = readNumbers(text, min, max, isSigned)
    isReadable &&= numbers !== null
    return numbers
  }
  const days = parts.get('BYDAY')
  const weekdays = days === undefined ? null : readWeekdays(days)
  const lists = {
    // Without leap seconds, second 60 is second 59 (RFC 5545 section 3.3.5).
    seconds: unique(list('BYSECOND', 0, 60)?.map(second => Math.min(second, 59)) ?? null),
    minutes: list('BYMINUTE', 0, 59),
    hours: list('BYHOUR', 0, 23),
    weekdays,
    monthDays: list('BYMONTHDAY', 1, 31, true),
    yearDays: list('BYYEARDAY', 1, 366, true),
    weekNumbers: list('BYWEEKNO', 1, 53, true),
    months: list('BYMONTH', 1, 12),
    positions: list('BYSETPOS', 1, 366, true),
  }
  return isReadable && (days === undefined || weekdays) ? lists : null
}

function readNumbers(text: string, min: number, max: number, isSigned: boolean): number[] | null {
  const numbers: number[] = []
  for (const each of text.split(',')) {
    const number = readNumber(each.trim(), isSigned ? -max : min, max)
    if (number === null || Math.abs(number) < min) return null
    numbers.push(number)
  }
  return unique(numbers)
}

const unique = <T extends number[] | null>(numbers: T): T =>
  (numbers && [...new Set(numbers)].toSorted((a, b) => a - b)) as T

function readNumber(text: string, min: number, max: number): number | null {
  const number = NUMBER.test(text) ? Number(text) : Number.NaN
  return number >= min && number <= max ? number : null
}

function readWeekdays(text: string): NthWeekday[] | null {
  const found = new Map<string, NthWeekday>()
  for (const each of text.split(',')) {
    const [, nth, name = ''] = WEEKDAY.exec(each.trim()) ?? []
    const weekday = { weekday: WEEKDAYS.indexOf(name), nth: Number(nth ?? 0) }
    if (weekday.weekday === -1 || (nth !== undefined && weekday.nth === 0) || Math.abs(weekday.nth) > 53)
      return null
    found.set(`${weekday.nth} ${name}`, weekday)
  }
  return [...found.values()]
}
