import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import { calendarFeedOf } from '../calendars/calendar-feed.ts'
import { dayAhead } from '../calendars/caldav-account.ts'
import type { GmailApp } from '../gmail/open-gmail-app.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { timeOf } from './arrange-google-calendar.ts'
import {
  connectGoogleCalendar,
  type GoogleCalendarAccount,
  openGoogleCalendarApp,
} from './google-calendar-account.ts'
import { CALENDAR_HOST, configureCalendar, type Event } from './other-client.ts'

/* For more: `WAXWING_SEEDS=20 npx vitest run test/google-calendar/any-change.test.ts`. */
const SEEDS = Number(process.env['WAXWING_SEEDS'] ?? 1)
const ROUNDS = 2
const STEPS = 20

const opened = useServer(() => openGoogleCalendarApp())

const NAMES = ['Call', 'Lunch', 'Review', 'Sports', 'Travel'] as const
const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'UTC'] as const
/** Rules that give any start: whether another start counts is not left to the sandbox to decide. */
const RULES = [
  'FREQ=DAILY;COUNT=6',
  'FREQ=WEEKLY;COUNT=8',
  'FREQ=MONTHLY;COUNT=4',
  'FREQ=WEEKLY;INTERVAL=2;COUNT=9',
] as const
/** The time in which both sides are compared. All events lie in it. */
const FROM = new Date(Date.now() - DAY_MS).toISOString()
const TO = new Date(Date.now() + 300 * DAY_MS).toISOString()

/** Start and end of an event, within the next three months. */
function timesOf(random: Random, isDay: boolean): Pick<Event, 'start' | 'end'> {
  const first = random.between(1, 90)
  if (isDay) return { start: timeOf(dayAhead(first)), end: timeOf(dayAhead(first + random.between(1, 3))) }
  const timeZone = random.pick(ZONES)
  const at = (hour: number) => ({
    dateTime: `${timeOf(dayAhead(first)).date}T${String(hour).padStart(2, '0')}:30:00`,
    timeZone,
  })
  // Hours that no change of the clock skips.
  const hour = random.between(4, 21)
  return { start: at(hour), end: at(hour + random.between(1, 2)) }
}

function eventOf(random: Random): Event {
  const isDay = random.chance(0.2)
  return {
    summary: `${random.pick(NAMES)} ${random.between(1, 99)}`,
    ...timesOf(random, isDay),
    ...(random.chance(0.4) && { recurrence: [`RRULE:${random.pick(RULES)}`] }),
    ...(random.chance(0.3) && { location: 'Room 5', transparency: 'transparent' }),
  }
}

/** Changes one of the calendars. Their first events stay, so that no calendar is ever emptied. */
async function actAsOther(
  { client }: GoogleCalendarAccount,
  calendarIds: readonly string[],
  random: Random,
): Promise<void> {
  const calendarId = random.pick(calendarIds)
  const held = (await client.list(calendarId)).filter(({ summary }) => summary !== 'Stays')
  const kind = random.between(0, 9)
  if (kind <= 2 || held.length < 3) return void (await client.insert(eventOf(random), calendarId))
  const chosen = random.pick(held)
  const isSeries = chosen.recurrence !== undefined
  if (kind === 3) await client.remove(chosen.id, calendarId)
  else if (kind === 4) await client.patch(chosen.id, { summary: random.pick(NAMES) }, calendarId)
  else if (kind === 5 && chosen.status !== 'cancelled')
    await client.patch(chosen.id, timesOf(random, Boolean(chosen.start?.date)), calendarId)
  else if (kind === 6 && isSeries)
    await client.patch(chosen.id, { recurrence: [`RRULE:${random.pick(RULES)}`] }, calendarId)
  else if (kind === 7 && !isSeries && !chosen.recurringEventId)
    await client.move(
      chosen.id,
      calendarId,
      calendarIds.find(one => one !== calendarId)!,
    )
  else if (chosen.status === 'cancelled') await client.patch(chosen.id, { status: 'confirmed' }, calendarId)
  else if (isSeries) {
    const members = await client.listInstances(calendarId, FROM, TO)
    const own = members.filter(({ recurringEventId }) => recurringEventId === chosen.id)
    const member = own.length > 0 ? random.pick(own) : null
    if (member && random.chance(0.5)) await client.remove(member.id!, calendarId)
    else if (member)
      await client.patch(
        member.id!,
        { summary: 'Once', ...timesOf(random, Boolean(member.start?.date)) },
        calendarId,
      )
  }
}

async function disturb(
  { sandbox }: GmailApp,
  { client }: GoogleCalendarAccount,
  random: Random,
): Promise<void> {
  const kind = random.between(0, 3)
  if (kind === 0) await client.expire()
  else if (kind === 1) await configureCalendar(sandbox, { pageMax: random.pick([null, 2, 5]) })
  else
    await sandbox.addFault({
      does: random.pick(['lost', 'error', 'rate_limit', 'torn']),
      host: CALENDAR_HOST,
      probability: 0.5,
      count: random.between(1, 2),
    })
}

