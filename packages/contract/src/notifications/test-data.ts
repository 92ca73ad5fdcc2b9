import type { z } from 'zod'
import { type EventType, eventData } from '../events.ts'

type RawIssue = z.core.$ZodRawIssue

/** Why an event of the type could not have this data. Unlike in an answer, unknown fields do not fit either. */
export function testDataIssues(type: EventType, data: Record<string, unknown>): RawIssue[] {
  const read = eventData[type].safeParse(data)
  if (read.success) return unknownFields(data, read.data, [])
  return read.error.issues.map(issue => ({ ...issue, input: data }) as RawIssue)
}

/** The fields that the schema of a value dropped when it read it. */
function unknownFields(given: unknown, read: unknown, path: PropertyKey[]): RawIssue[] {
  if (Array.isArray(given)) {
    return given.flatMap((item, at) => unknownFields(item, Object(read)[at], [...path, at]))
  }
  if (typeof given !== 'object' || given === null) return []
  return Object.entries(given).flatMap(([name, value]): RawIssue[] => {
    const at = [...path, name]
    if (Object.hasOwn(Object(read), name)) return unknownFields(value, Object(read)[name], at)
    return [{ code: 'custom', path: at, message: 'is not a known field', input: value }]
  })
}
