import { z } from 'zod'
import type { RemoteEvent } from '../../calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { fieldsOf } from '../event-fields.ts'
import { eventSchema, type GoogleEvent } from '../event-schema.ts'
import { requireNamed, versionOf } from '../reading.ts'
import { aroundOf, type WrittenCalendar } from './surroundings.ts'

export type Json = Readonly<Record<string, unknown>>

const rawSchema = z.record(z.string(), z.unknown())

/** An event before a change. */
export interface HeldEvent {
  key: string
  etag: string | null
  /** As it was answered: lists and objects are written back with what the service does not read. */
  raw: Json
  event: GoogleEvent
  fields: RemoteEvent
  /** The key of its series, if it is a member of one. */
  seriesKey: string | null
}

/** Reads an event that is to be changed. Throws `not_found` if it was deleted, `rejected` if it cannot be read. */
export function readHeld(calendar: WrittenCalendar, answered: unknown): HeldEvent {
  const named = requireNamed(answered)
  if (named.status === 'cancelled') throw eventGone()
  const event = eventSchema.safeParse(answered)
  const fields = event.success ? fieldsOf(event.data, aroundOf(calendar)) : null
  if (!event.success || !fields)
    throw new ProviderFailure('rejected', `${named.id} cannot be changed, since it cannot be read.`)
  return {
    key: named.id,
    etag: named.etag ? versionOf(named) : null,
    raw: rawSchema.parse(answered),
    event: event.data,
    fields,
    seriesKey: named.recurringEventId || null,
  }
}

export function eventGone(): ProviderFailure {
  return new ProviderFailure('not_found', 'Google Calendar does not have the event any more.')
}

/** A field of an answered event that is an object; an empty one if it is none. */
export function objectAt(raw: Json, name: string): Json {
  return rawSchema.safeParse(raw[name]).data ?? {}
}
