import { describe, expect, test } from 'vitest'
import { expand } from './expand.ts'

const START = { wall: '20260105T090000', zone: 'Europe/Berlin' }
const expanded = (
  lines: string[],
  start: { wall: string; zone: string | null } = START,
  from = '20260101',
  to = '20270101',
) => expand({ lines, start, from, to })
const walls = (...given: Parameters<typeof expanded>) => expanded(...given).members.map(({ wall }) => wall)

describe('the members of a series', () => {
  test('are the rule, the start and RDATEs without what EXRULE gives', () => {
    const lines = [
      'RRULE:FREQ=WEEKLY;BYDAY=TU;COUNT=4',
      'RDATE;TZID=America/New_York:20260108T030000,20260113T030000',
      'EXRULE:FREQ=MONTHLY;BYMONTHDAY=20',
    ]
    expect(walls(lines)).toEqual(['20260105T090000', '20260106T090000', '20260108T090000', '20260113T090000'])
  })

  test('lie from the first wall clock up to the second', () => {
    expect(walls(['RRULE:FREQ=DAILY'], START, '20260601T090000', '20260603T090000')).toEqual([
      '20260601T090000',
      '20260602T090000',
    ])
    expect(walls(['RRULE:FREQ=DAILY;COUNT=150'], START, '20260602', '20260701')).toEqual([
      '20260602T090000',
      '20260603T090000',
    ])
    expect(walls([], START, '20260106')).toEqual([])
  })

  test('exist and count in a gap', () => {
    const night = { wall: '20260328T023000', zone: 'Europe/Berlin' }
    expect(walls(['RRULE:FREQ=DAILY;COUNT=3'], night)).toEqual([
      '20260328T023000',
      '20260329T023000',
      '20260330T023000',
    ])
  })

  test('are days if the start is one', () => {
    const day = { wall: '20260105', zone: null }
    expect(walls(['RRULE:FREQ=WEEKLY;BYHOUR=9,10;COUNT=2'], day)).toEqual(['20260105', '20260112'])
    expect(walls(['RRULE:FREQ=HOURLY'], day)).toEqual(['20260105'])
  })

  test('have the own end of a period', () => {
    const lines = [
      'RDATE;VALUE=PERIOD:20260106T080000Z/PT2H,20260328T090000/P1DT1H,20260107T080000Z/20260107T120000Z',
      'RDATE;VALUE=PERIOD:20260109T080000Z/20260108T080000Z',
    ]
    expect(expanded(lines).members).toEqual([
      { wall: '20260105T090000', end: null },
      { wall: '20260106T090000', end: '20260106T110000' },
      { wall: '20260107T090000', end: '20260107T130000' },
      { wall: '20260109T090000', end: null },
      { wall: '20260328T090000', end: '20260329T100000' },
    ])
  })

  test('take the usual time of the series on a day of RDATE', () => {
    expect(walls(['RDATE;VALUE=DATE:20260109'])).toEqual(['20260105T090000', '20260109T090000'])
  })
})

describe('UNTIL', () => {
  test.each([
    ['in UTC includes its instant', '20260107T080000Z', 3],
    ['in UTC excludes a later member', '20260107T075959Z', 2],
    ['as a local time includes it', '20260107T090000', 3],
    ['as a day includes that local day', '20260107', 3],
    ['at the end of the calendar ends nothing', '99991231T235959Z', 361],
    ['before the start leaves the start', '20250101T000000Z', 1],
  ])('%s', (_, until, count) => {
    expect(walls([`RRULE:FREQ=DAILY;UNTIL=${until}`])).toHaveLength(count)
  })

  test('in UTC counts by its date on a series of days', () => {
    expect(walls(['RRULE:FREQ=DAILY;UNTIL=20260107T230000Z'], { wall: '20260105', zone: null })).toHaveLength(
      3,
    )
  })

  test('in UTC ends a rule within a repeated hour', () => {
    const start = { wall: '20261025T013000', zone: 'Europe/Berlin' }
    // 02:45 occurs at 00:45 UTC; the wall clock of UNTIL is 02:30 for the second time.
    const lines = ['RRULE:FREQ=MINUTELY;INTERVAL=75;UNTIL=20261025T013000Z']
    expect(walls(lines, start)).toEqual(['20261025T013000', '20261025T024500'])
  })
})

