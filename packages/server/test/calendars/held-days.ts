import { DAY_MS, printWall, requireWall } from '../../src/kit/wall-clock.ts'

/* Files of daily series and singles in UTC, read without the code that is tested. */

/** The parts of a calendar file. Lines are unfolded. */
export interface CalendarFile {
  /** Lines before the first event. */
  head: string[]
  master: string[]
  /** By the wall clocks of their original starts. */
  exceptions: Map<string, string[]>
}

const START = /^(DTSTART|RECURRENCE-ID)[^:]*:(\d{8}T\d{6})Z?$/

export function readFile(text: string): CalendarFile {
  const lines = text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
  const head = lines.slice(0, lines.indexOf('BEGIN:VEVENT'))
  const file: CalendarFile = { head, master: [], exceptions: new Map() }
  for (let at = lines.indexOf('BEGIN:VEVENT'); at >= 0; at = lines.indexOf('BEGIN:VEVENT', at + 1)) {
    const event = lines.slice(at, lines.indexOf('END:VEVENT', at) + 1)
    const member = wallOf(event, 'RECURRENCE-ID')
    if (member === null) file.master = event
    else file.exceptions.set(member, event)
  }
  return file
}

export function printFile({ head, master, exceptions }: CalendarFile): string {
  return [...head, ...master, ...[...exceptions.values()].flat(), 'END:VCALENDAR', ''].join('\r\n')
}

export function wallOf(event: readonly string[], name: 'DTSTART' | 'RECURRENCE-ID'): string | null {
  for (const line of event) {
    const [, found, wall] = START.exec(line) ?? []
    if (found === name) return wall ?? null
  }
  return null
}

/** The value of a property of an event itself, not of its alarms. */
export function valueOf(event: readonly string[], name: string): string {
  const end = event.indexOf('BEGIN:VALARM')
  const own = end < 0 ? event : event.slice(0, end)
  return own.find(line => line.startsWith(`${name}:`))?.slice(name.length + 1) ?? ''
}

/** The days that were taken from a series. */
export function takenOf({ master }: CalendarFile): Set<string> {
  const walls = master
    .filter(line => /^EXDATE[:;]/.test(line))
    .flatMap(line => line.match(/\d{8}T\d{6}/g) ?? [])
  return new Set(walls)
}

/** The starts that its rule gives; that of a single without one. */
export function membersOf({ master }: CalendarFile): string[] {
  const first = wallOf(master, 'DTSTART')
  if (first === null) return []
  const rule = valueOf(master, 'RRULE')
  if (rule === '') return [first]
  if (!/^FREQ=DAILY(;(COUNT=\d+|UNTIL=\d{8}T\d{6}Z))$/.test(rule))
    throw new Error(`${rule} is not a rule of these tests`)
  const [, count, until] = /(?:COUNT=(\d+)|UNTIL=(\w+)Z)/.exec(rule) ?? []
  const start = requireWall(first)
  const last = count ? Number(count) - 1 : Math.floor((requireWall(until ?? '') - start) / DAY_MS)
  return Array.from({ length: last + 1 }, (_, nth) => printWall(start + nth * DAY_MS))
}

/** Start and subject of each event of a file. */
export function describeFile(file: CalendarFile): string[] {
  const [taken, subject] = [takenOf(file), valueOf(file.master, 'SUMMARY')]
  const own = membersOf(file).filter(member => !taken.has(member) && !file.exceptions.has(member))
  const exceptions = [...file.exceptions.values()].map(
    event => `${wallOf(event, 'DTSTART')}Z ${valueOf(event, 'SUMMARY')}`,
  )
  return [...own.map(member => `${member}Z ${subject}`), ...exceptions]
}
