import { expect, test } from 'vitest'
import {
  occurrenceDays,
  PATTERNS,
  type Recurrence,
  WEEK_INDEXES,
  WEEKDAYS,
} from '../../../../../sandbox/src/microsoft/mailbox/recurrence.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { expand } from '../../../kit/recurrence/expand.ts'
import { DAY_MS, printDay, printWall } from '../../../kit/wall-clock.ts'
import { recurrenceSchema, ruleOf } from './recurrence.ts'

test.each([
  ['9999-12-31', 'UNTIL=99991231T235959Z'],
  ['2026-02-30', null],
  ['tomorrow', null],
])('reads a range that ends on %s', (endDate, until) => {
  const recurrence = recurrenceSchema.parse({
    pattern: { type: 'daily', interval: 1 },
    range: { type: 'endDate', startDate: '2026-01-01', endDate },
  })
  const rule = ruleOf(recurrence, { wall: '20260101T090000', zone: 'America/Los_Angeles' })
  if (until === null) expect(rule).toBeNull()
  else expect(rule).toContain(until)
})

const SERIES = 300
const START = Date.UTC(2026, 0, 1) / DAY_MS
const YEARS = 6

const some = <T>(random: Random, all: readonly T[]): T[] => {
  const chosen = all.filter(() => random.chance(0.4))
  return chosen.length > 0 ? chosen : [random.pick(all)]
}

function randomRecurrence(random: Random): Recurrence {
  const date = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)
  const start = START + random.between(0, 400)
  const type = random.pick(['endDate', 'noEnd', 'numbered'] as const)
  return {
    pattern: {
      type: random.pick(PATTERNS),
      interval: random.between(1, 4),
      month: random.between(1, 12),
      dayOfMonth: random.between(1, 31),
      daysOfWeek: some(random, WEEKDAYS),
      firstDayOfWeek: random.pick(WEEKDAYS),
      index: random.pick(WEEK_INDEXES),
    },
    range: {
      type,
      startDate: date(start),
      endDate: type === 'endDate' ? date(start + random.between(0, 1_000)) : null,
      numberOfOccurrences: type === 'numbered' ? random.between(1, 40) : 0,
      recurrenceTimeZone: 'UTC',
    },
  }
}

test('a rule has the days that Exchange gives the recurrence', () => {
  const random = seeded(11)
  const last = START + YEARS * 365
  let compared = 0
  for (let nth = 0; nth < SERIES; nth += 1) {
    const given = randomRecurrence(random)
    const days = occurrenceDays(given, last)
    const [first] = days
    // Exchange moves the start to the first day of the pattern.
    if (first === undefined) continue
    const isAllDay = random.chance(0.3)
    const print = (day: number) =>
      isAllDay ? printDay(day * DAY_MS) : printWall(day * DAY_MS + 20 * 3_600_000)
    const start = { wall: print(first), zone: isAllDay ? null : 'Europe/Berlin' }
    const rule = ruleOf(recurrenceSchema.parse(given), start)
    const { members } = expand({ lines: [rule!], start, from: print(first), to: print(last + 1) })
    expect(
      members.map(({ wall }) => wall),
      JSON.stringify(given),
    ).toEqual(days.map(print))
    compared += 1
  }
  expect(compared).toBeGreaterThan(SERIES / 2)
})

test.each([
  ['hourly', {}],
  ['weekly', { daysOfWeek: [] }],
  ['weekly', { daysOfWeek: ['someday'] }],
  ['absoluteMonthly', { dayOfMonth: 32 }],
  ['absoluteYearly', { dayOfMonth: 1, month: 13 }],
  ['relativeMonthly', { daysOfWeek: ['monday'], index: 'fifth' }],
])('a recurrence of another form has no rule: %s %j', (type, fields) => {
  const recurrence = recurrenceSchema.parse({
    pattern: { type, interval: 1, ...fields },
    range: { type: 'noEnd' },
  })
  expect(ruleOf(recurrence, { wall: '20261201T090000', zone: 'UTC' })).toBeNull()
})

test('the last day of a range belongs to it, in the zone of the series', () => {
  const range = { type: 'endDate', endDate: '2026-12-03' }
  const recurrence = recurrenceSchema.parse({ pattern: { type: 'daily', interval: 1 }, range })
  const rule = (wall: string, zone: string | null) => ruleOf(recurrence, { wall, zone })
  expect(rule('20261201T230000', 'America/New_York')).toBe(
    'RRULE:FREQ=DAILY;INTERVAL=1;UNTIL=20261204T045959Z',
  )
  expect(rule('20261201', null)).toBe('RRULE:FREQ=DAILY;INTERVAL=1;UNTIL=20261203')
})
