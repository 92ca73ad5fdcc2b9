import { type ContentLine, parameterOf, readLine } from '../content-lines/content-line.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../wall-clock.ts'
import { readDuration, readTime } from '../written-time.ts'
import { findNamedZone } from '../zones/named-zone.ts'
import { isZone, toInstant, toWall } from '../zones/zones.ts'
import type { Expansion, Member } from './expand.ts'
import { type SeriesStart, toMember } from './member.ts'
import { type Frequency, readParts, readRule, type Rule } from './rule.ts'
import type { SeriesMembers } from './series.ts'
import { isWithin, readUntil } from './until.ts'
import { MEMBERS_MAX, PERIODS_MAX, walkRule } from './walk-rule.ts'

/*
 * Recurrence as callers give it, which is read strictly: what a reader would pass over or guess is refused, so that no series
 * is stored that another program reads in another way.
 */

/** The recurrence of a series as it is written. */
export interface CheckedRecurrence {
  /** The value of its RRULE, with an UNTIL of the type that its start requires (RFC 5545 section 3.3.10). */
  rule: string
  /** Members that RDATEs add, with the ends of those that have their own. */
  dates: readonly Member[]
  /** Members that EXDATEs take. */
  taken: readonly string[]
}

/** The reason for which recurrence is refused. */
export interface RecurrenceProblem {
  /** The line that is wrong; null if it is the recurrence as a whole. */
  line: number | null
  /** A sentence. */
  reason: string
}

class Refused extends Error {}

const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  RRULE: [],
  RDATE: ['VALUE', 'TZID'],
  EXDATE: ['VALUE', 'TZID'],
}
const PARTS: ReadonlySet<string> = new Set(
  [
    'FREQ UNTIL COUNT INTERVAL BYSECOND BYMINUTE BYHOUR BYDAY',
    'BYMONTHDAY BYYEARDAY BYWEEKNO BYMONTH BYSETPOS WKST',
  ].flatMap(names => names.split(' ')),
)
const OF_DAYS: ReadonlySet<string> = new Set(['BYSECOND', 'BYMINUTE', 'BYHOUR'])
/** Frequencies with which a part may not occur (RFC 5545 section 3.3.10). */
const EXCLUDED: Readonly<Record<string, readonly Frequency[]>> = {
  BYMONTHDAY: ['WEEKLY'],
  BYYEARDAY: ['DAILY', 'WEEKLY', 'MONTHLY'],
  BYWEEKNO: ['MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY'],
}
const VALUES_MAX = 10_000

/**
 * Checks recurrence of an event that a caller gives: one RRULE, and any RDATEs and EXDATEs. Values without a zone are in that of the
 * start, as is an UNTIL that is a day or a local time.
 * @param start of a series: a day, or a time in an IANA zone
 * @param window the instants up to which the series may have 10,000 members
 * @param expand expands a series, which may take long
 */
export async function checkRecurrence(
  given: readonly string[],
  start: SeriesStart,
  window: { start: Date; end: Date },
  expand: ExpandSeries,
): Promise<CheckedRecurrence | RecurrenceProblem> {
  const read = readRecurrence(given, start)
  if ('reason' in read) return read
  const reason = await findFault(read, start, { window, expand })
  return reason === null ? read : { line: null, reason }
}

/** Expands a series, beside the event loop if it takes long. */
export type ExpandSeries = (expansion: Expansion) => Promise<SeriesMembers>

function readRecurrence(given: readonly string[], start: SeriesStart): CheckedRecurrence | RecurrenceProblem {
  let line: number | null = null
  try {
    const lines: ContentLine[] = []
    for (const [index, text] of given.entries()) {
      line = index
      lines.push(readStrictly(text))
    }
    line = lines.findIndex(({ name }) => name === 'RRULE')
    if (line === -1) {
      line = null
      throw new Refused('Recurrence needs one RRULE.')
    }
    const rule = checkRule(lines[line]!.value, start)
    line = lines.findIndex(({ name }, index) => name === 'RRULE' && index !== line)
    if (line !== -1) throw new Refused('There is more than one RRULE.')
    const dates: Member[] = []
    const taken: string[] = []
    for (const [index, one] of lines.entries()) {
      line = index
      if (one.name === 'RDATE') dates.push(...readDates(one, start))
      if (one.name === 'EXDATE') taken.push(...readTaken(one, start))
      if (dates.length > VALUES_MAX || taken.length > VALUES_MAX)
        throw new Refused(`There are more than ${VALUES_MAX} values.`)
    }
    return { rule, dates, taken }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    return { line, reason: error.message }
  }
}

