import { describe, expect, test } from 'vitest'
import { checkRecurrence } from './check-recurrence.ts'
import { expandSlowly } from './series.ts'

const window = { start: new Date('2026-08-26T00:00:00Z'), end: new Date('2027-11-24T00:00:00Z') }
/** A Monday. */
const TIMED = { wall: '20261123T090000', zone: 'Europe/Berlin' }
const DAY = { wall: '20261123', zone: null }

const check = (lines: string | string[], start = TIMED as { wall: string; zone: string | null }) =>
  checkRecurrence([lines].flat(), start, window, async expansion => expandSlowly(expansion))

describe('takes', () => {
  test.each([
    ['a rule', 'RRULE:FREQ=DAILY', 'FREQ=DAILY'],
    ['small letters', 'rrule:freq=weekly;byday=mo', 'FREQ=WEEKLY;BYDAY=MO'],
    ['UNTIL in UTC', 'RRULE:FREQ=DAILY;UNTIL=20261201T080000Z', 'FREQ=DAILY;UNTIL=20261201T080000Z'],
    ['UNTIL as a local time', 'RRULE:FREQ=DAILY;UNTIL=20261201T090000', 'FREQ=DAILY;UNTIL=20261201T080000Z'],
    ['UNTIL as a date', 'RRULE:FREQ=DAILY;UNTIL=20261201', 'FREQ=DAILY;UNTIL=20261201T225959Z'],
    ['the last Monday', 'RRULE:FREQ=MONTHLY;BYDAY=4MO;COUNT=3', 'FREQ=MONTHLY;BYDAY=4MO;COUNT=3'],
    ['positions', 'RRULE:FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-3', 'FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-3'],
    ['every hour', 'RRULE:FREQ=HOURLY;COUNT=12', 'FREQ=HOURLY;COUNT=12'],
  ])('%s', async (_, line, rule) => {
    expect(await check(line)).toEqual({ rule, dates: [], taken: [] })
  })

  test('UNTIL of a series of whole days as a date', async () => {
    expect(await check('RRULE:FREQ=DAILY;UNTIL=20261201', DAY)).toMatchObject({
      rule: 'FREQ=DAILY;UNTIL=20261201',
    })
  })

  test.each([
    ['EXDATE:20261124T080000Z', '20261124T090000'],
    ['EXDATE:20261124T090000', '20261124T090000'],
    ['EXDATE;TZID=America/New_York:20261124T030000', '20261124T090000'],
    ['EXDATE;VALUE=DATE-TIME:20261124T090000', '20261124T090000'],
  ])('the deleted member %s', async (line, member) => {
    expect(await check(['RRULE:FREQ=DAILY', line])).toMatchObject({ taken: [member] })
  })

  test('deleted members and more dates of a series of whole days', async () => {
    const lines = ['RRULE:FREQ=DAILY;COUNT=3', 'EXDATE;VALUE=DATE:20261124', 'RDATE:20261130,20261201']
    const dates = ['20261130', '20261201'].map(wall => ({ wall, end: null }))
    expect(await check(lines, DAY)).toEqual({ rule: 'FREQ=DAILY;COUNT=3', dates, taken: ['20261124'] })
  })

  test('periods with their ends or durations', async () => {
    const lines = [
      'RRULE:FREQ=DAILY;COUNT=3',
      'RDATE;VALUE=PERIOD:20261130T080000Z/PT2H,20261201T080000Z/20261201T100000Z',
    ]
    expect(await check(lines)).toMatchObject({
      dates: [
        { wall: '20261130T090000', end: '20261130T110000' },
        { wall: '20261201T090000', end: '20261201T110000' },
      ],
    })
  })
})

