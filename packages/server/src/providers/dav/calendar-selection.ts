import { toInstant } from '../../kit/zones/zones.ts'
import { DAY_MS, isDay, requireWall } from '../../kit/wall-clock.ts'
import type { CalendarWindow, EventTime, RemoteItem } from '../calendars.ts'
import type { ReadFiles } from './files.ts'

/*
 * A server can be asked for the events of a time, so that old ones are never read. Some servers answer wrongly, above all
 * about series, and what they leave out would be lost without a trace. So:
 * - Few events are read without a question.
 * - All series are wanted, and the time asked for begins earlier than the window: servers expand rules in ways of their
 *   own, and take floating times and days in a zone of their own.
 * - Of the events that the server leaves out, some are read. If any of them belongs to the window, or all are
 *   unreadable, the answer is not trusted and everything is read.
 */

/** Up to this many are read without a question. */
const FEW_MAX = 100
/** The events left out that are read, which is one multiget. */
const SAMPLE_MAX = 50
const MARGIN_MS = 2 * DAY_MS

export interface SelectingServer {
  /** The paths of events that match a filter; null if the server does not answer that completely. */
  query(filter: string): Promise<ReadonlySet<string> | null>
  read(paths: readonly string[]): Promise<ReadFiles<RemoteItem>>
}

/** Chooses events that may belong to a window, or come after it, among those at these paths. */
export async function chooseEvents(
  server: SelectingServer,
  paths: readonly string[],
  window: CalendarWindow,
): Promise<ReadonlySet<string>> {
  if (paths.length <= FEW_MAX) return new Set(paths)
  const ofTime = await server.query(`<time-range start="${utcOf(window.start.getTime() - MARGIN_MS)}"/>`)
  const byRule = ofTime && (await server.query('<prop-filter name="RRULE"/>'))
  const byDate = byRule && (await server.query('<prop-filter name="RDATE"/>'))
  if (!ofTime || !byRule || !byDate) return new Set(paths)
  const others = paths.filter(path => !ofTime.has(path) && !byRule.has(path) && !byDate.has(path))
  if (!(await areOver(server, others, window))) return new Set(paths)
  const left = new Set(others)
  return new Set(paths.filter(path => !left.has(path)))
}

/** Whether a sample shows that events are over. */
async function areOver(
  server: SelectingServer,
  paths: readonly string[],
  window: CalendarWindow,
): Promise<boolean> {
  const step = Math.max(1, paths.length / SAMPLE_MAX)
  const sample = Array.from(
    { length: Math.min(paths.length, SAMPLE_MAX) },
    (_, n) => paths[Math.floor(n * step)]!,
  )
  const { items, unreadable } = await server.read(sample)
  return items.every(item => isOver(item, window)) && (items.length > 0 || unreadable.length === 0)
}

function isOver({ event, recurrence }: RemoteItem, { start }: CalendarWindow): boolean {
  return event !== null && recurrence === null && instantOf(event.end) <= start.getTime()
}

/** Days and floating times are taken in UTC, which is right to a day. */
function instantOf({ wall, zone }: EventTime): number {
  return zone === null || isDay(wall) ? requireWall(wall) : toInstant(wall, zone)
}

/** `YYYYMMDDTHHMMSSZ`. */
function utcOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replaceAll(/[-:]|\.\d+/g, '')
}
