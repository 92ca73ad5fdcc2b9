import { z } from 'zod'
import { findBusyInParts } from '../busy-in-parts.ts'
import type { CalendarsProvider } from '../calendars.ts'
import type { GoogleApi } from '../google/google-api.ts'
import { HOSTS } from '../google/hosts.ts'
import { readAnswer } from '../http/answers.ts'

/** Google answers for at most 50 calendars a call (developers.google.com/workspace/calendar/api/v3/reference/freebusy/query). */
const BOUNDS = { addressesMax: 50, daysMax: 70 }
const ANSWER_BYTES_MAX = 16 * 1024 * 1024

const period = z.object({ start: z.iso.datetime({ offset: true }), end: z.iso.datetime({ offset: true }) })

const freeBusySchema = z.object({
  calendars: z.record(
    z.string(),
    z.object({ errors: z.array(z.unknown()).default([]), busy: z.array(period).default([]) }),
  ),
})

/** Asks Google when people are busy. A calendar that the user may not see, or that Google does not have, is absent. */
export function findBusy(
  api: GoogleApi,
  ...[addresses, range, signal]: Parameters<NonNullable<CalendarsProvider['findBusy']>>
): ReturnType<NonNullable<CalendarsProvider['findBusy']>> {
  return findBusyInParts(BOUNDS, addresses, range, async (some, { start, end }) => {
    const question = {
      timeMin: start.toISOString(),
      timeMax: end.toISOString(),
      items: some.map(id => ({ id })),
      calendarExpansionMax: BOUNDS.addressesMax,
    }
    const call = {
      host: HOSTS.calendar,
      method: 'POST',
      path: '/calendar/v3/freeBusy',
      headers: { 'content-type': 'application/json; charset=utf-8' },
      body: JSON.stringify(question),
      isRepeatable: true,
      signal,
      answerBytesMax: ANSWER_BYTES_MAX,
    } as const
    const { content } = await api.call(call, 1)
    const { calendars } = readAnswer(api.api, freeBusySchema, content)
    const answered = new Map(Object.entries(calendars).map(([id, found]) => [id.toLowerCase(), found]))
    const resolved = some.flatMap(address => {
      const found = answered.get(address.toLowerCase())
      if (!found || found.errors.length > 0) return []
      const times = found.busy.map(each => ({ start: new Date(each.start), end: new Date(each.end) }))
      return [[address, times] as const]
    })
    return new Map(resolved)
  })
}
