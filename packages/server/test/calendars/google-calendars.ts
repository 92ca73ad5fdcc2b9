import { DAY_MS } from '../../src/kit/wall-clock.ts'
import type { Event, OtherClient } from '../google-calendar/other-client.ts'
import type { Random } from '../seeded.ts'
import { dayAhead } from './caldav-account.ts'
import { isUntouchable, type OtherCalendars } from './other-calendars.ts'

const FROM = new Date(Date.now() - DAY_MS).toISOString()
const TO = new Date(Date.now() + 300 * DAY_MS).toISOString()
/** Refusals of what someone else changed meanwhile, and failures that tests ask for. */
const OVERTAKEN = /: (?:4\d\d|5\d\d) |fetch failed|terminated|JSON/

type HeldEvent = Event & { id: string }

function timesOf(random: Random): Pick<Event, 'start' | 'end'> {
  const date = dayAhead(random.between(1, 60)).replace(/^(....)(..)(..)$/, '$1-$2-$3')
  const at = (time: string) => ({ dateTime: `${date}T${time}:00Z`, timeZone: 'UTC' })
  return { start: at('10:00'), end: at('10:30') }
}

/** Another client of calendars of Google, beside a colleague who invites the user to events. */
export function googleCalendars(
  client: OtherClient,
  { email, calendarIds, inviting }: { email: string; calendarIds: readonly string[]; inviting: OtherClient },
): OtherCalendars {
  let made = 0
  const name = (word: string) => `${word} ${++made}`
  const eventOf = (random: Random): Event => ({
    summary: name('Added'),
    ...timesOf(random),
    ...(random.chance(0.5) && { recurrence: [`RRULE:FREQ=DAILY;COUNT=${random.between(2, 6)}`] }),
  })

  async function change(random: Random): Promise<string> {
    const choice = random.next()
    const calendarId = random.pick(calendarIds)
    if (choice < 0.1) {
      await inviting.insert({ ...eventOf(random), attendees: [{ email }] })
      return 'other: invite'
    }
    const all = await client.list(calendarId)
    const free = all.filter(({ summary }) => !isUntouchable(summary ?? ''))
    if (free.length < 4 || choice < 0.3) {
      const { id } = await client.insert(eventOf(random), calendarId)
      return `other: add ${id}`
    }
    const event = random.pick(free)
    const said = `${event.summary} ${event.id}`
    if (event.status === 'cancelled') {
      await client.patch(event.id, { status: 'confirmed' }, calendarId)
      return `other: restore ${said}`
    }
    if (choice < 0.42) {
      await client.remove(event.id, calendarId)
      return `other: remove ${said}`
    }
    if (choice < 0.52 && !event.recurringEventId) {
      const to = calendarIds.find(one => one !== calendarId) ?? calendarId
      await client.move(event.id, calendarId, to)
      return `other: move ${said}`
    }
    if (choice < 0.8 && event.recurrence) return changeMember(random, event, calendarId)
    await client.patch(event.id, { summary: name('Renamed') }, calendarId)
    return `other: rename ${said}`
  }

  async function changeMember(random: Random, series: HeldEvent, calendarId: string): Promise<string> {
    const all = await client.listInstances(calendarId, FROM, TO)
    const members = all.filter(({ recurringEventId }) => recurringEventId === series.id)
    if (members.length === 0) return 'other: nothing'
    const { id } = random.pick(members)
    if (random.chance(0.5)) await client.remove(id!, calendarId)
    else await client.patch(id!, { summary: name('Once') }, calendarId)
    return `other: change the member ${id}`
  }

  return {
    act: random =>
      change(random).catch((error: unknown) => {
        if (!OVERTAKEN.test(String(error))) throw error
        return `other: refused: ${String(error)}`
      }),
    async list() {
      const lines: string[] = []
      for (const id of await client.calendarIds())
        for (const { start, summary } of await client.listInstances(id, FROM, TO))
          lines.push(`${inShort(start?.dateTime ?? '')} ${summary ?? ''}`)
      return lines.toSorted()
    },
  }
}

/** An instant as `20261201T090000Z`. */
export const inShort = (time: string) =>
  `${new Date(time).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
