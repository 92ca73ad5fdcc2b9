import { describe, expect, test } from 'vitest'
import { splitFile } from '../content-lines/content-file.ts'
import { offsetAt } from './transitions.ts'
import { openBudget, type ZoneDefinition } from './vtimezone.ts'
import { findWindowsZone, WORLD_ZONES } from './windows-zone.ts'
import { type NamedZone, zoneOfTzid } from './zone-of-tzid.ts'
import { isZone, requireTransitions, toInstant, toWall } from './zones.ts'

const WINDOW = { start: new Date('2026-09-01T12:00:00Z'), end: new Date('2027-11-29T12:00:00Z') }

interface Rules {
  standard: readonly [from: string, to: string, ...lines: string[]]
  daylight?: readonly [from: string, to: string, ...lines: string[]]
}

function define(lines: readonly string[]): ZoneDefinition {
  const file = splitFile(Buffer.from(['BEGIN:VTIMEZONE', ...lines, 'END:VTIMEZONE', ''].join('\r\n')))
  return { file, component: file.components[0]!, budget: openBudget() }
}

function observances({ standard, daylight }: Rules): string[] {
  const print = (name: string, [from, to, ...lines]: Rules['standard']) => [
    `BEGIN:${name}`,
    `TZOFFSETFROM:${from}`,
    `TZOFFSETTO:${to}`,
    ...lines,
    `END:${name}`,
  ]
  return [...print('STANDARD', standard), ...(daylight ? print('DAYLIGHT', daylight) : [])]
}

const BERLIN = observances({
  standard: ['+0200', '+0100', 'DTSTART:16010101T030000', 'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10'],
  daylight: ['+0100', '+0200', 'DTSTART:16010101T020000', 'RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3'],
})
const FIXED = observances({ standard: ['+0537', '+0537', 'DTSTART:19700101T000000'] })
/** Daylight saving time in no month that another zone has. */
const ODD = observances({
  standard: ['+0230', '+0130', 'DTSTART:20000105T020000', 'RRULE:FREQ=YEARLY;BYMONTH=1;BYDAY=1WE'],
  daylight: ['+0130', '+0230', 'DTSTART:20000607T020000', 'RRULE:FREQ=YEARLY;BYMONTH=6;BYDAY=1WE'],
})

const find = (tzid: string, lines: readonly string[] | null = null, more: Partial<NamedZone> = {}) =>
  zoneOfTzid({ tzid, definition: lines && define(lines), preferred: null, window: WINDOW, ...more })

