import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { History, Killed, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { expectEqualIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { Doubts, SECOND_LOOK_SECONDS } from '../../../sync/doubts.ts'

const SEEDS = seedsFor(1)
const PASSES = 12
const NINE = 9 * 3_600_000
const at = (days: number, hours = 0) =>
  new Date(TODAY + days * DAY_MS + NINE + hours * 3_600_000).toISOString()
const time = (days: number, hours = 0) => ({ dateTime: at(days, hours), timeZone: 'UTC' })
const ANSWERS = [200, 400, 403, 404, 409, 500, 502, 503]
/** How likely the provider fails where it awaits. A call awaits three times, so one of five fails. */
const FAILING = 0.07

type Door = Awaited<ReturnType<typeof openCalendarDoor>>

function unlessKilled(error: unknown): void {
  if (!(error instanceof Killed) && !(error instanceof ProviderFailure)) throw error
}

/** Makes the instants of an account those of older zone data, and lets a job make them again in a window that moves. */
async function rollFrom(door: Door, accountId: string, random: Random): Promise<void> {
  await sql`
    update calendar_event set start_at = start_at - interval '1 hour', end_at = end_at - interval '1 hour',
      zone_release = case when kind <> 'exception' then '2000a' end
    where account_id = ${accountId}
  `.execute(door.db)
  await sql`
    update calendar_span set start_at = start_at - interval '1 hour', end_at = end_at - interval '1 hour'
    where account_id = ${accountId}
  `.execute(door.db)
  door.setDaysLater(random.pick([0, 1, 20]))
  await door.roll()
  await door.prune()
}

/** A caller who writes at random, whatever becomes of it. */
function writer(door: Door, path: string, random: Random) {
  const events = `${path}/calendar-events`
  let names = 0
  const name = () => `Written ${++names}`
  async function send(): Promise<{ status: number }> {
    const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
    const range = `start=${at(-5)}&end=${at(60)}`
    const { items } = (await door.get<{ items: CalendarEvent[] }>(`${events}?${range}`)).body
    const { id: calendarId, isPrimary } = random.pick(calendars)
    const act = random.next()
    if (act > 0.97 && !isPrimary) return door.delete(`${path}/calendars/${calendarId}`)
    if (act > 0.94) return door.post(`${path}/calendars`, { name: name() })
    if (items.length === 0 || act < 0.2) {
      const day = random.between(1, 5)
      const recurrence = random.chance(0.5) ? ['RRULE:FREQ=DAILY;COUNT=5'] : null
      return door.post(events, {
        calendarId,
        start: time(day),
        end: time(day, 1),
        subject: name(),
        recurrence,
        notify: false,
      })
    }
    const { id, kind, start, selfResponse } = random.pick(items)
    if (selfResponse === 'needs_action')
      return door.post(`${events}/${id}/respond`, {
        response: random.pick(['accepted', 'tentative', 'declined']),
      })
    const scope = kind === 'single' ? '' : `?scope=${random.pick(['this', 'following', 'series'])}`
    if (act < 0.35) return door.delete(`${events}/${id}${scope}`)
    if (act < 0.5 && (scope === '' || scope === '?scope=series'))
      return door.patch(`${events}/${id}${scope}`, { calendarId, subject: name() })
    const moved = {
      dateTime: new Date(Date.parse(start.dateTime!) + 3_600_000).toISOString(),
      timeZone: 'UTC',
    }
    const change = random.chance(0.3) ? { start: moved } : { subject: name() }
    return door.patch(`${events}/${id}${scope}`, change)
  }
  return async () => expect(ANSWERS).toContain((await send()).status)
}

test.each(SEEDS.flatMap(seed => (['files', 'members'] as const).map(kind => ({ seed, kind }))))(
  'after the random history $seed of writes and of another client in calendars told as $kind, index and provider are equal',
  { timeout: 60_000 },
  async ({ seed, kind }) => {
    await using database = await openTestDatabase()
    await using door = await openCalendarDoor(database)
    const account = await door.openAccount(kind)
    const { memory } = account
    memory.createCalendar('second')
    const random = seeded(`writes ${seed}`)
    memory.removesDeclined = random.chance(0.5)
    const acting = { invited: `${account.id}@example.com`, changesCalendars: true }
    const history = new History(memory, random.fork('other'), acting)
    let now = 0
    const doubts = new Doubts(() => now)
    await account.pass(doubts)
    const initial = await readShown(door.db, account.id)
    const write = writer(door, account.path, random.fork('writer'))
    let isWriting = false
    memory.onAwait = async () => {
      if (history.isOver) return
      if (random.chance(FAILING)) throw new ProviderFailure('unavailable', 'The connection broke.')
      if (isWriting) {
        if (random.chance(0.1)) throw new Killed()
        if (random.chance(0.1)) history.act()
        return
      }
      if (random.chance(0.4)) history.act()
      if (random.chance(0.05)) throw new Killed()
      if (random.chance(0.03)) await rollFrom(door, account.id, random)
      if (!random.chance(0.2)) return
      isWriting = true
      await write().finally(() => (isWriting = false))
    }
    for (let nth = 0; nth < PASSES; nth++) await account.pass(doubts).catch(unlessKilled)
    history.isOver = true
    await sql`update calendar_intent set leased_until = leased_until - interval '2 minutes'`.execute(door.db)
    for (const { key, isUnreadable } of memory.items.values())
      if (isUnreadable) memory.setUnreadable(key, false)
    for (let nth = 0; nth < 4; nth++) {
      await account.pass(doubts)
      // Calendars that a list lacks are believed to be gone.
      now += SECOND_LOOK_SECONDS * 1_000
    }
    door.setDaysLater(0)
    await door.roll()
    await expectEqualIndex(door.db, account, initial)
    for (const table of ['calendar_intent', 'calendar_mark'] as const)
      expect(await door.db.selectFrom(table).selectAll().execute()).toEqual([])
  },
)
