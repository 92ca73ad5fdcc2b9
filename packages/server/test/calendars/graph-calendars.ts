import { DAY_MS } from '../../src/kit/wall-clock.ts'
import { type GraphClient, refusalOf } from '../graph/graph-client.ts'
import type { Random } from '../seeded.ts'
import { dayAhead } from './caldav-account.ts'
import { inShort } from './google-calendars.ts'
import { isUntouchable, type OtherCalendars } from './other-calendars.ts'

const FROM = new Date(Date.now() - DAY_MS).toISOString()
const TO = new Date(Date.now() + 300 * DAY_MS).toISOString()
const RANGE = `startDateTime=${FROM}&endDateTime=${TO}&$top=200`
const REFUSALS_MIN = 400

const dateOf = (days: number) => dayAhead(days).replace(/^(....)(..)(..)$/, '$1-$2-$3')

function timesOf(random: Random): { start: object; end: object; startDate: string } {
  const startDate = dateOf(random.between(1, 60))
  const at = (time: string) => ({ dateTime: `${startDate}T${time}:00`, timeZone: 'UTC' })
  return { start: at('10:00'), end: at('10:30'), startDate }
}

/**
 * Another client of calendars of Microsoft.
 * @param inviting a colleague who invites the user to events; without one, nobody does
 */
export function graphCalendars(
  open: () => Promise<GraphClient>,
  inviting?: { email: string; client: GraphClient },
): OtherCalendars {
  let made = 0
  const name = (word: string) => `${word} ${++made}`
  const eventOf = (random: Random): object => {
    const { startDate, ...times } = timesOf(random)
    const range = {
      type: 'numbered',
      startDate,
      numberOfOccurrences: random.between(2, 6),
      recurrenceTimeZone: 'UTC',
    }
    const recurrence = { pattern: { type: 'daily', interval: 1 }, range }
    return { subject: name('Added'), ...times, ...(random.chance(0.5) && { recurrence }) }
  }

  async function change(random: Random): Promise<string> {
    const choice = random.next()
    const client = await open()
    if (inviting && choice < 0.1) {
      const attendees = [{ emailAddress: { address: inviting.email }, type: 'required' }]
      await inviting.client.ask('POST', 'events', { ...eventOf(random), attendees })
      return 'other: invite'
    }
    const calendars = (await client.all('calendars')).filter(({ canEdit }) => canEdit)
    const { id: calendarId } = random.pick(calendars)
    const all = await client.all(`calendars/${calendarId}/events?$top=100`)
    const free = all.filter(({ subject }) => !isUntouchable(subject ?? ''))
    if (free.length < 4 || choice < 0.3) {
      const { id } = await client.ask('POST', `calendars/${calendarId}/events`, eventOf(random))
      return `other: add ${id}`
    }
    const event = random.pick(free)
    const said = `${event.subject} ${event.id}`
    if (choice < 0.42) {
      await client.ask('DELETE', `events/${event.id}`)
      return `other: remove ${said}`
    }
    if (choice < 0.8 && event.type === 'seriesMaster') {
      const members = await client.all(`events/${event.id}/instances?${RANGE}`)
      if (members.length === 0) return 'other: nothing'
      const { id } = random.pick(members)
      if (random.chance(0.5)) await client.ask('DELETE', `events/${id}`)
      else await client.ask('PATCH', `events/${id}`, { subject: name('Once') })
      return `other: change a member of ${said}`
    }
    await client.ask('PATCH', `events/${event.id}`, { subject: name('Renamed') })
    return `other: rename ${said}`
  }

  return {
    act: random =>
      change(random).catch((error: unknown) => {
        if ((refusalOf(error) ?? 0) < REFUSALS_MIN) throw error
        return `other: refused: ${String(error)}`
      }),
    async list() {
      const client = await open()
      const lines: string[] = []
      for (const { id } of await client.all('calendars'))
        for (const { start, subject } of await client.all(`calendars/${id}/calendarView?${RANGE}`))
          lines.push(`${inShort(`${start.dateTime.slice(0, 19)}Z`)} ${subject ?? ''}`)
      return lines.toSorted()
    },
  }
}
