import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { requireWall } from '../wall-clock.ts'
import { expand } from './expand.ts'
import { findHits } from './hits.ts'
import { shiftSeries } from './shift-series.ts'
import { shiftWall } from './shift-rule.ts'
import type { Series } from './split-series.ts'

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
    expect(days).toEqual({
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

  test.each([
    ['a list of days of the month leaves the month', 'FREQ=MONTHLY;BYMONTHDAY=1,5', '20260102T090000'],
    ['its hours leave the day', 'FREQ=DAILY;BYHOUR=9,23', '20260105T110000'],
  ])('is none where %s', (_, rule, start) => {
    expect(shiftSeries(series(`RRULE:${rule}`), at(start))).toBeNull()
  })
})

test('members move by the difference of the starts', () => {
  const given = fc.record({
    rule: fc.constantFrom(
      'FREQ=DAILY;INTERVAL=3;COUNT=20',
      'FREQ=WEEKLY;BYDAY=MO,TH;UNTIL=20260601T070000Z',
      'FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE,SU;COUNT=12',
      'FREQ=WEEKLY;INTERVAL=3;BYDAY=MO,SU;WKST=SU',
      'FREQ=DAILY;BYDAY=MO,TU,WE',
      'FREQ=MONTHLY;BYMONTHDAY=5,9;COUNT=8',
      'FREQ=DAILY;BYHOUR=9,12;UNTIL=20260301',
    ),
    days: fc.integer({ min: -4, max: 15 }),
    hours: fc.integer({ min: -8, max: 8 }),
    zone: fc.constantFrom(BERLIN, 'America/New_York', 'UTC'),
  })
  fc.assert(
    fc.property(given, ({ rule, days, hours, zone }) => {
      const whole = series(`RRULE:${rule}`, START, ['RDATE;TZID=Europe/Berlin:20260110T130000'])
      const wall = new Date(requireWall(START.wall) + (days * 24 + hours) * 3_600_000)
        .toISOString()
        .slice(0, 19)
        .replaceAll(/[-:]/g, '')
      const moved = shiftSeries(whole, at(wall, zone))
      if (!moved) return expect(rule).toMatch(/BYMONTHDAY|BYHOUR/)
      const [before, after] = [whole, moved].map(({ start, lines }) =>
        expand({ start, lines, from: '20200101', to: '20270101' }).members.map(member => member.wall),
      )
      // The end of the range cuts one of them earlier.
      const expected = before!.map(member => shiftWall(member, { from: START, to: moved.start }))
      const isCompared = (member: string) => member < '20261101'
      expect(after!.filter(isCompared)).toEqual(expected.filter(isCompared))
    }),
    { numRuns: 300 },
  )
})

test('members that a series gives are found one by one where it has too many', () => {
  const hourly = { start: START, lines: ['RRULE:FREQ=HOURLY'] }
  const asked = ['20260105T100000', '20260105T103000', '20290105', '20290105T100000', '20250101']
  expect([...findHits(hourly, asked)]).toEqual(['20260105T100000', '20290105', '20290105T100000'])
  expect([
    ...findHits({ start: START, lines: ['RRULE:FREQ=DAILY;COUNT=2'] }, ['20260106', '20260107']),
  ]).toEqual(['20260106'])
})
