import { expect } from 'vitest'
import type { User } from '../../src/world/users.ts'
import type { Parsed } from '../read-answer.ts'
import { IMMUTABLE } from './client.ts'
import type { TestGraph } from './use-graph.ts'

export const BERLIN = 'W. Europe Standard Time'
export const IN_BERLIN = { prefer: `outlook.timezone="${BERLIN}", IdType="ImmutableId"` }

export const at = (dateTime: string, timeZone = BERLIN): object => ({ dateTime, timeZone })

/** An event of an hour, by the day and the hour at which it begins in Berlin. */
export const hour = (day: string, start = 9): object => ({
  subject: 'Talk',
  start: at(`${day}T${String(start).padStart(2, '0')}:00:00`),
  end: at(`${day}T${String(start + 1).padStart(2, '0')}:00:00`),
})

export const recurrenceOf = (startDate: string, pattern: object, numberOfOccurrences: number): object => ({
  pattern: { interval: 1, ...pattern },
  range: { type: 'numbered', startDate, numberOfOccurrences },
})

/** A series of so many occurrences. */
export const series = (startDate: string, pattern: object, numberOfOccurrences = 5): object => ({
  ...hour(startDate),
  recurrence: recurrenceOf(startDate, pattern, numberOfOccurrences),
})

export async function makeEvent(
  graph: TestGraph,
  user: User,
  fields: object,
  path = 'events',
): Promise<Parsed> {
  const { status, data } = await graph.ask(user, 'POST', path, fields, IMMUTABLE)
  expect(status, JSON.stringify(data)).toBe(201)
  return data
}

/** Starts of the occurrences of a series in Berlin. */
export async function startsOf(
  graph: TestGraph,
  user: User,
  id: string,
  to = '2030-01-01',
): Promise<string[]> {
  const query = `startDateTime=2026-01-01T00:00:00Z&endDateTime=${to}T00:00:00Z&$top=200`
  const { status, data } = await graph.ask(
    user,
    'GET',
    `events/${id}/instances?${query}`,
    undefined,
    IN_BERLIN,
  )
  expect(status, JSON.stringify(data)).toBe(200)
  return data.value.map(({ start }: { start: { dateTime: string } }) => start.dateTime.slice(0, 16))
}
