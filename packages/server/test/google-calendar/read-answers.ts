import { expect } from 'vitest'
import type { RemoteEvent } from '../../src/providers/calendars.ts'
import type { EventSurroundings } from '../../src/providers/google-calendar/event-fields.ts'
import { EventReader } from '../../src/providers/google-calendar/reading.ts'

const AROUND: EventSurroundings = {
  access: 'owner',
  timeZone: 'Europe/Berlin',
  defaultReminders: [
    { method: 'email', minutes: 5 },
    { method: 'popup', minutes: 30 },
    { method: 'popup', minutes: 10 },
  ],
}

export const at = (dateTime: string, timeZone?: string) => ({ dateTime, ...(timeZone && { timeZone }) })
export const BERLIN = 'Europe/Berlin'
export const SINGLE = {
  kind: 'calendar#event',
  etag: '"3181161784712000"',
  id: 'abcde',
  status: 'confirmed',
  start: at('2026-12-01T09:00:00+01:00', BERLIN),
  end: at('2026-12-01T10:30:00+01:00', BERLIN),
}
export const SERIES = { ...SINGLE, id: 'series', recurrence: ['RRULE:FREQ=DAILY'] }

/** Series that are found if they are asked for. */
export async function read(
  answered: readonly unknown[],
  around: Partial<EventSurroundings> = {},
  series: Readonly<Record<string, unknown>> = {},
) {
  const asked: string[] = []
  const reader = new EventReader(async key => {
    asked.push(key)
    return series[key] ?? null
  })
  return { ...(await reader.read(answered, { ...AROUND, ...around })), asked }
}

export async function readSingle(
  event: object,
  around: Partial<EventSurroundings> = {},
): Promise<RemoteEvent> {
  const { objects, unreadable } = await read([{ ...SINGLE, ...event }], around)
  expect(unreadable).toEqual([])
  return objects[0]!.event!
}