describe('refuses', () => {
  const DAILY = 'RRULE:FREQ=DAILY'
  test.each([
    ['nothing', [], null, 'one RRULE'],
    ['dates alone', ['RDATE:20261124T090000'], null, 'one RRULE'],
    ['two rules', [DAILY, 'RRULE:FREQ=WEEKLY'], 1, 'more than one'],
    ['no content line', ['FREQ=DAILY'], 0, 'no content line'],
    ['a group', ['a.RRULE:FREQ=DAILY'], 0, 'no content line'],
    ['DTSTART', [DAILY, 'DTSTART:20261123T090000'], 1, 'DTSTART is not taken'],
    ['EXRULE', [DAILY, 'EXRULE:FREQ=WEEKLY'], 1, 'EXRULE is not taken'],
    ['a parameter of a rule', ['RRULE;X-A=1:FREQ=DAILY'], 0, 'parameter X-A'],
    ['a parameter twice', [DAILY, 'EXDATE;TZID=UTC;TZID=UTC:20261124T080000'], 1, 'parameter TZID'],
    ['no frequency', ['RRULE:INTERVAL=2'], 0, 'not one of RFC 5545'],
    ['an unknown frequency', ['RRULE:FREQ=OFTEN'], 0, 'not one of RFC 5545'],
    ['a part twice', ['RRULE:FREQ=DAILY;FREQ=DAILY'], 0, 'not one of RFC 5545'],
    ['an empty part', ['RRULE:FREQ=DAILY;BYDAY='], 0, 'not one of RFC 5545'],
    ['a last semicolon', ['RRULE:FREQ=DAILY;'], 0, 'not one of RFC 5545'],
    ['an unknown part', ['RRULE:FREQ=DAILY;BYEASTER=0'], 0, 'BYEASTER is no part'],
    ['an interval of 0', ['RRULE:FREQ=DAILY;INTERVAL=0'], 0, 'not one of RFC 5545'],
    ['a count of 0', ['RRULE:FREQ=DAILY;COUNT=0'], 0, 'COUNT is at least 1'],
    ['month 13', ['RRULE:FREQ=YEARLY;BYMONTH=13'], 0, 'not one of RFC 5545'],
    ['COUNT with UNTIL', ['RRULE:FREQ=DAILY;COUNT=2;UNTIL=20261201T080000Z'], 0, 'COUNT or UNTIL'],
    ['a day that does not exist', ['RRULE:FREQ=DAILY;UNTIL=20261301'], 0, 'UNTIL is no date'],
    ['every second', ['RRULE:FREQ=SECONDLY;COUNT=2'], 0, 'FREQ=SECONDLY'],
    ['every minute', ['RRULE:FREQ=MINUTELY;COUNT=2'], 0, 'FREQ=MINUTELY'],
    ['days of months in weeks', ['RRULE:FREQ=WEEKLY;BYMONTHDAY=23'], 0, 'BYMONTHDAY does not occur'],
    ['days of years in months', ['RRULE:FREQ=MONTHLY;BYYEARDAY=327'], 0, 'BYYEARDAY does not occur'],
    ['weeks in months', ['RRULE:FREQ=MONTHLY;BYWEEKNO=48'], 0, 'BYWEEKNO does not occur'],
    ['the second Monday of a week', ['RRULE:FREQ=WEEKLY;BYDAY=2MO'], 0, 'BYDAY has numbers'],
    ['positions of nothing', ['RRULE:FREQ=DAILY;BYSETPOS=1'], 0, 'BYSETPOS needs'],
    ['a start that is not given', ['RRULE:FREQ=WEEKLY;BYDAY=TU'], 0, 'does not give the start'],
    ['an end before the start', ['RRULE:FREQ=DAILY;UNTIL=20261122T080000Z'], 0, 'does not give the start'],
    [
      'an end an hour before the start',
      ['RRULE:FREQ=DAILY;UNTIL=20261123T070000Z'],
      0,
      'does not give the start',
    ],
    ['over 10,000 members', ['RRULE:FREQ=HOURLY;BYMINUTE=0,10,20,30,40,50'], null, 'more than 10000'],
    ['a date on a series of times', [DAILY, 'EXDATE;VALUE=DATE:20261124'], 1, 'type DATE-TIME'],
    ['a bare date on a series of times', [DAILY, 'EXDATE:20261124'], 1, 'not of the type'],
    ['an unknown zone', [DAILY, 'EXDATE;TZID=Europe/Atlantis:20261124T090000'], 1, 'no IANA time zone'],
    ['a zone of Windows', [DAILY, 'EXDATE;TZID=W. Europe Standard Time:20261124T090000'], 1, 'no IANA'],
    ['UTC with a zone', [DAILY, 'EXDATE;TZID=Europe/Berlin:20261124T080000Z'], 1, 'has no TZID'],
    ['no time', [DAILY, 'EXDATE:tomorrow'], 1, 'no date or time'],
    ['an empty value', [DAILY, 'EXDATE:20261124T080000Z,'], 1, 'empty value'],
    ['a period without its type', [DAILY, 'RDATE:20261124T080000Z/PT1H'], 1, 'VALUE=PERIOD'],
    ['a period of EXDATE', [DAILY, 'EXDATE;VALUE=PERIOD:20261124T080000Z/PT1H'], 1, 'type DATE-TIME'],
    ['a period that ends at once', [DAILY, 'RDATE;VALUE=PERIOD:20261124T080000Z/PT0S'], 1, 'ends after'],
    [
      'no member that is left',
      ['RRULE:FREQ=DAILY;COUNT=2', 'EXDATE:20261123T090000,20261124T090000'],
      null,
      'No occurrence is left',
    ],
  ])('%s', async (_, lines, line, reason) => {
    expect(await check(lines)).toEqual({ line, reason: expect.stringContaining(reason) })
  })

  test.each([
    ['hours', ['RRULE:FREQ=HOURLY'], 0, 'no hours'],
    ['times of day', ['RRULE:FREQ=DAILY;BYHOUR=9'], 0, 'no hours'],
    ['an end with a time', ['RRULE:FREQ=DAILY;UNTIL=20261201T080000Z'], 0, 'UNTIL is a date'],
    ['a deleted time', [DAILY, 'EXDATE:20261124T000000'], 1, 'not of the type'],
    ['a zone of dates', [DAILY, 'EXDATE;TZID=Europe/Berlin;VALUE=DATE:20261124'], 1, 'no TZID'],
  ])('%s in a series of whole days', async (_, lines, line, reason) => {
    expect(await check(lines, DAY)).toEqual({ line, reason: expect.stringContaining(reason) })
  })
})