function readStrictly(text: string): ContentLine {
  const line = readLine(text)
  if (!line || line.group !== null)
    throw new Refused('The line is no content line, such as RRULE:FREQ=DAILY.')
  const allowed = PARAMETERS[line.name]
  if (!allowed) throw new Refused(`${line.name} is not taken here. RRULE, RDATE and EXDATE are.`)
  const names = line.parameters.map(({ name }) => name ?? '')
  const odd = names.find((name, index) => !allowed.includes(name) || names.indexOf(name) !== index)
  if (odd !== undefined)
    throw new Refused(`${line.name} does not take the parameter ${odd || 'without a name'}.`)
  return line
}

/** @returns the rule in upper case, as it is written */
function checkRule(value: string, start: SeriesStart): string {
  const parts = readParts(value)
  const rule = readRule(value)
  if (!parts || !rule || value.trim().endsWith(';')) throw new Refused('The rule is not one of RFC 5545.')
  for (const name of parts.keys()) if (!PARTS.has(name)) throw new Refused(`${name} is no part of a rule.`)
  const { frequency } = rule
  if (frequency === 'SECONDLY' || frequency === 'MINUTELY')
    throw new Refused(`FREQ=${frequency} is not supported. FREQ=HOURLY and slower are.`)
  if (parts.has('COUNT') && parts.has('UNTIL')) throw new Refused('A rule has COUNT or UNTIL, and not both.')
  if (rule.count !== null && rule.count < 1) throw new Refused('COUNT is at least 1.')
  for (const [name, frequencies] of Object.entries(EXCLUDED))
    if (parts.has(name) && frequencies.includes(frequency))
      throw new Refused(`${name} does not occur with FREQ=${frequency}.`)
  checkWeekdays(rule, parts)
  if (rule.positions && ![...parts.keys()].some(name => name.startsWith('BY') && name !== 'BYSETPOS'))
    throw new Refused('BYSETPOS needs another part that begins with BY.')
  const isOfDays = isDay(start.wall)
  if (isOfDays && (frequency === 'HOURLY' || [...parts.keys()].some(name => OF_DAYS.has(name))))
    throw new Refused('A rule of whole days has no hours, minutes or seconds.')
  const written = parts.has('UNTIL')
    ? { ...Object.fromEntries(parts), UNTIL: untilOf(rule.until!, start) }
    : null
  const all = written ? Object.entries(written) : [...parts]
  requireStart(rule, start)
  return all.map(([name, text]) => `${name}=${text.replaceAll(' ', '')}`).join(';')
}

/** A number before a day of the week counts in a month or in a year, and not beside weeks (RFC 5545 section 3.3.10). */
function checkWeekdays({ frequency, weekdays }: Rule, parts: ReadonlyMap<string, string>): void {
  const isCounted = weekdays?.some(({ nth }) => nth !== 0) ?? false
  const mayCount = frequency === 'MONTHLY' || (frequency === 'YEARLY' && !parts.has('BYWEEKNO'))
  if (isCounted && !mayCount)
    throw new Refused('BYDAY has numbers only in months and years without BYWEEKNO.')
}

/** UNTIL in the form that the start requires: a day, or a time in UTC. */
function untilOf(text: string, start: SeriesStart): string {
  const until = readTime(text)
  if (!until || !readUntil(text, start)) throw new Refused('UNTIL is no date or time.')
  if (isDay(start.wall)) {
    if (isDay(until.wall)) return until.wall
    throw new Refused('UNTIL is a date, as the start is one.')
  }
  if (until.isUtc || start.zone === null) return text
  const wall = isDay(until.wall) ? `${until.wall}T235959` : until.wall
  return `${toWall(toInstant(wall, start.zone), 'UTC')}Z`
}

/** A start that its rule does not give is a member to some programs, and none to others. */
function requireStart(rule: Rule, start: SeriesStart): void {
  const time = requireWall(start.wall)
  const next = time + (isDay(start.wall) ? DAY_MS : 1_000)
  const budget = { periods: PERIODS_MAX, members: MEMBERS_MAX }
  const walk = { start: time, from: time, to: next, isStartCounted: true }
  const isGiven = walkRule(rule, walk, budget).members.includes(time)
  const until = rule.until === null ? null : readUntil(rule.until, start)
  const isOver = until !== null && (time >= until.end || !isWithin(until, start.wall, start))
  if (!isGiven || isOver) throw new Refused('The rule does not give the start of the event.')
}