describe('a line that cannot be read', () => {
  test.each([
    'RRULE:FREQ=FORTNIGHTLY',
    'RRULE:INTERVAL=2',
    'RRULE:FREQ=DAILY;INTERVAL=0',
    'RRULE:FREQ=DAILY;COUNT=x',
    'RRULE:FREQ=DAILY;UNTIL=soon',
    'RRULE:FREQ=DAILY;UNTIL=20260231',
    'RRULE:FREQ=DAILY;FREQ=WEEKLY',
    'RRULE:FREQ=DAILY;BYMONTH=13',
    'RRULE:FREQ=MONTHLY;BYDAY=0MO',
    'RRULE:FREQ=MONTHLY;BYDAY=XX',
    'RRULE:FREQ=MONTHLY;BYMONTHDAY=0',
    'RRULE:RSCALE=HEBREW;FREQ=YEARLY',
    'RRULE:FREQ=YEARLY;RSCALE=GREGORIAN;SKIP=FORWARD',
    'RRULE',
    'RDATE:soon,20260231',
  ])('gives nothing: %s', line => expect(walls([line])).toEqual(['20260105T090000']))

  test('costs no other line', () => {
    expect(
      walls(['RRULE:FREQ=NEVER', 'RRULE:FREQ=DAILY;COUNT=2', 'RDATE:soon,20260201T090000']),
    ).toHaveLength(3)
  })
})

describe('a hostile series', () => {
  const list = (count: number, print = (number: number) => `${number}`) =>
    Array.from({ length: count }, (_, index) => print(index)).join(',')
  const minutes = list(
    300_000,
    index =>
      new Date(Date.UTC(2026, 0, 6, 0, index)).toISOString().slice(0, 16).replaceAll(/[-:]/g, '') + '00Z',
  )
  const eachSecond = `BYHOUR=${list(24)};BYMINUTE=${list(60)};BYSECOND=${list(60)}`
  const positions = `BYSETPOS=${list(366, index => `${index + 1},-${index + 1}`)}`

  test.each([
    ['a member in each second', ['RRULE:FREQ=SECONDLY'], 10_000],
    ['each second of each day', [`RRULE:FREQ=DAILY;${eachSecond}`], 10_000],
    ['seconds of each day by their positions', [`RRULE:FREQ=DAILY;${eachSecond};${positions}`], 10_000],
    ['a count that is not reached', ['RRULE:FREQ=SECONDLY;COUNT=9000000000'], 10_000],
    ['more dates than are read', [`RDATE:${minutes}`], 10_000],
    ['more rules than are followed', Array.from({ length: 21 }, () => 'RRULE:FREQ=DAILY'), 361],
    ['hours that never come', ['RRULE:FREQ=SECONDLY;INTERVAL=7200;BYHOUR=10;BYSECOND=0'], 1],
    ['days that never come', ['RRULE:FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30'], 1],
  ])('with %s is cut', (name, lines, count) => {
    const to = name.includes('never') ? '99991231' : '20270101'
    const { members, isTruncated } = expanded(lines, START, '20260101', to)
    expect(members).toHaveLength(count)
    expect(isTruncated).toBe(true)
  })

  test('whose year never has its day ends with the calendar', () => {
    const given = expanded(['RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'], START, '20260101', '99991231')
    expect(given).toEqual({ members: [{ wall: '20260105T090000', end: null }], isTruncated: false })
  })

  test('is cut only within what is asked for', () => {
    expect(expanded(['RRULE:FREQ=SECONDLY'], START, '20260105T110000', '20260105T120000')).toMatchObject({
      isTruncated: false,
    })
    expect(walls(['RRULE:FREQ=SECONDLY'], START, '20260105T110000', '20260105T120000')).toHaveLength(3600)
  })
})
