import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { expand } from './expand.ts'
import { type Series, splitSeries, truncateSeries } from './split-series.ts'

const BERLIN = 'Europe/Berlin'
const START = { wall: '20260105T090000', zone: BERLIN }
const series = (lines: string[], taken: string[] = [], start: Series['start'] = START): Series => ({
  start,
  lines,
  taken,
})

/** The members of a series without those that are taken. */
function membersOf({ start, lines, taken }: Series, to = '20290101'): string[] {
  const { members, isTruncated } = expand({ start, lines, from: '20200101', to })
  expect(isTruncated).toBe(false)
  return members
    .map(({ wall }) => wall)
    .filter(wall => !taken.includes(wall) && !taken.includes(wall.slice(0, 8)))
}

describe('a split series', () => {
  test.each([
    [
      'has UNTIL in UTC for COUNT',
      ['RRULE:FREQ=WEEKLY;COUNT=10'],
      '20260119T090000',
      ['RRULE:FREQ=WEEKLY;UNTIL=20260112T080000Z'],
      ['RRULE:FREQ=WEEKLY;COUNT=8'],
    ],
    [
      'keeps an UNTIL in its second part',
      ['RRULE:UNTIL=20261231T235959Z;FREQ=DAILY'],
      '20260107T090000',
      ['RRULE:FREQ=DAILY;UNTIL=20260106T080000Z'],
      ['RRULE:UNTIL=20261231T235959Z;FREQ=DAILY'],
    ],
    [
      'leaves a rule as it is that has ended',
      ['RRULE:FREQ=DAILY;COUNT=2', 'RRULE:FREQ=WEEKLY'],
      '20260119T090000',
      ['RRULE:FREQ=DAILY;COUNT=2', 'RRULE:FREQ=WEEKLY;UNTIL=20260112T080000Z'],
      ['RRULE:FREQ=WEEKLY'],
    ],
    [
      'counts a start that its rule does not give',
      ['RRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=4'],
      '20260113T090000',
      ['RRULE:FREQ=WEEKLY;BYDAY=TU;UNTIL=20260106T080000Z'],
      ['RRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=2'],
    ],
    [
      'sends each RDATE to its part',
      ['RRULE:FREQ=WEEKLY;COUNT=3', 'RDATE;TZID=Europe/Berlin:20260107T090000,20260114T090000'],
      '20260112T090000',
      ['RRULE:FREQ=WEEKLY;UNTIL=20260107T080000Z', 'RDATE;TZID=Europe/Berlin:20260107T090000'],
      ['RRULE:FREQ=WEEKLY;COUNT=2', 'RDATE;TZID=Europe/Berlin:20260114T090000'],
    ],
    [
      'is filled where it begins at an RDATE',
      ['RRULE:FREQ=WEEKLY;COUNT=4', 'RDATE:20260107T110000'],
      '20260107T110000',
      ['RRULE:FREQ=WEEKLY;UNTIL=20260105T080000Z'],
      ['RRULE:FREQ=WEEKLY;BYHOUR=9;BYMINUTE=0;BYSECOND=0;BYDAY=MO;COUNT=4'],
    ],
    [
      'stays a series where one member is left',
      ['RRULE:FREQ=WEEKLY;COUNT=2', 'RDATE:20260114T110000'],
      '20260114T110000',
      ['RRULE:FREQ=WEEKLY;COUNT=2'],
      ['RRULE:FREQ=DAILY;COUNT=1'],
    ],
  ])('%s', (_, lines, split, before, after) => {
    const parts = splitSeries(series(lines), split)
    expect(parts?.before.lines).toEqual(before)
    expect(parts?.after).toEqual({ start: { wall: split, zone: BERLIN }, lines: after, taken: [] })
  })

  test('has UNTIL of the type of its start', () => {
    const untilOf = (start: Series['start'], split: string) =>
      truncateSeries(series(['RRULE:FREQ=DAILY'], [], start), split)?.lines[0]
    expect(untilOf({ wall: '20260105', zone: null }, '20260107')).toBe('RRULE:FREQ=DAILY;UNTIL=20260106')
    expect(untilOf({ wall: '20260105T090000', zone: null }, '20260107T090000')).toBe(
      'RRULE:FREQ=DAILY;UNTIL=20260106T090000',
    )
    expect(untilOf({ wall: '20260105T090000', zone: 'UTC' }, '20260107T090000')).toBe(
      'RRULE:FREQ=DAILY;UNTIL=20260106T090000Z',
    )
  })

  test('takes members of both parts by days', () => {
    const taken = ['20260106T090000', '20260108', '20260109T090000']
    const parts = splitSeries(series(['RRULE:FREQ=DAILY;BYHOUR=9,15'], taken), '20260108T150000')
    expect(parts?.before.taken).toEqual(['20260106T090000', '20260108'])
    expect(parts?.after.taken).toEqual(['20260108', '20260109T090000'])
  })

  test('takes a member from its first part that no UNTIL excludes', () => {
    const night = { wall: '20260329T013000', zone: BERLIN }
    const whole = series(['RRULE:FREQ=HOURLY;COUNT=6'], [], night)
    const parts = splitSeries(whole, '20260329T033000')
    expect(parts?.before.taken).toEqual(['20260329T033000'])
    expect([...membersOf(parts!.before), ...membersOf(parts!.after)]).toEqual(membersOf(whole))
  })

  test.each([
    ['at its start', ['RRULE:FREQ=DAILY'], '20260105T090000'],
    ['at a time that is no member', ['RRULE:FREQ=DAILY'], '20260107T100000'],
    [
      'at an RDATE between the periods of a rule',
      ['RRULE:FREQ=WEEKLY;INTERVAL=2', 'RDATE:20260112T090000'],
      '20260112T090000',
    ],
    [
      'at an RDATE years before the next member of a rule',
      ['RRULE:FREQ=YEARLY;INTERVAL=10', 'RDATE;TZID=Europe/Berlin:20270301T090000'],
      '20270301T090000',
    ],
  ])('is none %s', (_, lines, split) => {
    expect(splitSeries(series(lines), split)).toBeNull()
  })
})

