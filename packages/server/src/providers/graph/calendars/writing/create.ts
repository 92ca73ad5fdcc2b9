import { ProviderFailure } from '../../../failure.ts'
import type { Creation, EventInput, WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { quoted } from '../../changing/find.ts'
import { type GraphItem, itemSchema, itemsSchema } from '../../items.ts'
import { firstOf } from '../../resources.ts'
import { z } from 'zod'
import type { AskOptions } from '../../api.ts'
import { pathOfCalendar } from '../calendar-list.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { toPatch } from './fields.ts'
import { isEmpty, type MembersPlan, planProperty, writeMembers } from './members.ts'
import { requireCheckedPattern } from './patterns.ts'
import { CREATION_PROPERTY, EVENT_BYTES_MAX, requireTold, type Writing, writing, written } from './there.ts'
import { requireZoneName, toTimes } from './times.ts'

/** `CalendarsWriter.createEvent`. */
export function createEvent(
  connection: CalendarsConnection,
  { calendarKey, fields, ...creation }: { calendarKey: string; fields: EventInput } & Creation,
  options: WriteOptions,
): Promise<WrittenEvents> {
  return writing(connection, calendarKey, options, async work => {
    const { start, end, recurrence, ...plain } = fields
    const { mailboxZone } = work.place
    requireTold(options, plain.attendees)
    const series = recurrence
      ? {
          recurrence: requireCheckedPattern(recurrence, start, requireZoneName(start, mailboxZone)),
          taken: recurrence.taken,
        }
      : null
    if (plain.onlineMeeting) await requireMeetings(connection, calendarKey)
    const json = {
      ...toPatch(plain, null),
      ...toTimes({ start, end }, mailboxZone),
      ...(series && { recurrence: series.recurrence }),
    }
    const plan = { taken: [...(series?.taken ?? [])], exceptions: [] }
    const key = await createOnce(work, json, plan, creation)
    return written(work, [key])
  })
}

/**
 * Creates an event with its members, or goes on with that of an earlier try.
 * @returns its key
 */
export async function createOnce(
  work: Writing,
  json: Record<string, unknown>,
  plan: MembersPlan,
  { creationId, mayExist }: Creation,
): Promise<string> {
  const { connection, place } = work
  const find = () => findCreated(connection, { calendarKey: place.calendarKey, creationId }, {})
  const earlier = mayExist ? await find() : null
  const key = earlier ?? (await create(work, json, plan, creationId)) ?? (await find())
  if (key === null) throw new ProviderFailure('conflict', 'The event was created, and deleted since then.')
  await writeMembers(work, key, plan)
  return key
}

/** Null if Graph has had an event of this creation already. */
async function create(
  { place, effect }: Writing,
  json: Record<string, unknown>,
  plan: MembersPlan,
  creationId: string,
): Promise<string | null> {
  try {
    const { value } = await effect.ask<GraphItem>({
      method: 'POST',
      path: `${pathOfCalendar(place.calendarKey)}/events`,
      json: {
        ...json,
        transactionId: creationId,
        singleValueExtendedProperties: [
          { id: CREATION_PROPERTY, value: creationId },
          ...(isEmpty(plan) ? [] : [planProperty(plan)]),
        ],
      },
      schema: itemSchema,
      accepts: [201],
      answerBytesMax: EVENT_BYTES_MAX,
    })
    return value.id
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'conflict') return null
    throw error
  }
}

/** The key of the event that an earlier try of a creation made in a calendar; null if there is none. */
export async function findCreated(
  { api }: CalendarsConnection,
  { calendarKey, creationId }: { calendarKey: string; creationId: string },
  options: AskOptions,
): Promise<string | null> {
  const isMark = `ep/id eq ${quoted(CREATION_PROPERTY)} and ep/value eq ${quoted(creationId)}`
  const { value } = await api.ask(
    {
      path: `${pathOfCalendar(calendarKey)}/events`,
      query: { $filter: `singleValueExtendedProperties/Any(ep: ${isMark})`, $select: 'id', $top: 1 },
      schema: itemsSchema,
      accepts: [200],
    },
    options,
  )
  return value.value[0]?.id ?? null
}

const meetingsSchema = z.object({ allowedOnlineMeetingProviders: firstOf(z.string(), 20).nullish() })

/** Throws `unsupported` if the calendar does not allow online meetings. */
export async function requireMeetings({ api }: CalendarsConnection, calendarKey: string): Promise<void> {
  const { value } = await api.ask({
    path: pathOfCalendar(calendarKey),
    query: { $select: 'allowedOnlineMeetingProviders' },
    schema: meetingsSchema,
    accepts: [200],
  })
  const allowed = value.allowedOnlineMeetingProviders ?? []
  if (allowed.some(name => name.toLowerCase() === 'teamsforbusiness')) return
  throw new ProviderFailure('unsupported', 'The calendar does not allow online meetings.')
}
