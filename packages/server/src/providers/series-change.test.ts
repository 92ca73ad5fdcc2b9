import { expect, test } from 'vitest'
import { changeSeries, type SeriesState } from './series-change.ts'

const berlin = (wall: string) => ({ wall, zone: 'Europe/Berlin' })
const WEEKLY: SeriesState = {
  times: { start: berlin('20260105T090000'), end: berlin('20260105T100000') },
  lines: ['RRULE:FREQ=WEEKLY;COUNT=10'],
  taken: ['20260112T090000'],
  exceptions: ['20260119T090000', '20260127T090000'],
}

test('exceptions and taken members move along, even those that hit no member', () => {
  expect(changeSeries(WEEKLY, { start: berlin('20260120T100000') }, '20260119T090000')).toEqual({
    times: { start: berlin('20260106T100000'), end: berlin('20260106T110000') },
    lines: WEEKLY.lines,
    taken: ['20260113T100000'],
    exceptions: new Map([
      ['20260119T090000', '20260120T100000'],
      ['20260127T090000', '20260128T100000'],
    ]),
  })
})

test('a new length leaves all members', () => {
  const changed = changeSeries(WEEKLY, { end: berlin('20260105T113000') })
  expect(changed).toMatchObject({ lines: WEEKLY.lines, taken: WEEKLY.taken })
  expect([...changed!.exceptions.values()]).toEqual(WEEKLY.exceptions)
})

test('a new rule drops those that it does not give, and takes others', () => {
  const recurrence = { rule: 'FREQ=WEEKLY;INTERVAL=2', dates: [], taken: ['20260202T090000'] }
  expect(changeSeries(WEEKLY, { recurrence })).toMatchObject({
    lines: ['RRULE:FREQ=WEEKLY;INTERVAL=2'],
    taken: ['20260202T090000'],
    exceptions: new Map([['20260119T090000', '20260119T090000']]),
  })
})

test('a new zone keeps wall clocks, and drops those that hit no member', () => {
  const start = { wall: '20260105T090000', zone: 'America/New_York' }
  expect(changeSeries(WEEKLY, { start })).toMatchObject({
    times: { start, end: { wall: '20260105T100000', zone: 'America/New_York' } },
    taken: WEEKLY.taken,
    exceptions: new Map([['20260119T090000', '20260119T090000']]),
  })
})

test('the nth member becomes the nth if days of the month move', () => {
  const monthly = {
    ...WEEKLY,
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=1MO'],
    taken: ['20260202T090000'],
    exceptions: [],
  }
  const changed = changeSeries(
    { ...monthly, exceptions: ['20260907T090000'] },
    { start: berlin('20260106T090000') },
  )
  expect(changed).toMatchObject({
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=1TU'],
    taken: ['20260203T090000'],
    exceptions: new Map([['20260907T090000', '20260901T090000']]),
  })
})

test('a series that cannot move is none', () => {
  const monthly = { ...WEEKLY, lines: ['RRULE:FREQ=MONTHLY;BYMONTHDAY=1,5'] }
  expect(changeSeries(monthly, { start: berlin('20260102T090000') })).toBeNull()
})

test('the members of a rule that moves in its own way keep their places', () => {
  const start = berlin('20261214T090000')
  const monthly: SeriesState = {
    times: { start, end: berlin('20261214T100000') },
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=2MO;UNTIL=20270510T070000Z'],
    taken: ['20270412T090000', '20270208'],
    exceptions: ['20270510T090000', '20270301T090000'],
  }
  expect(changeSeries(monthly, { start: berlin('20261215T090000') })).toMatchObject({
    lines: ['RRULE:FREQ=MONTHLY;BYDAY=3TU;UNTIL=20270518T070000Z'],
    taken: ['20270420T090000', '20270216'],
    exceptions: new Map([
      ['20270510T090000', '20270518T090000'],
      ['20270301T090000', '20270302T090000'],
    ]),
  })
})

test('the same change of a member is not made twice', () => {
  const { exceptions: _, ...state } = { ...WEEKLY, lines: ['RRULE:FREQ=WEEKLY;COUNT=3'] }
  const change = { start: berlin('20260120T100000') }
  const made = changeSeries({ ...state, exceptions: [] }, change, '20260119T090000')!
  const again = () =>
    changeSeries({ ...made, exceptions: [...made.exceptions.values()] }, change, '20260119T090000')
  expect(again).toThrow(expect.objectContaining({ kind: 'not_found' }))
  const shorter = { end: berlin('20260112T093000') }
  expect(() => changeSeries(WEEKLY, shorter, '20260112T090000')).toThrow('no longer has')
  expect(changeSeries(WEEKLY, change, '20260127T090000')).not.toBeNull()
  expect(changeSeries(WEEKLY, {}, '20260101T090000')).not.toBeNull()
})
