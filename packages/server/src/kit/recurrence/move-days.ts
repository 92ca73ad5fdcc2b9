import { DAY_MS } from '../wall-clock.ts'
import { describeDay } from './days.ts'
import { WEEKDAYS } from './rule.ts'

/* Parts of a rule that name days, for a series that begins at another day. */

/** Other parts by their names. Null removes a part. */
export type ChangedParts = Record<string, string | null>
type Parts = ReadonlyMap<string, string>

/** The days, counted from 1970, at which a series begins before and after, and whether its rule gives the first one. */
export interface MovedStart {
  from: number
  to: number
  isGiven: boolean
}

/**
 * The changes of parts by which a rule may follow its start, in groups: those of the first one keep more of the kind of the
 * rule. None is certain to follow: the caller compares the members.
 */
export function waysToMoveDays(parts: Parts, start: MovedStart): ChangedParts[][] {
  if (start.from === start.to) return [[{}]]
  const { kept, others } = waysToMoveWeekdays(parts, start)
  const choices = [
    waysToMoveMonths(parts, start),
    waysToMoveMonthDays(parts, start),
    waysToMoveYearDays(parts, start),
    waysToMoveWeeks(parts, start),
  ]
  return [kept, others].map(weekdays =>
    [weekdays, ...choices].reduce<ChangedParts[]>(
      (ways, choice) => ways.flatMap(way => choice.map(changes => ({ ...way, ...changes }))),
      [{}],
    ),
  )
}

/**
 * The most days by which a moved member may be off the difference between the starts, since months, and the days of the
 * week in them, do not lie alike. The rules of weeks and days move exactly.
 */
export function daysOffMax(parts: Parts): number {
  const frequency = parts.get('FREQ')
  if (frequency !== 'MONTHLY' && frequency !== 'YEARLY') return 0
  const weekdays = weekdaysOf(parts)
  if (isPlaced(parts) || weekdays?.some(({ nth }) => nth !== 0)) return weekdays?.length === 1 ? 14 : 7
  return ['BYDAY', 'BYSETPOS', 'BYYEARDAY', 'BYWEEKNO'].some(name => parts.has(name)) ? 0 : 3
}

/** As they are written: `nth` is 0 without a number. */
function weekdaysOf(parts: Parts): Array<{ nth: number; name: string }> | null {
  const days = parts
    .get('BYDAY')
    ?.split(',')
    .map(day => day.trim())
  return days?.map(day => ({ nth: Number(day.slice(0, -2)), name: day.slice(-2) })) ?? null
}

const numbersOf = (parts: Parts, name: string): number[] | null =>
  parts.get(name)?.split(',').map(Number) ?? null

/** Whether days of the week count in the year, and not in the month. */
const isInYear = (parts: Parts): boolean => parts.get('FREQ') === 'YEARLY' && !parts.has('BYMONTH')

/** Whether a rule has its one day of the week by BYSETPOS, as `BYDAY=MO;BYSETPOS=2` for `BYDAY=2MO`. */
function isPlaced(parts: Parts): boolean {
  const isOfPeriod = parts.get('FREQ') === 'MONTHLY' || parts.get('FREQ') === 'YEARLY'
  const others = ['BYMONTHDAY', 'BYYEARDAY', 'BYWEEKNO'].some(name => parts.has(name))
  const weekdays = weekdaysOf(parts)
  const isOne = weekdays?.length === 1 && weekdays[0]!.nth === 0
  return isOfPeriod && isOne && !others && numbersOf(parts, 'BYSETPOS')?.length === 1
}

/** `others` count from the other end of the month. */
function waysToMoveWeekdays(
  parts: Parts,
  { from, to, isGiven }: MovedStart,
): { kept: ChangedParts[]; others: ChangedParts[] } {
  const weekdays = weekdaysOf(parts)
  if (!weekdays) return { kept: [{}], others: [] }
  const placed = isPlaced(parts) ? numbersOf(parts, 'BYSETPOS')! : null
  const numbers = placed ?? weekdays.map(({ nth }) => nth)
  const names = weekdays.map(({ name }) => moveWeekday(name, to - from))
  const print = (nths: readonly number[]): ChangedParts =>
    placed
      ? { BYDAY: names.join(','), BYSETPOS: nths.join(',') }
      : { BYDAY: names.map((name, index) => `${nths[index] || ''}${name}`).join(',') }
  if (numbers.every(number => number === 0) || !isGiven) return { kept: [print(numbers)], others: [] }
  const inYear = isInYear(parts)
  const [before, after] = [placeOf(from, inYear), placeOf(to, inYear)]
  const moved = numbers.map(number => {
    if (number === 0) return 0
    return number > 0 ? number + after.nth - before.nth : number + after.fromEnd - before.fromEnd
  })
  const max = inYear ? 53 : 5
  const isKept = moved.every(
    (number, index) => Math.sign(number) === Math.sign(numbers[index]!) && Math.abs(number) <= max,
  )
  const other = numbers.length === 1 ? [numbers[0]! > 0 ? after.fromEnd : after.nth] : null
  return { kept: isKept ? [print(moved)] : [], others: other ? [print(other)] : [] }
}