test('a series does not begin at a time that clocks skip', () => {
  const night = { wall: '20260301T023000', zone: BERLIN }
  const daily = series(['RRULE:FREQ=DAILY;COUNT=60'], [], night)
  expect(splitSeries(daily, '20260329T023000')).toBeNull()
  expect(truncateSeries(daily, '20260329T023000')?.lines).toEqual(['RRULE:FREQ=DAILY;UNTIL=20260328T013000Z'])
  expect(splitSeries(daily, '20260330T023000')).not.toBeNull()
})

const rules = fc
  .record({
    frequency: fc.constantFrom('DAILY', 'WEEKLY', 'MONTHLY', 'YEARLY'),
    interval: fc.integer({ min: 1, max: 3 }),
    end: fc.constantFrom('', ';COUNT=9', ';COUNT=2', ';UNTIL=20261015T070000Z'),
    by: fc.constantFrom(
      '',
      ';BYDAY=MO,TH',
      ';BYMONTH=1,6',
      ';BYDAY=MO,TU,WE;BYSETPOS=-1;BYMONTH=1,2,3,4',
      ';BYHOUR=9,17',
    ),
    week: fc.constantFrom('', ';WKST=SU'),
  })
  .map(
    ({ frequency, interval, end, by, week }) =>
      `RRULE:FREQ=${frequency};INTERVAL=${interval}${by}${week}${end}`,
  )
const walls = fc
  .tuple(fc.integer({ min: 5, max: 28 }), fc.constantFrom('01', '02', '03'), fc.constantFrom('09', '11'))
  .map(([day, month, hour]) => `2026${month}${String(day).padStart(2, '0')}T${hour}0000`)

test('the parts of a split series have its members between them', () => {
  const given = fc.record({
    rules: fc.array(rules, { minLength: 1, maxLength: 2 }),
    dates: fc.array(walls, { maxLength: 3 }),
    taken: fc.array(walls, { maxLength: 3 }),
    at: fc.nat(20),
  })
  let splits = 0
  fc.assert(
    fc.property(given, ({ rules: lines, dates, taken, at }) => {
      const whole = series([...lines, ...dates.map(date => `RDATE;TZID=${BERLIN}:${date}`)], taken)
      const all = membersOf(whole)
      const split = all[1 + (at % Math.max(1, all.length - 1))]
      const parts = split === undefined ? null : splitSeries(whole, split)
      if (!parts || split === undefined) return
      splits++
      expect(membersOf(parts.before)).toEqual(all.filter(wall => wall < split))
      expect(membersOf(parts.after)).toEqual(all.filter(wall => wall >= split))
    }),
    { numRuns: 100 },
  )
  expect(splits).toBeGreaterThan(50)
})