function valuesOf({ value, name }: ContentLine): string[] {
  const values = value.split(',')
  if (values.some(one => one.trim() === '')) throw new Refused(`${name} has an empty value.`)
  return values
}

/** The zone of the values of a line, and their type. */
function checkType(line: ContentLine, start: SeriesStart): void {
  const tzid = parameterOf(line, 'TZID')
  if (tzid !== null && !isZone(tzid)) throw new Refused(`${tzid.slice(0, 100)} is no IANA time zone.`)
  const type = parameterOf(line, 'VALUE')?.toUpperCase() ?? null
  const isOfDays = isDay(start.wall)
  const types = isOfDays ? ['DATE'] : line.name === 'RDATE' ? ['DATE-TIME', 'PERIOD'] : ['DATE-TIME']
  if (type !== null && !types.includes(type))
    throw new Refused(
      `${line.name} has values of the type ${types.join(' or ')}, as the start is ${isOfDays ? 'a date' : 'a time'}.`,
    )
  if (isOfDays && tzid !== null) throw new Refused('Dates have no TZID.')
}

function memberOf(value: string, line: ContentLine, start: SeriesStart): string {
  const time = readTime(value)
  const member = toMember(value, line.parameters, start, findNamedZone)
  if (!time || member === null) throw new Refused(`${value.slice(0, 40)} is no date or time.`)
  if (isDay(time.wall) !== isDay(start.wall))
    throw new Refused(`${value.slice(0, 40)} is not of the type of the start.`)
  if (time.isUtc && parameterOf(line, 'TZID') !== null) throw new Refused('A time in UTC has no TZID.')
  return member
}

function readTaken(line: ContentLine, start: SeriesStart): string[] {
  checkType(line, start)
  return valuesOf(line).map(value => memberOf(value, line, start))
}

function readDates(line: ContentLine, start: SeriesStart): Member[] {
  checkType(line, start)
  const isPeriod = parameterOf(line, 'VALUE')?.toUpperCase() === 'PERIOD'
  return valuesOf(line).map(value => {
    const [first = '', last, ...rest] = value.split('/')
    if (isPeriod !== (last !== undefined) || rest.length > 0)
      throw new Refused(
        'A period is given with VALUE=PERIOD, and with its end or its duration behind a slash.',
      )
    const wall = memberOf(first, line, start)
    return { wall, end: last === undefined ? null : endOf(last, wall, { line, start }) }
  })
}

function endOf(
  text: string,
  wall: string,
  { line, start }: { line: ContentLine; start: SeriesStart },
): string {
  const duration = readDuration(text)
  const end = duration
    ? toWall(
        toInstant(wall, start.zone ?? 'UTC') + duration.days * DAY_MS + duration.milliseconds,
        start.zone ?? 'UTC',
      )
    : memberOf(text, line, start)
  if (requireWall(end) <= requireWall(wall)) throw new Refused('A period ends after it begins.')
  return end
}

/** The reason for which a series is refused: no member is left, or the window has more than may be kept. Null: there is none. */
async function findFault(
  { rule, dates, taken }: CheckedRecurrence,
  start: SeriesStart,
  { window, expand }: { window: { start: Date; end: Date }; expand: ExpandSeries },
): Promise<string | null> {
  const lines = [`RRULE:${rule}`]
  const zone = start.zone ?? 'UTC'
  const [from, to] = [window.start, window.end].map(time => toWall(time.getTime(), zone))
  const within = await expand({ lines, start, from: from!, to: to! })
  if (within.isTruncated || within.members.length + dates.length > MEMBERS_MAX)
    return `The series has more than ${MEMBERS_MAX} occurrences in the time that is kept.`
  if (taken.length === 0) return null
  const isTaken = new Set(taken)
  if (dates.some(({ wall }) => !isTaken.has(wall))) return null
  const print = isDay(start.wall) ? printDay : printWall
  const all = await expand({ lines, start, from: start.wall, to: print(WALL_TIME_END - DAY_MS) })
  const isLeft = all.isTruncated || all.members.some(({ wall }) => !isTaken.has(wall))
  return isLeft ? null : 'No occurrence is left.'
}
