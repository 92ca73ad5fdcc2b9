import { Temporal } from 'temporal-polyfill'
import { describe, expect, test } from 'vitest'
import fc from '../../../test/property.ts'
import { DAY_MS, printWall, requireWall } from '../wall-clock.ts'
import { ZONE_DATA_RELEASE } from './iana-zone.ts'
import { nameOwnZone, requireOwnTable } from './own-zone.ts'
import { offsetAt } from './transitions.ts'
import { isZone, presentZone, requireTransitions, toInstant, toWall } from './zones.ts'

const ZONES = Intl.supportedValuesOf('timeZone')
const MINUTE_MS = 60_000
const iso = (instant: number) => new Date(instant).toISOString().replace('.000Z', 'Z')

describe('toInstant', () => {
  test.each([
    ['a gap moves forward', '20260329T023000', 'Europe/Berlin', '2026-03-29T01:30:00Z'],
    ['a fold is the first', '20261025T023000', 'Europe/Berlin', '2026-10-25T00:30:00Z'],
    ['the second before a gap', '20260329T015959', 'Europe/Berlin', '2026-03-29T00:59:59Z'],
    ['the end of a gap', '20260329T030000', 'Europe/Berlin', '2026-03-29T01:00:00Z'],
    ['the end of a fold', '20261025T030000', 'Europe/Berlin', '2026-10-25T02:00:00Z'],
    ['a gap of half an hour', '20261004T021500', 'Australia/Lord_Howe', '2026-10-03T15:45:00Z'],
    ['a day that was left out', '20111230T120000', 'Pacific/Apia', '2011-12-30T22:00:00Z'],
    ['a midnight that does not exist', '20260424', 'Africa/Cairo', '2026-04-23T22:00:00Z'],
    ['an alias', '20260701T120000', 'US/Eastern', '2026-07-01T16:00:00Z'],
    ['a time before 1970', '19450815T120000', 'Europe/Berlin', '1945-08-15T09:00:00Z'],
    ['a time after 2100', '25000701T120000', 'Europe/Berlin', '2500-07-01T10:00:00Z'],
    ['a leap second', '20161231T235960', 'UTC', '2016-12-31T23:59:59Z'],
  ])('converts %s', (_, wall, zone, expected) => {
    expect(iso(toInstant(wall, zone))).toBe(expected)
  })

  test.each([
    ['20260230T000000', 'UTC'],
    ['20261301', 'UTC'],
    ['20260101T240000', 'UTC'],
    ['20260101T120000Z', 'UTC'],
    ['', 'UTC'],
    ['20260101', 'Europe/Nowhere'],
    ['20260101', 'europe/berlin'],
    ['20260101', '+01:00'],
    ['20260101', 'own:0;1:1'],
    ['20260101', 'own:'],
  ])('refuses %s in %s', (wall, zone) => {
    expect(() => toInstant(wall, zone)).toThrow(RangeError)
  })

  test('converts as Temporal around each transition of each zone from 2020 to 2040', () => {
    const start = Date.UTC(2020, 0)
    const end = Date.UTC(2041, 0)
    const differing: string[] = []
    let count = 0
    for (const zone of ZONES) {
      let time: Temporal.ZonedDateTime | null =
        Temporal.Instant.fromEpochMilliseconds(start).toZonedDateTimeISO(zone)
      while ((time = time.getTimeZoneTransition('next')) && time.epochMilliseconds < end) {
        count++
        const wallTime = time.epochMilliseconds + time.offsetNanoseconds / 1e6
        for (const minutes of [-121, -61, -60, -30, -1, 0, 1, 30, 60]) {
          const wall = printWall(wallTime + minutes * MINUTE_MS)
          const expected = Temporal.PlainDateTime.from(wall).toZonedDateTime(zone).epochMilliseconds
          if (toInstant(wall, zone) !== expected) differing.push(`${wall} ${zone}`)
        }
      }
    }
    expect(differing).toEqual([])
    expect(count).toBeGreaterThan(3000)
  })
})

