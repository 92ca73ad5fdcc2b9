import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { DAY_MS, requireWall } from '../wall-clock.ts'
import { expand } from './expand.ts'
import { findHits } from './hits.ts'
import { shiftSeries } from './shift-series.ts'
import { shiftWall } from './shift-rule.ts'
import type { Series } from './split-series.ts'

const RUNS = Number(process.env['SHIFT_RUNS'] ?? 150)
const BERLIN = 'Europe/Berlin'
const at = (wall: string, zone: string | null = BERLIN) => ({ wall, zone })
const START = at('20260105T090000')
const series = (line: string, start = START, others: string[] = []): Series => ({
  start,
  lines: [line, ...others],
  taken: [],
})
const ruleOf = (moved: Series | null) => moved?.lines[0]?.replace('RRULE:', '')

describe('a series that moves', () => {
  test.each([
    ['keeps a rule without days', 'FREQ=DAILY;COUNT=5', '20260106T100000', 'FREQ=DAILY;COUNT=5'],
    ['moves its days of the week', 'FREQ=WEEKLY;BYDAY=MO,SA', '20260106T090000', 'FREQ=WEEKLY;BYDAY=TU,SU'],
    [
      'keeps the days of a week together',
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU',
      '20260106T090000',
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,MO;WKST=TU',
    ],
    [
      'moves its UNTIL',
      'FREQ=DAILY;UNTIL=20260401T070000Z',
      '20260105T103000',
      'FREQ=DAILY;UNTIL=20260401T083000Z',
    ],
    [
      'moves an UNTIL that is a day',
      'FREQ=DAILY;UNTIL=20260401',
      '20260106T090000',
      'FREQ=DAILY;UNTIL=20260402T215959Z',
    ],
    ['moves a day of the month', 'FREQ=MONTHLY;BYMONTHDAY=5', '20260107T090000', 'FREQ=MONTHLY;BYMONTHDAY=7'],
    ['moves its place in the month', 'FREQ=MONTHLY;BYDAY=1MO', '20260113T090000', 'FREQ=MONTHLY;BYDAY=2TU'],
    [
      'moves its date in the year',
      'FREQ=YEARLY;BYMONTH=1;BYMONTHDAY=5',
      '20260203T090000',
      'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=3',
    ],
    ['moves its hours', 'FREQ=DAILY;BYHOUR=9,17', '20260105T110000', 'FREQ=DAILY;BYHOUR=11,19'],
    ['keeps a rule that it cannot read', 'FREQ=FORTNIGHTLY', '20260106T090000', 'FREQ=FORTNIGHTLY'],
  ])('%s', (_, rule, start, moved) => {
    expect(ruleOf(shiftSeries(series(`RRULE:${rule}`), at(start)))).toBe(moved)
  })

  test('becomes a series of days, and one of times', () => {
    const times = series('RRULE:FREQ=DAILY;BYHOUR=9;UNTIL=20260401T070000Z')
    const days = shiftSeries({ ...times, taken: ['20260107T090000'] }, at('20260106', null))
    expect(days).toMatchObject({
      start: at('20260106', null),
      lines: ['RRULE:FREQ=DAILY;UNTIL=20260402'],
      taken: ['20260108'],
    })
    const again = shiftSeries(days!, at('20260105T120000', 'America/New_York'))
    expect(again?.lines).toEqual(['RRULE:FREQ=DAILY;UNTIL=20260401T160000Z'])
    expect(again?.taken).toEqual(['20260107T120000'])
  })

  test('writes its RDATEs in the new zone', () => {
    const dates = ['RDATE;TZID=Europe/London:20260107T080000', 'RDATE;VALUE=PERIOD:20260108T080000Z/PT30M']
    const moved = shiftSeries(series('RRULE:FREQ=WEEKLY', START, dates), at('20260105T100000', 'UTC'))
    expect(moved?.lines.slice(1)).toEqual([
      'RDATE:20260107T100000Z',
      'RDATE;VALUE=PERIOD:20260108T100000Z/20260108T103000Z',
    ])
  })

  test('keeps RDATEs that cannot be read, and reads zones of the file', () => {
    const dates = ['RDATE;TZID=Ours:20260107T080000,soon', 'RDATE:later']
    const zoneOf = (tzid: string) => (tzid === 'Ours' ? 'Europe/London' : null)
    const moved = shiftSeries(series('RRULE:FREQ=WEEKLY', START, dates), at('20260105T100000'), { zoneOf })
    expect(moved?.lines.slice(1)).toEqual([
      'RDATE;TZID=Europe/Berlin:20260107T100000',
      'RDATE;TZID=Ours:soon',
      'RDATE:later',
    ])
    const many = Array.from({ length: 10_001 }, () => '20260107T080000').join(',')
    expect(shiftSeries(series('RRULE:FREQ=WEEKLY', START, [`RDATE:${many}`]), at('20260106'))).toBeNull()
  })

  test.each([
    ['a list of days of the month leaves the month', 'FREQ=MONTHLY;BYMONTHDAY=1,5', '20260102T090000'],
    ['its hours leave the day', 'FREQ=DAILY;BYHOUR=9,23', '20260105T110000'],
  ])('is none where %s', (_, rule, start) => {
    expect(shiftSeries(series(`RRULE:${rule}`), at(start))).toBeNull()
  })

  test.each([
    ['-1FR', 'the fourth Thursday', '20270128', 'FREQ=MONTHLY;BYDAY=4TH;COUNT=6', '20270129'],
    ['1SA', 'the last Friday', '20260731', 'FREQ=MONTHLY;BYDAY=-1FR;COUNT=6', '20260801'],
    ['-1SU', 'the first Monday', '20270201', 'FREQ=MONTHLY;BYDAY=1MO', '20270131'],
    ['1MO', 'the last Sunday of a month', '20290325', 'FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU', '20290326', '-1MO'],
    ['3TU', 'two weekdays', '20261214', 'FREQ=MONTHLY;BYDAY=1MO,2MO', '20261215', '2TU,3TU'],
    ['WE', 'one weekday by its place', '20261214', 'FREQ=MONTHLY;BYDAY=MO;BYSETPOS=2', '20261216', 'WE'],
  ])('%s follows %s', (day, _, start, rule, next, byDay = day) => {
    const whole = series(`RRULE:${rule}`, at(`${start}T090000`))
    expect(ruleOf(shiftSeries(whole, at(`${next}T090000`)))).toContain(`BYDAY=${byDay}`)
  })

  test.each([
    ['FREQ=MONTHLY', '20270301', '20270228', 'FREQ=MONTHLY;BYMONTHDAY=-1'],
    ['FREQ=MONTHLY;BYMONTHDAY=-1', '20270131', '20270202', 'FREQ=MONTHLY;BYMONTHDAY=2'],
    ['FREQ=MONTHLY;BYMONTHDAY=15', '20261215', '20270102', 'FREQ=MONTHLY;BYMONTHDAY=2'],
    ['FREQ=MONTHLY', '20270128', '20270127', 'FREQ=MONTHLY'],
    ['FREQ=MONTHLY', '20270128', '20270129', undefined],
  ])('a day of the month follows into another: %s of %s to %s', (rule, start, next, moved) => {
    const whole = series(`RRULE:${rule}`, at(`${start}T090000`))
    expect(ruleOf(shiftSeries(whole, at(`${next}T090000`)))).toBe(moved)
  })

  test.each([
    ['2MO', '20270510T070000Z', '20261215', '3TU', '20270518T070000Z'],
    ['2MO', '20270308T080000Z', '20261210', '2TH', '20270311T080000Z'],
    ['-3MO', '20270510T070000Z', '20261216', '-3WE', '20270414T070000Z'],
  ])('keeps its last member: %s until %s', (day, until, next, moved, end) => {
    const whole = series(`RRULE:FREQ=MONTHLY;BYDAY=${day};UNTIL=${until}`, at('20261214T090000'))
    expect(ruleOf(shiftSeries(whole, at(`${next}T090000`)))).toBe(`FREQ=MONTHLY;BYDAY=${moved};UNTIL=${end}`)
  })

  test.each([
    ['FREQ=MONTHLY;BYMONTHDAY=15', 'FREQ=MONTHLY;BYMONTHDAY=16'],
    ['FREQ=MONTHLY;BYDAY=2MO', 'FREQ=MONTHLY;BYDAY=2TU'],
    ['FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=5', 'FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=6'],
    ['FREQ=MONTHLY;BYMONTHDAY=31', undefined],
  ])('does not take its days from a start that it does not give: %s', (rule, moved) => {
    const whole = series(`RRULE:${rule}`, at('20261201T090000'))
    expect(ruleOf(shiftSeries(whole, at('20261202T090000')))).toBe(moved)
  })

  test.each([
    ['FREQ=DAILY;BYHOUR=9,15;COUNT=6', '20260105', null],
    ['FREQ=MONTHLY;BYMONTHDAY=5;UNTIL=20260405T060000Z', '20260105', null],
    ['FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=3', '20260106T090000', BERLIN],
    ['FREQ=MONTHLY;BYMONTHDAY=31', '20260130T090000', BERLIN],
  ])('is none if members would differ: %s', (rule, next, zone) => {
    const from = rule.endsWith('=31') ? at('20260131T090000') : START
    const moved = shiftSeries(series(`RRULE:${rule}`, from), at(next, zone))
    expect(ruleOf(moved)).toBe(
      rule.includes('UNTIL') ? 'FREQ=MONTHLY;BYMONTHDAY=5;UNTIL=20260305' : undefined,
    )
  })
})