describe('zoneOfTzid', () => {
  test.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['europe/berlin', 'Europe/Berlin'],
    ['US/Eastern', 'US/Eastern'],
    ['/freeassociation.sourceforge.net/Tzfile/Europe/Berlin', 'Europe/Berlin'],
    ['/mozilla.org/20050126_1/America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
  ])('takes the IANA name in %s, whatever its definition is', (tzid, zone) => {
    expect(find(tzid, FIXED)).toEqual({ zone, by: 'iana' })
  })

  test('takes a Windows name that has no definition, or one that equals it', () => {
    const found = { zone: 'Europe/Berlin', by: 'windows' }
    expect(find('W. Europe Standard Time')).toEqual(found)
    expect(find('w. europe standard time', BERLIN)).toEqual(found)
    expect(find('W. Europe Standard Time', ['X-COMMENT:nothing to read'])).toEqual(found)
  })

  test('takes the definition if it differs from its Windows name', () => {
    expect(find('W. Europe Standard Time', FIXED)).toMatchObject({ by: 'definition' })
    expect(find('Eastern Standard Time', BERLIN, { preferred: 'Europe/Paris' })).toEqual({
      zone: 'Europe/Paris',
      by: 'equal',
    })
  })

  test('takes the location of a definition', () => {
    expect(find('Customized Time Zone', ['X-LIC-LOCATION:Europe/Vienna', ...FIXED])).toEqual({
      zone: 'Europe/Vienna',
      by: 'location',
    })
  })

  test.each([
    '(UTC+01:00) Amsterdam, Berlin, Bern, Rome',
    'Customized Time Zone',
    'tzone://Microsoft/Custom',
    '',
  ])('takes a zone that equals the definition of "%s" on each day', tzid => {
    expect(find(tzid, BERLIN, { preferred: 'Europe/Madrid' })).toEqual({ zone: 'Europe/Madrid', by: 'equal' })
    const { zone, by } = find(tzid, BERLIN, { preferred: 'Europe/London' })
    expect(by).toBe('equal')
    for (const wall of ['20261015T120000', '20261115T120000', '20270415T120000'])
      expect(toInstant(wall, zone!)).toBe(toInstant(wall, 'Europe/Berlin'))
  })

  test('takes the transitions of a definition that equals no zone', () => {
    const { zone, by } = find('Nowhere', ODD)
    expect(by).toBe('definition')
    expect(new Date(toInstant('20260101T120000', zone!)).toISOString()).toBe('2026-01-01T09:30:00.000Z')
    expect(new Date(toInstant('20260201T120000', zone!)).toISOString()).toBe('2026-02-01T10:30:00.000Z')
    expect(new Date(toInstant('20260701T120000', zone!)).toISOString()).toBe('2026-07-01T09:30:00.000Z')
    expect(new Date(toInstant('20260603T023000', zone!)).toISOString()).toBe('2026-06-03T01:00:00.000Z')
    expect(toWall(Date.UTC(2099, 6, 1), zone!)).toBe('20990701T023000')
    expect(isZone(zone!)).toBe(false)
    expect(zone!.length).toBeLessThan(4000)
    const later = { start: new Date('2030-01-01'), end: new Date('2031-01-01') }
    expect(find('Nowhere', ODD, { window: later }).zone).toBe(zone)
  })

  test('takes the dates and the end of an observance', () => {
    const lines = [
      ...observances({
        standard: ['+0200', '+0317', 'DTSTART:20260110T000000', 'RDATE:20260301T000000,20260501T000000'],
      }),
      ...observances({
        standard: [
          '+0317',
          '+0200',
          'DTSTART:20260201T000000',
          'RRULE:FREQ=MONTHLY;INTERVAL=2;UNTIL=20260531T204300Z',
        ],
      }),
    ]
    const window = { start: new Date('2026-01-01'), end: new Date('2027-01-01') }
    const { at, offsets } = requireTransitions(find('Nowhere', lines, { window }).zone!)
    expect(at.map(instant => new Date(instant).toISOString().slice(0, 16))).toEqual([
      '2026-01-09T22:00',
      '2026-01-31T20:43',
      '2026-02-28T22:00',
      '2026-03-31T20:43',
      '2026-04-30T22:00',
      '2026-05-31T20:43',
    ])
    expect(offsets.map(offset => offset / 60_000)).toEqual([120, 197, 120, 197, 120, 197, 120])
  })

  test.each([
    ['no definition', null],
    ['an empty one', []],
    ['one without offsets', ['BEGIN:STANDARD', 'DTSTART:19700101T000000', 'END:STANDARD']],
    ['one with impossible offsets', observances({ standard: ['+0100', '+2400', 'DTSTART:19700101T000000'] })],
    [
      'one that changes each second',
      observances({ standard: ['+0100', '+0200', 'DTSTART:19700101T000000', 'RRULE:FREQ=SECONDLY'] }),
    ],
    [
      'one that changes twice a day',
      observances({
        standard: ['+0100', '+0200', 'DTSTART:19700101T000000', 'RRULE:FREQ=YEARLY;BYHOUR=1,2'],
      }),
    ],
    [
      'one that never changes',
      observances({
        standard: ['+0100', '+0200', 'DTSTART:19700101T000000', 'RRULE:FREQ=SECONDLY;INTERVAL=7200;BYHOUR=1'],
      }),
    ],
    [
      'one with many dates',
      observances({
        standard: ['+0100', '+0200', 'DTSTART:19700101T000000', `RDATE:${'20260101T000000,'.repeat(50_000)}`],
      }),
    ],
    ['one with many observances', Array.from({ length: 401 }, () => FIXED).flat()],
  ])('takes the zone of the calendar for a TZID with %s', (_, lines) => {
    expect(find('Nowhere', lines, { preferred: 'Asia/Tokyo' })).toEqual({
      zone: 'Asia/Tokyo',
      by: 'calendar',
    })
    expect(find('Nowhere', lines)).toEqual({ zone: null, by: 'calendar' })
  })

  test('keeps the transitions of the window if there are too many', () => {
    const day = (index: number) =>
      new Date(Date.UTC(1990, 0, 1 + index * 20)).toISOString().slice(0, 10).replaceAll('-', '')
    const dates = (odd: number) =>
      Array.from({ length: 900 }, (_, index) => `${day(index * 2 + odd)}T000000`).join(',')
    const lines = [
      ...observances({ standard: ['+0100', '+0311', `DTSTART:19890101T000000`, `RDATE:${dates(0)}`] }),
      ...observances({ standard: ['+0311', '+0100', `DTSTART:19890601T000000`, `RDATE:${dates(1)}`] }),
    ]
    const { zone, by } = find('Nowhere', lines)
    expect(by).toBe('definition')
    const { at } = requireTransitions(zone!)
    expect(at).toHaveLength(400)
    expect(at[0]).toBeLessThan(Date.UTC(2017, 0))
    expect(at.at(-1)).toBeGreaterThan(WINDOW.end.getTime())
  })
})

describe('findWindowsZone', () => {
  test('has a zone of IANA for each name of CLDR', () => {
    expect(WORLD_ZONES.length).toBe(139)
    expect(WORLD_ZONES.filter(zone => !isZone(zone))).toEqual([])
    expect(findWindowsZone('Central Asia Standard Time')).toBe('Asia/Bishkek')
    expect(findWindowsZone('Nowhere Standard Time')).toBeNull()
  })
})

test('a definition with the rules of a zone equals it on each day', () => {
  const { zone } = find(
    'Berlin and one more',
    [...BERLIN, ...observances({ standard: ['+0100', '+0544', 'DTSTART:20990101T000000'] })],
    {
      window: { start: new Date('2098-06-01'), end: new Date('2099-06-01') },
    },
  )
  const table = requireTransitions('Europe/Berlin')
  const own = requireTransitions(zone!)
  for (let day = Date.UTC(1997, 0); day < Date.UTC(2098, 0); day += 86_400_000)
    expect(offsetAt(own, day)).toBe(offsetAt(table, day))
})
