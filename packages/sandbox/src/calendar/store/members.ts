import type { Calendar, StoredEvent } from './calendars.ts'
import { expand, hasInstance, type Instance, instanceAt } from './expand.ts'
import { basicText, type Moment, momentLike, parseBasic, wallAt, wallOf } from '../../calendaring/moments.ts'

/** An instance of a series as the rule gives it. Recording it makes it an exception. */
const instanceOf = (series: StoredEvent, { start, end }: Instance): StoredEvent => ({
  ...series,
  id: instanceId(series.id, start),
  start,
  end,
  recurrence: [],
  exceptionTo: { id: series.id, start },
})

export const instanceId = (seriesId: string, start: Moment): string => `${seriesId}_${basicText(start)}`

/** An event of the calendar, which may be an instance of a series; null if there is none. */
export function findEvent(calendar: Calendar, id: string): StoredEvent | null {
  const stored = calendar.events.get(id)
  if (stored) return stored
  const [, seriesId = '', text = ''] = /^(.+)_(\d{8}(?:T\d{6}Z)?)$/.exec(id) ?? []
  const series = calendar.events.get(seriesId)
  const date = parseBasic(text)
  if (!series || series.recurrence.length === 0 || !date || series.status === 'cancelled') return null
  const isDay = 'day' in series.start
  if (date.isDay !== isDay) return null
  const wall = 'zone' in series.start ? wallAt(date.wall, series.start.zone) : date.wall
  if (!hasInstance(series, momentLike(series.start, wall))) return null
  return instanceOf(series, instanceAt(series, wall))
}

/** The exceptions of a calendar by their series. */
export const exceptionsIn = (calendar: Calendar): Map<string | undefined, StoredEvent[]> =>
  Map.groupBy(calendar.events.values(), ({ exceptionTo }) => exceptionTo?.id)

/** The instances of a series that may lie between two times, exceptions in place of what they replace, in order. */
export function instancesOf(
  series: StoredEvent,
  exceptions: readonly StoredEvent[],
  from: number,
  to: number,
): StoredEvent[] {
  const replaced = new Set(exceptions.map(({ id }) => id))
  const plain = expand(series, from, to)
    .map(instance => instanceOf(series, instance))
    .filter(({ id }) => !replaced.has(id))
  return [...plain, ...exceptions].toSorted((a, b) => wallOf(a.start) - wallOf(b.start))
}

/** Takes the exceptions of a deleted series away, which no listing reports one by one. */
export function dropExceptions(calendar: Calendar, seriesId: string): void {
  for (const event of calendar.events.values())
    if (event.exceptionTo?.id === seriesId) calendar.events.set(event.id, { ...event, status: 'cancelled' })
}
