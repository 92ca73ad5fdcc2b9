import type { CalendarWindow } from '../../src/providers/calendars.ts'
import { never } from '../../src/providers/conformance/arrangement.ts'
import { openEventIndex } from '../../src/providers/conformance/event-index.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { type GoogleCalendarArrangement, timeOf } from './arrange-google-calendar.ts'
import type { Event } from './other-client.ts'

/* A calendar of Google that is followed, and the calls that this costs. */

export const WINDOW: CalendarWindow = {
  start: new Date('2026-09-01T00:00:00Z'),
  end: new Date('2027-11-29T00:00:00Z'),
}

/** An hour in Berlin that begins at a wall clock. */
export const hourAt = (start: string): Pick<Event, 'start' | 'end'> => ({
  start: timeOf(start),
  end: timeOf(start.replace(/T(\d\d)/, (_, hour: string) => `T${String(Number(hour) + 1).padStart(2, '0')}`)),
})
export const DECEMBER = hourAt('20261201T090000')

/** A connected account with an index of its primary calendar that has followed it. */
export async function open(arranged: GoogleCalendarArrangement, window = WINDOW) {
  const { calendars } = await arranged.connect()
  const listed = await calendars.listCalendars(never)
  const index = openEventIndex(
    listed.find(({ isPrimary }) => isPrimary)!,
    window,
  )
  await index.follow(calendars)
  index.takeSteps()
  return { calendars, listed, index }
}

/** Paths and queries of the calls that the service makes for a user while something is done. */
export async function callsOf(
  sandbox: SandboxServer,
  { email }: GoogleCalendarArrangement,
  act: () => Promise<unknown>,
): Promise<string[]> {
  const before = (await sandbox.calls({ user: email })).items.at(-1)?.id ?? 0
  await act()
  const { items } = await sandbox.calls({ user: email, after: before })
  return items
    .filter(({ clientId }) => clientId !== 'another-client')
    .map(({ path, query }) => `${path}?${query}`)
}