const textOf = (time: CalendarEvent['start'] | Event['start']) =>
  time?.date ?? new Date(time?.dateTime ?? '').toISOString()
const asText = (events: ReadonlyArray<Pick<CalendarEvent, 'start' | 'end'> & { name: string }>) =>
  events
    .map(({ name, start, end }) => `${textOf(start)} ${textOf(end)} ${name}`)
    .toSorted()
    .join('\n')

/** Lets everything come to rest, and waits until the index is what Google has. */
async function settle(
  { app, sandbox }: GmailApp,
  account: GoogleCalendarAccount,
  calendarIds: readonly string[],
) {
  await sandbox.clearFaults()
  await configureCalendar(sandbox, { pageMax: null })
  const { id } = account.account
  const path = `/v1/accounts/${id}/calendar-events?start=${FROM}&end=${TO}&limit=500`
  let last = ''
  await waitUntil('the index to be what Google has', async () => {
    await account.look()
    const lists = await Promise.all(calendarIds.map(one => account.client.listInstances(one, FROM, TO)))
    const there = lists.flat().map(({ summary, start, end }) => ({
      name: summary ?? '',
      start: start as CalendarEvent['start'],
      end: end as CalendarEvent['end'],
    }))
    const { body } = await app.get<{ items: CalendarEvent[] }>(path)
    const here = body.items.map(event => ({ ...event, name: event.subject ?? '' }))
    last = `${asText(there)}\n--\n${asText(here)}`
    return asText(there) === asText(here) || null
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${last}`)
  })
}

/** The events of a reader of the feed. Throws if the feed contradicts itself. */
async function foldEvents({ app }: GmailApp, accountId: string): Promise<Map<string, CalendarEvent>> {
  const folded = new Map<string, CalendarEvent>()
  for (const { type, event } of await calendarFeedOf(app, accountId)) {
    if (!event) continue
    if ((type === 'calendar_event.created') === folded.has(event.id))
      throw new Error(`${type} of ${event.kind} ${event.subject} does not follow from what was before`)
    if (type === 'calendar_event.deleted') {
      folded.delete(event.id)
      // The exceptions of a deleted series go in silence.
      for (const [id, { seriesId }] of folded) if (seriesId === event.id) folded.delete(id)
    } else folded.set(event.id, event)
  }
  return folded
}

/** Our ids by those of Google. */
async function idsByKey({ app }: GmailApp, accountId: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; id: string }>`
    select provider_key as key, id from calendar_event
    where account_id = ${accountId} and provider_key is not null and shown is not null
  `.execute(app.db)
  return new Map(rows.map(({ key, id }) => [key, id]))
}

test.each(Array.from({ length: SEEDS }, (_, index) => index + 1))(
  'calendars end as those of Google, with a feed that leads to them, and events keep their ids (seed %i)',
  async seed => {
    const random = seeded(`google-calendar/${seed}`)
    // A listing that is under way would lose events by it.
    await configureCalendar(opened().sandbox, { exceptionsFirst: random.chance(0.5) })
    const calendarIds: string[] = []
    const account = await connectGoogleCalendar(opened(), async client => {
      const { id } = await client.addCalendar({ summary: 'Second', timeZone: 'America/New_York' })
      calendarIds.push('primary', id)
    })
    const { id } = account.account
    for (const calendarId of calendarIds)
      await account.client.insert({ summary: 'Stays', ...timesOf(random, false) }, calendarId)
    let ids = new Map<string, string>()
    for (let round = 0; round < ROUNDS; round += 1) {
      for (let step = 0; step < STEPS; step += 1) {
        const acts = [actAsOther(account, calendarIds, random.fork(`other ${round} ${step}`))]
        if (random.chance(0.3)) acts.push(disturb(opened(), account, random.fork(`trouble ${round} ${step}`)))
        if (random.chance(0.4)) acts.push(account.look().then(() => {}))
        // Faults also strike the other client, and an event may be deleted meanwhile.
        for (const acted of await Promise.allSettled(acts))
          if (
            acted.status === 'rejected' &&
            !/: (?:4\d\d|5\d\d) |fetch failed|terminated|JSON/.test(String(acted.reason))
          )
            throw acted.reason
      }
      await settle(opened(), account, calendarIds)
      const now = await idsByKey(opened(), id)
      for (const [key, ours] of ids) if (now.has(key)) expect(now.get(key)).toBe(ours)
      ids = now
      const folded = await foldEvents(opened(), id)
      expect([...folded.keys()].toSorted()).toEqual([...now.values()].toSorted())
      for (const [eventId, event] of folded) {
        const { body } = await opened().app.get<CalendarEvent>(
          `/v1/accounts/${id}/calendar-events/${eventId}`,
        )
        expect({ ...body, updatedAt: null }).toMatchObject({ ...event, updatedAt: null })
      }
    }
    expect(ids.size).toBeGreaterThan(4)
  },
)
