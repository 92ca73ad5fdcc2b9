import { RRuleTemporal } from 'rrule-temporal'
import {
  DAY_MS,
  instantOf,
  isZone,
  type Moment,
  momentLike,
  parseBasic,
  wallAt,
  wallOf,
} from '../../calendaring/moments.ts'

/** Instances that one series may give to an answer. */
const INSTANCES_MAX = 2_000
const ITERATIONS_MAX = 100_000

/** A series: its first instance, and its lines RRULE, EXRULE, RDATE and EXDATE. */
export interface Series {
  readonly start: Moment
  readonly end: Moment
  readonly recurrence: readonly string[]
}

/** An instance of a series by its rule. */
export interface Instance {
  readonly start: Moment
  readonly end: Moment
}

/**
 * The instances that may overlap a time, in order; some that lie up to a day outside are among them. `rrule-temporal`
 * expands rules on wall clocks. Throws for lines that it cannot read.
 */
export function expand(series: Series, from: number, to: number): Instance[] {
  const first = wallOf(series.start)
  const length = lengthOf(series)
  const span = { from: Math.max(first, from - length - 2 * DAY_MS), to: to + 2 * DAY_MS }
  const walls = new Set<number>([first])
  const excluded = new Set<number>()
  const excludedDays = new Set<number>()
  for (const line of series.recurrence) {
    const { name, value, parameters } = partsOf(line)
    if (name === 'RRULE') for (const wall of wallsOf(series, value, span)) walls.add(wall)
    else if (name === 'EXRULE') for (const wall of wallsOf(series, value, span)) excluded.add(wall)
    else
      for (const { wall, isDay } of datesOf(series, value, parameters)) {
        if (name === 'RDATE') walls.add(wall)
        else if (isDay && 'at' in series.start) excludedDays.add(wall)
        else excluded.add(wall)
      }
  }
  return [...walls]
    .filter(
      wall =>
        !excluded.has(wall) &&
        !excludedDays.has(wall - (wall % DAY_MS)) &&
        wall >= span.from &&
        wall <= span.to,
    )
    .toSorted((a, b) => a - b)
    .slice(0, INSTANCES_MAX)
    .map(wall => instanceAt(series, wall))
}

/** Whether the series has an instance at a time by its rule. */
export const hasInstance = (series: Series, start: Moment): boolean =>
  expand(series, wallOf(start) - DAY_MS, wallOf(start) + DAY_MS).some(
    one => wallOf(one.start) === wallOf(start),
  )

/** The instance that begins at a wall clock, as long as the first one. */
export function instanceAt(series: Series, wall: number): Instance {
  const start = momentLike(series.start, wall)
  const length = lengthOf(series)
  if ('day' in start) return { start, end: momentLike(start, wall + length) }
  const zone = 'zone' in series.end ? series.end.zone : start.zone
  return { start, end: { at: start.at + length, zone } }
}

const lengthOf = ({ start, end }: Series): number =>
  'at' in start && 'at' in end ? end.at - start.at : wallOf(end) - wallOf(start)

function partsOf(line: string): { name: string; value: string; parameters: Map<string, string> } {
  const [, name = '', given = '', value = ''] =
    /^(RRULE|EXRULE|RDATE|EXDATE)((?:;[^:;]+)*):(.+)$/i.exec(line) ?? []
  if (name === '') throw new Error(`no line of a recurrence: ${line}`)
  const parameters = given.split(';').flatMap((text): Array<[string, string]> => {
    const [key = '', ...rest] = text.split('=')
    return key === '' ? [] : [[key.toUpperCase(), rest.join('=')]]
  })
  return { name: name.toUpperCase(), value, parameters: new Map(parameters) }
}

function wallsOf(series: Series, rule: string, span: { from: number; to: number }): number[] {
  const start = wallText(wallOf(series.start))
  const rrule = new RRuleTemporal({
    rruleString: `DTSTART:${start}\nRRULE:${rule.replace(/UNTIL=([0-9TZ]+)/i, (_, until: string) => `UNTIL=${untilOf(series, until)}`)}`,
    maxIterations: ITERATIONS_MAX,
  })
  return rrule
    .between(new Date(span.from), new Date(span.to), true)
    .map(({ epochMilliseconds }) => epochMilliseconds)
}

const wallText = (wall: number): string =>
  `${new Date(wall).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`

/** UNTIL as a wall clock of the series: a date includes its whole day. */
function untilOf({ start }: Series, text: string): string {
  const until = parseBasic(text)
  if (!until) throw new Error(`no UNTIL: ${text}`)
  if (until.isDay) return wallText(until.wall + DAY_MS - 1_000)
  return wallText(until.isUtc && 'zone' in start ? wallAt(until.wall, start.zone) : until.wall)
}

function datesOf({ start }: Series, value: string, parameters: ReadonlyMap<string, string>) {
  const given = parameters.get('TZID')
  const zone = 'zone' in start ? start.zone : null
  if (given !== undefined && !isZone(given)) throw new Error(`no zone: ${given}`)
  return value.split(',').map(text => {
    const date = parseBasic(text)
    if (!date) throw new Error(`no date: ${text}`)
    if (date.isDay || zone === null)
      return { ...date, wall: date.wall - (zone === null ? date.wall % DAY_MS : 0) }
    if (date.isUtc) return { ...date, wall: wallAt(date.wall, zone) }
    return { ...date, wall: given ? wallAt(instantOf(date.wall, given), zone) : date.wall }
  })
}
