import ICAL from 'ical.js'
import { expect, test } from 'vitest'
import { DAY_MS } from '../wall-clock.ts'
import { splitFile } from '../content-lines/content-file.ts'
import { printDefinition } from './print-definition.ts'
import { offsetAt } from './transitions.ts'
import { openBudget, readDefinition } from './vtimezone.ts'
import { requireTransitions } from './zones.ts'

const FROM = new Date('2020-01-01T00:00:00Z')
const TO = new Date('2040-01-01T00:00:00Z')
/** Days from one compared offset to the next. */
const STEP_MS = Number(process.env['WAXWING_TEST_ZONE_DAYS'] ?? 60) * DAY_MS
const HOUR_MS = 3_600_000

const zones = Intl.supportedValuesOf('timeZone')
/** One zone for each definition: many differ in their names alone. */
const differing = new Map(
  zones.map(zone => [printDefinition(zone, { from: FROM, to: TO }).slice(2).join(), zone] as const),
)

/** Instants that are compared: days, and times before and after each transition. */
function* comparedInstants(zone: string, [before, after]: readonly [number, number]): Generator<number> {
  for (let instant = FROM.getTime(); instant < TO.getTime(); instant += STEP_MS) yield instant
  for (const at of requireTransitions(zone).at)
    if (at > FROM.getTime() && at < TO.getTime()) yield* [at - before, at + after]
}

/** The instants at which another reader of a definition finds another offset. */
function differences(
  zone: string,
  around: readonly [number, number],
  offsetOf: (instant: number) => number,
): string[] {
  const table = requireTransitions(zone)
  return [...comparedInstants(zone, around)].flatMap(instant => {
    const [wanted, read] = [offsetAt(table, instant), offsetOf(instant)]
    return read === wanted ? [] : [`${zone} ${new Date(instant).toISOString()} ${read} for ${wanted}`]
  })
}

test('ical.js reads the offsets of each zone from its definition', () => {
  const found = [...differing.values()].flatMap(zone => {
    const component = new ICAL.Component(
      ICAL.parse(printDefinition(zone, { from: FROM, to: TO }).join('\r\n')),
    )
    const read = new ICAL.Timezone(component)
    const table = requireTransitions(zone)
    // It looks up offsets by wall clocks, of which some near a transition occur twice.
    return differences(zone, [12 * HOUR_MS, 12 * HOUR_MS], instant => {
      const wall = new Date(instant + offsetAt(table, instant))
      return read.utcOffset(ICAL.Time.fromJSDate(wall, true)) * 1_000
    })
  })
  expect(found.slice(0, 10)).toEqual([])
})

test('our own reader reads the offsets of each zone from its definition', () => {
  const found = zones.flatMap(zone => {
    const file = splitFile(Buffer.from(`${printDefinition(zone, { from: FROM, to: TO }).join('\r\n')}\r\n`))
    const definition = { file, component: file.components[0]!, budget: openBudget() }
    const read = readDefinition(definition, FROM.getTime())
    return differences(zone, [1_000, 0], instant => (read ? offsetAt(read, instant) : Number.NaN))
  })
  expect(found.slice(0, 10)).toEqual([])
})

test.each([
  'America/Mexico_City',
  'America/Sao_Paulo',
  'Asia/Amman',
  'Asia/Tehran',
  'Pacific/Fiji',
  'Europe/Volgograd',
])('daylight saving time that %s abolished does not go on, whenever the definition ends', zone => {
  for (let year = 2017; year < 2030; year++) {
    const [from, to] = [new Date('2014-06-01T00:00:00Z'), new Date(Date.UTC(year, 10, 1))]
    const file = splitFile(Buffer.from(`${printDefinition(zone, { from, to }).join('\r\n')}\r\n`))
    const definition = { file, component: file.components[0]!, budget: openBudget() }
    const read = readDefinition(definition, from.getTime())!
    const table = requireTransitions(zone)
    for (let at = from.getTime(); at < to.getTime(); at += DAY_MS)
      expect([year, new Date(at), offsetAt(read, at)]).toEqual([year, new Date(at), offsetAt(table, at)])
  }
})

test.each([
  [
    'Europe/Berlin',
    [
      'BEGIN:STANDARD',
      'DTSTART:20191027T030000',
      'RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU',
      'TZOFFSETFROM:+0200',
      'TZOFFSETTO:+0100',
      'END:STANDARD',
      'BEGIN:DAYLIGHT',
      'DTSTART:20200329T020000',
      'RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU',
      'TZOFFSETFROM:+0100',
      'TZOFFSETTO:+0200',
      'END:DAYLIGHT',
    ],
  ],
  [
    'UTC',
    ['BEGIN:STANDARD', 'DTSTART:19700101T000000', 'TZOFFSETFROM:+0000', 'TZOFFSETTO:+0000', 'END:STANDARD'],
  ],
])('%s is written in few lines', (zone, lines) => {
  const written = printDefinition(zone, { from: FROM, to: TO })
  expect(written).toEqual(['BEGIN:VTIMEZONE', `TZID:${zone}`, ...lines, 'END:VTIMEZONE'])
})