/** The place of a day among those with its day of the week, from both ends. */
function placeOf(day: number, inYear: boolean): { nth: number; fromEnd: number } {
  const { year, yearDay, monthDay, monthLength } = describeDay(day)
  const at = inYear ? yearDay : monthDay
  const length = inYear ? describeDay(Date.UTC(year, 11, 31) / DAY_MS).yearDay : monthLength
  return { nth: Math.ceil(at / 7), fromEnd: -Math.ceil((length - at + 1) / 7) }
}

function waysToMoveMonthDays(parts: Parts, start: MovedStart): ChangedParts[] {
  const { from, to, isGiven } = start
  const written = numbersOf(parts, 'BYMONTHDAY')
  // Without any, the day of the start is repeated.
  const given = written ?? (repeatsMonthDay(parts) ? [describeDay(from).monthDay] : null)
  if (!given) return [{}]
  const ways = moveNumbers(given, to - from, 31)
  if (given.length === 1 && isGiven) {
    const [day] = given as [number]
    const { monthDay, monthLength } = describeDay(to)
    // The day before the first one is the last one.
    const moved = day + to - from
    const across = day > 0 ? moved - 1 : moved + 1
    if (Math.sign(across) !== Math.sign(day) && Math.abs(across) <= 31) ways.push([across])
    ways.push([day > 0 ? monthDay : monthDay - monthLength - 1])
  }
  return ways.map((days): ChangedParts => {
    const isOfStart = !written && days[0] === describeDay(to).monthDay
    return isOfStart ? {} : { BYMONTHDAY: days.join(',') }
  })
}

const repeatsMonthDay = (parts: Parts): boolean =>
  parts.get('FREQ') === 'MONTHLY' && !parts.has('BYDAY') && !parts.has('BYYEARDAY') && !parts.has('BYWEEKNO')

function waysToMoveYearDays(parts: Parts, { from, to }: MovedStart): ChangedParts[] {
  const given = numbersOf(parts, 'BYYEARDAY')
  if (!given) return [{}]
  return moveNumbers(given, to - from, 366).map(days => ({ BYYEARDAY: days.join(',') }))
}

/** Days that are later by some others, as long as they stay in their month or year. */
function moveNumbers(given: readonly number[], by: number, max: number): number[][] {
  const moved = given.map(day => day + by)
  const isKept = moved.every(
    (day, index) => Math.sign(day) === Math.sign(given[index]!) && Math.abs(day) <= max,
  )
  return isKept ? [moved] : []
}

function waysToMoveMonths(parts: Parts, { from, to }: MovedStart): ChangedParts[] {
  const given = numbersOf(parts, 'BYMONTH')
  const by = (describeDay(to).month - describeDay(from).month + 12) % 12
  const isOfPeriod = parts.get('FREQ') === 'MONTHLY' || parts.get('FREQ') === 'YEARLY'
  if (!given || by === 0 || !isOfPeriod) return [{}]
  return [{ BYMONTH: given.map(month => ((month - 1 + by) % 12) + 1).join(',') }, {}]
}

/** The days of a week stay in one week. */
function waysToMoveWeeks(parts: Parts, { from, to }: MovedStart): ChangedParts[] {
  const isInWeek = Number(parts.get('INTERVAL') ?? 1) > 1 || parts.has('BYSETPOS')
  if (parts.get('FREQ') !== 'WEEKLY' || !isInWeek) return [{}]
  return [{}, { WKST: moveWeekday(parts.get('WKST') ?? 'MO', to - from) }]
}

function moveWeekday(name: string, by: number): string {
  return WEEKDAYS[(((WEEKDAYS.indexOf(name) + by) % 7) + 7) % 7]!
}