describe('toWall', () => {
  test('has the offset of Intl on every third day from 2020 to 2040 in each zone', () => {
    const differing: string[] = []
    for (const zone of ZONES) {
      const table = requireTransitions(zone)
      const format = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        timeZoneName: 'longOffset',
        day: 'numeric',
      })
      for (let instant = Date.UTC(2020, 0); instant < Date.UTC(2041, 0); instant += DAY_MS * 3) {
        const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(instant))!
        const offset = sign ? Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS : 0
        if (offsetAt(table, instant) !== offset) differing.push(`${iso(instant)} ${zone}`)
      }
    }
    expect(differing).toEqual([])
  })

  test('is undone by toInstant outside of gaps', () => {
    const minutes = fc.integer({ min: Date.UTC(1970, 1) / MINUTE_MS, max: Date.UTC(2105, 0) / MINUTE_MS })
    fc.assert(
      fc.property(
        fc.constantFrom('Europe/Berlin', 'America/St_Johns', 'Asia/Tehran'),
        minutes,
        (zone, minute) => {
          const wall = toWall(minute * MINUTE_MS, zone)
          const instant = toInstant(wall, zone)
          expect(instant).toBeLessThanOrEqual(minute * MINUTE_MS)
          expect(toWall(instant, zone)).toBe(wall)
        },
      ),
    )
  })
})

describe('isZone', () => {
  test.each([
    'Europe/Berlin',
    'UTC',
    'US/Eastern',
    'Asia/Calcutta',
    'Asia/Kolkata',
    'Europe/Kyiv',
    'EST5EDT',
    'Etc/GMT+5',
  ])('accepts %s', name => expect(isZone(name)).toBe(true))
  test.each([
    'europe/berlin',
    'utc',
    'AST',
    'SystemV/EST5EDT',
    '+01:00',
    'Z',
    'W. Europe Standard Time',
    'own:0;',
    '',
    'x'.repeat(1000),
  ])('refuses %s', name => expect(isZone(name)).toBe(false))
  test('accepts each name of Intl', () => expect(ZONES.filter(name => !isZone(name))).toEqual([]))
})

describe('an own zone', () => {
  test('converts like the zone whose transitions it carries', () => {
    const { at, offsets } = requireTransitions('America/St_Johns')
    const zone = nameOwnZone({ at, offsets })!
    expect(requireOwnTable(zone)).toEqual({ at, offsets })
    expect(presentZone(zone)).toBeNull()
    for (const wall of ['20260308T023000', '20261101T010000', '20260701T120000'])
      expect(toInstant(wall, zone)).toBe(toInstant(wall, 'America/St_Johns'))
    const instant = Date.UTC(2026, 6, 1)
    expect(toWall(instant, zone)).toBe(toWall(instant, 'America/St_Johns'))
  })

  test('has a bounded reference', () => {
    const at = Array.from({ length: 401 }, (_, index) => index * DAY_MS)
    expect(nameOwnZone({ at, offsets: [0, ...at.map(() => 3_600_000)] })).toBeNull()
    expect(nameOwnZone({ at: [], offsets: [2 * DAY_MS] })).toBeNull()
    const longest = ZONES.map(zone => nameOwnZone(requireTransitions(zone))!.length)
    expect(Math.max(...longest)).toBeLessThan(4000)
  })
})

test('wall clocks of all years are printed as they were read', () => {
  for (const wall of ['00000101T000000', '00040229T000000', '00991231T235959', '99991231T235959'])
    expect(printWall(requireWall(wall))).toBe(wall)
  expect(() => printWall(Date.UTC(10_000, 0))).toThrow(RangeError)
})

test('the zone data has a release', () => expect(ZONE_DATA_RELEASE).toMatch(/^\d{4}[a-z]+$/))
