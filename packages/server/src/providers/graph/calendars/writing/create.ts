import { ProviderFailure } from '../../../failure.ts'
import type { Creation, EventInput, WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { quoted } from '../../changing/find.ts'
import { type GraphItem, itemSchema, itemsSchema } from '../../items.ts'
import { firstOf } from '../../resources.ts'
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { AskOptions } from '../../api.ts'
import { pathOfCalendar } from '../calendar-list.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { toPatch } from './fields.ts'
import { finishMembers, writeMembers } from './members.ts'
import { isEmpty, type MembersPlan, planProperty } from './planned-members.ts'
import { linesOf, toSeries } from './series-times.ts'
import {
  COPIED_PROPERTY,
  CREATION_PROPERTY,
  EVENT_BYTES_MAX,
  leftHalfDone,
  requireThere,
  requireTold,
  type Writing,
  writing,
  written,
} from './there.ts'
import { toTimes } from './times.ts'

/** Times after which an event that was just made is asked for again. */
const PAUSES_MS = [100, 300, 900]

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
    const times = { start, end }
    const placed = recurrence
      ? toSeries({ times, lines: linesOf(recurrence) }, mailboxZone)
      : toTimes(times, mailboxZone)
    if (plain.onlineMeeting) await requireMeetings(connection, calendarKey)
    const json = { ...toPatch(plain, null), ...placed }
    const plan = { taken: [...(recurrence?.taken ?? [])], exceptions: [] }
    const key = await createOnce(work, json, plan, creation)
    return leftHalfDone(() => written(work, [key]), 'not_found')
  })
}

/**
 * Creates an event with its members, or goes on with that of an earlier try.
 * @param copied the version of the event of which it is a copy
 * @returns its key
 */
export async function createOnce(
  work: Writing,
  json: Record<string, unknown>,
  plan: MembersPlan,
  { creationId, mayExist }: Creation,
  copied: string | null = null,
): Promise<string> {
  const { connection, place } = work
  const find = () => findCreated(connection, { calendarKey: place.calendarKey, creationId }, {})
  const earlier = mayExist ? await find() : null
  const made = earlier === null ? await create(work, json, plan, { creationId, copied }) : null
  const key = earlier ?? made ?? (await find())
  if (key === null) throw new ProviderFailure('conflict', 'The event was created, and deleted since then.')
  const finish = async () => {
    await waitUntilThere(work, key)
    if (made === null) await finishMembers(work, key)
    else await writeMembers(work, key, plan)
  }
  // The event is there, also if another request fails.
  await leftHalfDone(finish, 'not_found')
  return key
}

/** Not every server of Exchange need have an event that was just made. */
async function waitUntilThere(work: Writing, key: string): Promise<void> {
  for (const pauseMs of [...PAUSES_MS, null])
    try {
      await requireThere(work, key)
      return
    } catch (error) {
      const isLate = error instanceof ProviderFailure && error.kind === 'not_found'
      if (!isLate || pauseMs === null) throw error
      await sleep(pauseMs)
    }
}

/** Null if Graph has had an event of this creation already. */
async function create(
  { place, effect }: Writing,
  json: Record<string, unknown>,
  plan: MembersPlan,
  { creationId, copied }: { creationId: string; copied: string | null },
): Promise<string | null> {
  try {
    const { value } = await effect.ask<GraphItem>({
      method: 'POST',
      path: `${pathOfCalendar(place.calendarKey)}/events`,
      json: {
        ...json,
        // A copy of another version is another event.
        transactionId: copied === null ? creationId : hashOf(creationId, copied),
        singleValueExtendedProperties: [
          { id: CREATION_PROPERTY, value: creationId },
          ...(copied === null ? [] : [{ id: COPIED_PROPERTY, value: copied }]),
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

const hashOf = (...texts: string[]): string =>
  createHash('sha256').update(texts.join(' ')).digest('hex').slice(0, 32)

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

/** Throws `unsupported` if the calendar does not allow online meetings of a provider. */
export async function requireMeetings(
  { api }: CalendarsConnection,
  calendarKey: string,
  provider = 'teamsForBusiness',
): Promise<void> {
  const { value } = await api.ask({
    path: pathOfCalendar(calendarKey),
    query: { $select: 'allowedOnlineMeetingProviders' },
    schema: meetingsSchema,
    accepts: [200],
  })
  const allowed = value.allowedOnlineMeetingProviders ?? []
  if (allowed.some(name => name.toLowerCase() === provider.toLowerCase())) return
  throw new ProviderFailure('unsupported', 'The calendar does not allow online meetings.')
}
