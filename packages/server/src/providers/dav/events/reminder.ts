import { parameterOf } from '../../../kit/content-lines/content-line.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { EventTime } from '../../calendars.ts'
import { instantIn } from './event-times.ts'
import { type EventComponent, lineOf, wordOf } from './event-file.ts'
import { readDuration, readTime } from '../../../kit/written-time.ts'

const ACTIONS: ReadonlySet<string> = new Set(['DISPLAY', 'AUDIO', 'EMAIL'])
const MINUTE_MS = 60_000
/** Earlier reminders are not shown. */
const MINUTES_MAX = 10 * 366 * 24 * 60

/**
 * Minutes from the first alarm to the start of the event; null without an alarm that reminds of the start. Alarms after
 * the start, and those without a person to notice them, are left out (RFC 5545 section 3.6.6).
 */
export function readReminder(
  event: EventComponent,
  times: { start: EventTime; end: EventTime },
): number | null {
  for (const alarm of event.components) {
    const minutes = minutesOfAlarm(alarm, times)
    if (minutes !== null) return minutes
  }
  return null
}

/** Minutes from an alarm to the start of its event; null for any other component, and for an alarm that is not shown. */
export function minutesOfAlarm(
  alarm: EventComponent,
  times: { start: EventTime; end: EventTime },
): number | null {
  if (alarm.name !== 'VALARM' || !ACTIONS.has(wordOf(alarm, 'ACTION'))) return null
  const minutes = minutesBefore(alarm, times)
  return minutes !== null && minutes >= 0 && minutes <= MINUTES_MAX ? minutes : null
}

function minutesBefore(
  alarm: EventComponent,
  { start, end }: { start: EventTime; end: EventTime },
): number | null {
  const trigger = lineOf(alarm, 'TRIGGER')
  if (!trigger) return null
  const duration = readDuration(trigger.value)
  if (duration) {
    const isOfEnd = parameterOf(trigger, 'RELATED')?.toUpperCase() === 'END'
    const length = isOfEnd ? instantIn(end) - instantIn(start) : 0
    return roundMinutes(-(duration.days * DAY_MS + duration.milliseconds + length))
  }
  const time = readTime(trigger.value)
  // An absolute trigger is in UTC (RFC 5545 section 3.8.6.3).
  if (!time?.isUtc) return null
  return roundMinutes(instantIn(start) - instantIn({ wall: time.wall, zone: null }))
}

/** Without a negative zero. */
const roundMinutes = (milliseconds: number): number => Math.round(milliseconds / MINUTE_MS) || 0
