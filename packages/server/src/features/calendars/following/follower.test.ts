import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { readCalendarFeed } from '../../../../test/calendar-door.ts'
import { type LookingProcess, openLookingProcess } from '../../../../test/looking-process.ts'
import { MemoryCalendars } from '../../../../test/memory-calendars.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import type { Db } from '../../../database/pool.ts'
import { silentLog } from '../../../kit/log.ts'
import { openSpanPlanner } from '../events/planner.ts'
import { openCalendarsFollower } from './follower.ts'

const DAYS = { past: 90, ahead: 365 }
const CALENDAR_SCOPE = 'https://www.googleapis.com/auth/calendar'

/** A process that follows the calendars of one account, of which one has one event. */
async function openProcess(given: Pick<LookingProcess, 'modules' | 'home' | 'scopes'> = {}) {
  await using opened = new AsyncDisposableStack()
  const planner = opened.use(openSpanPlanner(silentLog))
  const memory = new MemoryCalendars('files')
  const [calendar = ''] = memory.calendars.keys()
  memory.add(calendar, { subject: 'Ada' })
  const process = opened.use(
    await openLookingProcess({
      kind: 'calendar',
      memory,
      offered: () => ({ calendars: memory.connect() }),
      followerOf: (db: Db, lookSeconds) =>
        openCalendarsFollower({ db, days: DAYS, planner, log: silentLog, lookSeconds }),
      ...given,
    }),
  )
  const feed = async () =>
    (await readCalendarFeed(process.db, process.accountId)).map(({ type, data }) =>
      [type, data.event?.subject].filter(Boolean).join(' '),
    )
  const owned = opened.move()
  return { ...process, memory, calendar, feed, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('calendars are read, announced from then on, rest while they are off, and catch up', async () => {
  await using process = await openProcess()
  const { memory, calendar, half, awaitState, turnOn, feed } = process
  await awaitState('live')
  expect(await half()).toMatchObject({ isInitialized: true, isBehind: false, problem: null })
  memory.add(calendar, { subject: 'Grace' })
  await waitUntil('the new event', async () => (await feed()).length === 2)
  await turnOn(false)
  await awaitState('stopped')
  expect(await half()).toMatchObject({ detail: 'calendars are switched off', isBehind: false })
  memory.add(calendar, { subject: 'Edsger' })
  await turnOn(true)
  await waitUntil('the next event', async () => (await feed()).length === 3)
  expect(await feed()).toEqual([
    'calendar.initialized',
    'calendar_event.created Grace',
    'calendar_event.created Edsger',
  ])
})

test('calendars that the plan does not include are not followed until it does', async () => {
  await using process = await openProcess({ modules: [] })
  const { memory, half, awaitState, assign } = process
  await awaitState('stopped')
  expect(await half()).toMatchObject({ detail: 'the plan does not include calendars', isBehind: false })
  expect(memory.calls).toEqual([])
  await assign(null)
  await awaitState('live')
})

test('calendars that the grant does not allow rest with a problem of their own', async () => {
  await using process = await openProcess({ scopes: ['https://www.googleapis.com/auth/contacts'] })
  const { awaitState, awaitProblem, signInAgain } = process
  await awaitProblem('scope_missing')
  await awaitState('stopped')
  await signInAgain([CALENDAR_SCOPE])
  await awaitState('live')
  await awaitProblem(null)
})

test('calendars of another home are others, and leave no rows', async () => {
  await using process = await openProcess({ home: 'https://dav.example.com/one/' })
  const { db, memory, calendar, trouble, half, awaitState, moveTo, feed } = process
  await awaitState('live')
  // No look at the former home finds the calendars of the next one.
  trouble.kind = 'unavailable'
  memory.removeCalendar(calendar)
  memory.add(memory.createCalendar('next'), { subject: 'Grace' })
  await moveTo('https://dav.example.com/two/')
  trouble.kind = null
  await waitUntil('the next first sync', async () => (await feed()).length === 3)
  await awaitState('live')
  await moveTo(null)
  await awaitState('stopped')
  expect((await half()).isInitialized).toBe(false)
  expect(await feed()).toEqual([
    'calendar.initialized',
    'calendar.deleted',
    'calendar.initialized',
    'calendar.deleted',
  ])
  for (const table of ['calendar', 'calendar_event', 'calendar_span', 'calendar_home'])
    expect((await sql`select from ${sql.table(table)}`.execute(db)).rows).toEqual([])
})

test('a refused login is the problem of the calendars, and leaves the account active', async () => {
  await using process = await openProcess()
  const { trouble, half, awaitState, awaitProblem, turnOn } = process
  trouble.kind = 'login_failed'
  await awaitProblem('dav_login_failed')
  expect((await half()).status).toBe('active')
  trouble.kind = null
  await turnOn(true)
  await awaitState('live')
  await awaitProblem(null)
})
