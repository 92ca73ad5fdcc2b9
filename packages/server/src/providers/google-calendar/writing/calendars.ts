import { z } from 'zod'
import type { RemoteCalendar } from '../../calendars.ts'
import type { CalendarFields, Creation } from '../../changing-calendars.ts'
import { changingBy, type EffectRecord } from '../../effect.ts'
import { ProviderFailure } from '../../failure.ts'
import { type CalendarApi, segment } from '../calendar-api.ts'
import { type CalendarEntry, readEntry } from '../calendar-entry.ts'
import { pagesOf } from '../following.ts'
import type { Json } from './held-event.ts'

const madeSchema = z.object({ id: z.string().min(1) })
/** The text in the location of a calendar, which no client of Google shows, by which its creation is found again. */
const markOf = (creationId: string) => `waxwing:${creationId}`

/** Creates a calendar, or goes on with what an earlier try of the same creation made. */
export function createCalendar(
  api: CalendarApi,
  { name, description, color, timeZone, creationId, mayExist }: CalendarFields & Creation,
): Promise<RemoteCalendar> {
  return changingBy(
    record => record,
    async record => {
      const earlier = mayExist ? await findMarked(api, markOf(creationId)) : null
      const id =
        earlier ??
        (await record.run(() =>
          askCalendar(api, 'POST', 'calendars', {
            summary: name,
            location: markOf(creationId),
            ...(description !== null && { description }),
            ...(timeZone !== null && { timeZone }),
          }),
        ))
      return color === null ? requireEntry(await api.getEntry(id)).calendar : paint(record, api, id, color)
    },
  )
}

/** Changes a calendar of the account. The color is that of its entry in the user's list. */
export function changeCalendar(
  api: CalendarApi,
  key: string,
  { name, description, color, timeZone }: Partial<CalendarFields>,
): Promise<RemoteCalendar> {
  return changingBy(
    record => record,
    async record => {
      if (color === null) throw unsupported('Each calendar of Google has a color.')
      if (timeZone === null) throw unsupported('Each calendar of Google has a time zone.')
      const entry = requireEntry(await api.getEntry(key))
      const patch = {
        ...(name !== undefined && { summary: name }),
        ...(description !== undefined && { description }),
        ...(timeZone !== undefined && { timeZone }),
      }
      if (Object.keys(patch).length > 0)
        await record.run(() => askCalendar(api, 'PATCH', `calendars/${segment(key)}`, patch))
      // The user's own name for the calendar would hide the new one.
      if (name !== undefined && entry.ownName !== null)
        await record.run(() => patchEntry(api, key, { summaryOverride: null }))
      return color === undefined
        ? requireEntry(await api.getEntry(key)).calendar
        : paint(record, api, key, color)
    },
  )
}

/** Deletes a calendar with its events, for all who see it. Google refuses that for the primary one. */
export function removeCalendar(api: CalendarApi, key: string): Promise<void> {
  return changingBy(
    record => record,
    async record => {
      await record.run(() =>
        api.ask({
          method: 'DELETE',
          path: `calendars/${segment(key)}`,
          schema: z.unknown(),
          urgency: 'prompt',
        }),
      )
    },
  )
}

async function findMarked(api: CalendarApi, mark: string): Promise<string | null> {
  const { signal } = new AbortController()
  for await (const { items } of pagesOf(pageToken => api.listEntries(pageToken, signal)))
    for (const item of items) {
      const entry = readEntry(item)
      if (entry?.location === mark) return entry.calendar.key
    }
  return null
}

async function askCalendar(
  api: CalendarApi,
  method: 'POST' | 'PATCH',
  path: string,
  json: Json,
): Promise<string> {
  const { id } = await api.ask({ method, path, json, schema: madeSchema, urgency: 'prompt' })
  return id
}

async function paint(
  record: EffectRecord,
  api: CalendarApi,
  key: string,
  color: string,
): Promise<RemoteCalendar> {
  const colors = { backgroundColor: color.toLowerCase(), foregroundColor: readableOn(color) }
  return requireEntry(await record.run(() => patchEntry(api, key, colors))).calendar
}

function patchEntry(api: CalendarApi, key: string, json: Json): Promise<unknown> {
  return api.ask({
    method: 'PATCH',
    path: `users/me/calendarList/${segment(key)}`,
    query: { colorRgbFormat: true },
    json,
    schema: z.unknown(),
    urgency: 'prompt',
  })
}

/** Black or white, whichever is easier to read on a color. */
function readableOn(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))
  return red * 0.299 + green * 0.587 + blue * 0.114 > 150 ? '#000000' : '#ffffff'
}

function requireEntry(answered: unknown): CalendarEntry {
  const entry = readEntry(answered)
  if (entry) return entry
  throw new ProviderFailure('not_found', 'Google Calendar does not show the calendar any more.')
}

function unsupported(message: string): ProviderFailure {
  return new ProviderFailure('unsupported', message, { isBeforeAcceptance: true })
}