/** Rules of all kinds, whether their start is one of their members or not. */
const rules = fc
  .record({
    days: fc.constantFrom(
      'DAILY',
      'DAILY;BYDAY=MO,TU,WE,TH,FR',
      'DAILY;BYHOUR=9,12',
      'DAILY;BYMONTH=1,2',
      'WEEKLY',
      'WEEKLY;BYDAY=MO,TH',
      'WEEKLY;BYDAY=MO,WE,SU;WKST=SU',
      'WEEKLY;BYDAY=MO,FR;BYSETPOS=-1',
      'MONTHLY',
      'MONTHLY;BYMONTHDAY=5,9',
      'MONTHLY;BYMONTHDAY=28',
      'MONTHLY;BYMONTHDAY=-1',
      'MONTHLY;BYDAY=1MO',
      'MONTHLY;BYDAY=4TH',
      'MONTHLY;BYDAY=-1FR',
      'MONTHLY;BYDAY=2TU,4TU',
      'MONTHLY;BYDAY=MO;BYSETPOS=2',
      'MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1',
      'MONTHLY;BYDAY=FR;BYMONTHDAY=13',
      'MONTHLY;BYMONTH=1,4,7,10',
      'YEARLY',
      'YEARLY;BYMONTH=3;BYDAY=-1SU',
      'YEARLY;BYMONTH=12;BYMONTHDAY=31',
      'YEARLY;BYDAY=20MO',
      'YEARLY;BYYEARDAY=100',
      'YEARLY;BYWEEKNO=20',
    ),
    interval: fc.constantFrom('', '', ';INTERVAL=2', ';INTERVAL=3'),
    end: fc.constantFrom('', ';COUNT=7', ';UNTIL=20291015T070000Z', ';UNTIL=20290301'),
  })
  .map(({ days, interval, end }) => `FREQ=${days}${interval}${end}`)

