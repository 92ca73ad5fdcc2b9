import { expect, test } from 'vitest'
import {
  occurrenceDays,
  PATTERNS,
  WEEK_INDEXES,
  WEEKDAYS,
} from '../../../../../../sandbox/src/microsoft/mailbox/recurrence.ts'
import { type Random, seeded } from '../../../../../test/seeded.ts'
import { expand } from '../../../../kit/recurrence/expand.ts'
import { splitSeries } from '../../../../kit/recurrence/split-series.ts'
import { DAY_MS, printWall } from '../../../../kit/wall-clock.ts'
import { recurrenceSchema, ruleOf } from '../recurrence.ts'
import { requirePattern } from './patterns.ts'

const SERIES = 100
const START = Date.UTC(2026, 0, 1) / DAY_MS
const LAST = START + 6 * 366

const dateOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)
const wallOf = (day: number) => printWall(day * DAY_MS + 9 * 3_600_000)

function randomRecurrence(random: Random) {
  const start = START + random.between(0, 400)
  const type = random.pick(['endDate', 'noEnd', 'numbered'] as const)
  const some = WEEKDAYS.filter(() => random.chance(0.4))
  return {
    pattern: {
      type: random.pick(PATTERNS),
      interval: random.between(1, 4),
      month: random.between(1, 12),
      dayOfMonth: random.between(1, 31),
      daysOfWeek: some.length > 0 ? some : [random.pick(WEEKDAYS)],
      firstDayOfWeek: random.pick(WEEKDAYS),
      index: random.pick(WEEK_INDEXES),
    },
    range: {
      type,
      startDate: dateOf(start),
      endDate: type === 'endDate' ? dateOf(start + random.between(0, 1_000)) : null,
      numberOfOccurrences: type === 'numbered' ? random.between(1, 40) : 0,
      recurrenceTimeZone: 'UTC',
    },
  }
}

test('every series of Exchange can be written again, as a whole and split', () => {
  const random = seeded(12)
  let [whole, split] = [0, 0]
  for (let nth = 0; nth < SERIES; nth += 1) {
    const given = randomRecurrence(random)
    const days = occurrenceDays(given, LAST)
    // Exchange moves the start to the first day of the pattern.
    if (days[0] === undefined) continue
    const start = { wall: wallOf(days[0]), zone: 'Europe/Berlin' }
    const rule = ruleOf(recurrenceSchema.parse(given), start)!
    const membersOf = (lines: readonly string[], from: typeof start) => {
      const { pattern, range } = requirePattern(lines, from, 'W. Europe Standard Time')
      const written = ruleOf(recurrenceSchema.parse({ pattern, range }), from)!
      const within = { from: from.wall, to: wallOf(LAST + 1) }
      return expand({ lines: [written], start: from, ...within }).members.map(({ wall }) => wall)
    }
    expect(membersOf([rule], start), JSON.stringify(given)).toEqual(days.map(wallOf))
    whole += 1
    if (days.length < 3) continue
    const at = random.between(1, Math.min(days.length - 1, 20))
    const parts = splitSeries({ start, lines: [rule], taken: [] }, wallOf(days[at]!))!
    const [before, after] = [parts.before, parts.after].map(part =>
      membersOf(part.lines, { wall: part.start.wall, zone: 'Europe/Berlin' }),
    )
    expect([before, after], JSON.stringify(given)).toEqual([
      days.slice(0, at).map(wallOf),
      days.slice(at).map(wallOf),
    ])
    split += 1
  }
  expect([whole > SERIES / 2, split > SERIES / 4]).toEqual([true, true])
})
