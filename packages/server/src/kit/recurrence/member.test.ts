import { describe, expect, test } from 'vitest'
import { type ContentLine, readLine } from '../content-lines/content-line.ts'
import { toMember } from './member.ts'

const BERLIN = { wall: '20260105T090000', zone: 'Europe/Berlin' }
const DAY = { wall: '20260105', zone: null }
const FLOATING = { wall: '20260105T090000', zone: null }
const NIGHT = { wall: '20260101T023000', zone: 'Europe/Berlin' }

describe('toMember', () => {
  test.each([
    [
      'a local time in the zone of the series',
      'EXDATE;TZID=Europe/Berlin:20260112T090000',
      BERLIN,
      '20260112T090000',
    ],
    ['a time in UTC', 'EXDATE:20260112T080000Z', BERLIN, '20260112T090000'],
    ['a time in UTC in summer', 'EXDATE:20260706T070000Z', BERLIN, '20260706T090000'],
    ['a time in another zone', 'EXDATE;TZID=America/New_York:20260112T030000', BERLIN, '20260112T090000'],
    [
      'a time in a zone of Windows',
      'EXDATE;TZID="Eastern Standard Time":20260112T030000',
      BERLIN,
      '20260112T090000',
    ],
    [
      'a time behind the path of a vendor',
      'EXDATE;TZID=/example.org/v1/America/New_York:20260112T030000',
      BERLIN,
      '20260112T090000',
    ],
    [
      'a time in a zone that only a definition names',
      'EXDATE;TZID=Our Zone:20260112T090000',
      BERLIN,
      '20260112T090000',
    ],
    ['a time without a zone', 'RECURRENCE-ID:20260112T090000', BERLIN, '20260112T090000'],
    ['a day of a series with times', 'EXDATE;VALUE=DATE:20260112', BERLIN, '20260112'],
    ['a day without its value type', 'EXDATE:20260112', BERLIN, '20260112'],
    ['a day of a series of days', 'EXDATE;VALUE=DATE:20260112', DAY, '20260112'],
    ['a local time on a series of days', 'EXDATE;TZID=Europe/Berlin:20260112T000000', DAY, '20260112'],
    ['midnight in UTC on a series of days', 'EXDATE:20260112T000000Z', DAY, '20260112'],
    ['a local time on a floating series', 'EXDATE:20260112T090000', FLOATING, '20260112T090000'],
    ['a time in UTC on a floating series', 'EXDATE:20260112T090000Z', FLOATING, '20260112T090000'],
    ['a member in a gap, by its instant', 'EXDATE:20260329T013000Z', NIGHT, '20260329T023000'],
    ['a member that occurs twice, by its first instant', 'EXDATE:20261025T003000Z', NIGHT, '20261025T023000'],
    ['a time with an empty zone', 'EXDATE;TZID=:20260112T090000', BERLIN, '20260112T090000'],
    ['the extended form', 'EXDATE:2026-01-12T08:00:00Z', BERLIN, '20260112T090000'],
    ['a day with a time', 'EXDATE;VALUE=DATE:20260112T000000', BERLIN, '20260112'],
    ['lower case', 'EXDATE:20260112t080000z', BERLIN, '20260112T090000'],
    ['spaces', 'EXDATE: 20260112T080000Z ', BERLIN, '20260112T090000'],
    ['a day that does not exist', 'EXDATE:20260231T080000Z', BERLIN, null],
    ['a text', 'EXDATE:tomorrow', BERLIN, null],
    ['an instant beyond the last year', 'EXDATE:99991231T235959Z', BERLIN, null],
  ])('reads %s', (_, text, start, expected) => {
    const { value, parameters }: ContentLine = readLine(text)!
    expect(toMember(value, parameters, start)).toBe(expected)
  })
})