test('each member moves by the difference of the starts, or the nth becomes the nth, or the rule is none', () => {
  const given = fc.record({
    rule: rules,
    first: fc.integer({ min: 0, max: 800 }),
    // A start that the rule gives, if there is one.
    isGiven: fc.boolean(),
    days: fc.oneof(fc.integer({ min: -4, max: 4 }), fc.integer({ min: -40, max: 40 })),
    hours: fc.integer({ min: -8, max: 8 }),
    zone: fc.constantFrom(BERLIN, 'America/New_York', 'UTC', null),
  })
  const wallOf = (time: number) => new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
  // Every rule with an end has ended by then, wherever it has moved.
  const membersOf = ({ start, lines }: Series, from: string) =>
    expand({ start, lines, from, to: '20600101' }).members.map(({ wall }) => wall)
  let moves = 0
  fc.assert(
    fc.property(given, ({ rule, first, isGiven, days, hours, zone }) => {
      const early = at(wallOf(requireWall(START.wall) + first * DAY_MS))
      const line = `RRULE:${rule}`
      const [, next] = membersOf(series(line, early), early.wall)
      const start = isGiven && next !== undefined ? at(next) : early
      const to = wallOf(requireWall(start.wall) + days * DAY_MS + hours * 3_600_000)
      const whole = series(line, start)
      const moved = shiftSeries(whole, zone === null ? at(to.slice(0, 8), null) : at(to, zone))
      if (!moved) return
      moves++
      const [before, after] = [membersOf(whole, start.wall), membersOf(moved, moved.start.wall)]
      const isEndless = !/COUNT|UNTIL/.test(rule)
      const shared = isEndless ? before.filter(wall => wall < '2044') : before
      if (!isEndless) expect(after).toHaveLength(before.length)
      expect(after[0]).toBe(moved.start.wall)
      const expected = shared.map(member => shiftWall(member, { from: start, to: moved.start }))
      if (moved.isExact) expect(after.slice(0, shared.length)).toEqual(expected)
      else expect(rule).toMatch(/MONTHLY|YEARLY/)
      for (const [nth, wall] of expected.entries())
        expect(Math.abs(requireWall(after[nth]!) - requireWall(wall)) / DAY_MS).toBeLessThanOrEqual(14)
    }),
    { numRuns: RUNS },
  )
  expect(moves).toBeGreaterThan(RUNS / 3)
})

test('members that a series gives are found one by one where it has too many', () => {
  const hourly = { start: START, lines: ['RRULE:FREQ=HOURLY'] }
  const asked = ['20260105T100000', '20260105T103000', '20290105', '20290105T100000', '20250101']
  expect([...findHits(hourly, asked)]).toEqual(['20260105T100000', '20290105', '20290105T100000'])
  expect([
    ...findHits({ start: START, lines: ['RRULE:FREQ=DAILY;COUNT=2'] }, ['20260106', '20260107']),
  ]).toEqual(['20260106'])
})
