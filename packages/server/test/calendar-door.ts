import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import { sql } from 'kysely'
import { claimAccounts, type OwnedAccount } from '../src/accounts/halves/ownership.ts'
import { lockingHalf } from '../src/accounts/halves/lock.ts'
import { takeWanted } from '../src/accounts/halves/wanted.ts'
import type { Database, Db } from '../src/database/pool.ts'
import { listCalendars } from '../src/features/calendars/calendars/store.ts'
import { availabilityOperations } from '../src/features/calendars/availability/operations.ts'
import { calendarOperations } from '../src/features/calendars/calendars/operations.ts'
import { calendarEventOperations } from '../src/features/calendars/events/operations.ts'
import { SharedConnections } from '../src/connections/shared-connections.ts'
import { openSpanPlanner } from '../src/features/calendars/events/planner.ts'
import { pruneWindows } from '../src/features/calendars/events/prune.ts'
import { recordEvents } from '../src/features/calendars/events/record.ts'
import { rollWindows } from '../src/features/calendars/events/roll.ts'
import { keptWindow } from '../src/features/calendars/events/window.ts'
import { calendarWriteOperations } from '../src/features/calendars/writing/calendar-operations.ts'
import type { WriteMails } from '../src/features/calendars/writing/mails.ts'
import { eventWriteOperations } from '../src/features/calendars/writing/operations.ts'
import { runPass } from '../src/features/calendars/following/pass.ts'
import { inTransaction } from '../src/events/unit-of-work.ts'
import { loadLockedCalendars } from '../src/features/calendars/calendars/record-account.ts'
import type { RemoteObject } from '../src/providers/calendars.ts'
import { DAY_MS } from '../src/kit/wall-clock.ts'
import type { Expander } from '../src/kit/recurrence/expander.ts'
import { newId } from '../src/kit/ids.ts'
import { type Logger, silentLog } from '../src/kit/log.ts'
import { Doubts } from '../src/sync/doubts.ts'
import { callerOf } from './caller.ts'
import { addHalf, matchHalves } from './halves.ts'
import { type CalendarsKind, MemoryCalendars } from './memory-calendars.ts'
import { openTestDoor } from './open-door.ts'
import { sampleAccount } from './sample-rows.ts'

const DAYS = { past: 90, ahead: 365 }
const DAV = { calendarUrl: 'https://dav.example.com/', contactsUrl: null, user: 'ada', auth: 'imap_password' }

/** The operations of calendars behind a front door, over providers in memory. */
export async function openCalendarDoor(
  database: Database,
  {
    expander,
    mails,
    log = silentLog,
    onGivenUp,
  }: { expander?: Expander; mails?: WriteMails; log?: Logger; onGivenUp?: () => void } = {},
) {
  await using opened = new AsyncDisposableStack()
  const { db } = database
  const planner = opened.use(openSpanPlanner(silentLog, expander))
  let daysLater = 0
  const clock = { now: () => Date.now() + daysLater * DAY_MS }
  const memories = new Map<string, MemoryCalendars>()
  const connections = opened.use(memoryConnections(memories))
  const operations = {
    calendars: { ...calendarOperations, ...calendarWriteOperations({ connections }) },
    calendarEvents: {
      ...calendarEventOperations({ days: DAYS, clock }),
      ...eventWriteOperations({ days: DAYS, planner, clock, connections, ...(mails && { mails }) }),
    },
    availability: availabilityOperations({ connections, days: DAYS, clock }),
  }
  const door = opened.use(await openTestDoor({ database, operations }))

  /** An account of a provider in memory, whose calendars are switched on. */
  async function openAccount(
    kind: CalendarsKind,
    settings: Partial<AccountSettings> = { calendarEnabled: true },
  ) {
    const { id } = await sampleAccount(db, door.tenantId, { settings_override: JSON.stringify(settings) })
    await sql`
      update account set imap = jsonb_set(imap, '{dav}', ${JSON.stringify(DAV)}::jsonb) where id = ${id}
    `.execute(db)
    await addHalf(db, id, 'calendar', [])
    const memory = new MemoryCalendars(kind)
    memories.set(id, memory)
    let owned: OwnedAccount | null = null
    return {
      id,
      path: `/v1/accounts/${id}`,
      memory,
      /** Makes one pass of the follower. */
      async pass(doubts = new Doubts()) {
        owned ??= await own(db, id)
        const { isInitialized } = await takeWanted(db, owned, 'calendar')
        const session = {
          db,
          owned,
          provider: memory.connect(),
          days: DAYS,
          planner,
          ...(mails && { mails }),
          ...(onGivenUp && { onGivenUp }),
          log,
          isInitialized,
          isAsked: true,
          signal: new AbortController().signal,
          progressed: () => undefined,
          allow: () => undefined,
          doubts,
        }
        return runPass(session, {
          onDiffering: () => undefined,
          acquireBulkPermit: () => Promise.resolve({ isWanted: false, [Symbol.dispose]() {} }),
          onRead: () => Promise.resolve(),
        })
      },
      /** Records objects in the first calendar, as a provider brings them that is not in memory. */
      async record(objects: readonly RemoteObject[]) {
        await planner.run(id, items =>
          inTransaction(db, door.tenantId, async unit => {
            const loaded = await loadLockedCalendars(unit, id, lockingHalf(unit, id, 'calendar'))
            const [calendar] = await listCalendars(unit.sql, id)
            const options = {
              calendarId: calendar!.id,
              unzoned: calendar!.time_zone ?? 'UTC',
              own: loaded!.own,
            }
            const window = keptWindow(DAYS, Date.now())
            await recordEvents(unit, loaded!.account, objects, { ...options, window, planner: items })
          }),
        )
      },
    }
  }

  const signal = new AbortController().signal
  const roll = () => rollWindows({ db, days: DAYS, planner, log: silentLog, clock }, signal)
  const prune = () => pruneWindows({ db, days: DAYS, clock }, signal)

  const key = await door.createKey()
  const owner = opened.move()
  return {
    ...callerOf(door.address, key),
    as: (credential: string) => callerOf(door.address, credential),
    door,
    db,
    openAccount,
    /** Moves the clock of the jobs and of reads. That of passes stays. */
    setDaysLater: (days: number) => void (daysLater = days),
    roll,
    prune,
    [Symbol.asyncDispose]: () => owner.disposeAsync(),
  }
}

/** Connections to providers in memory, by account. */
function memoryConnections(memories: ReadonlyMap<string, MemoryCalendars>): SharedConnections {
  const permit = { isWanted: false, onWanted() {}, [Symbol.dispose]() {} }
  return new SharedConnections({
    connectorOf:
      ({ id }) =>
      async () => ({
        version: '1',
        host: 'calendars.test',
        syncWindowDays: null,
        isOneAtATime: false,
        acquire: async () => permit,
        connect: async () => ({
          calendars: memories.get(id)!.connect(),
          [Symbol.asyncDispose]: async () => {},
        }),
      }),
    endpointOf: () => 'calendars',
  })
}

async function own(db: Db, id: string): Promise<OwnedAccount> {
  const instanceId = newId()
  const heartbeat_until = new Date(Date.now() + 600_000)
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
  const claimed = await claimAccounts(db, instanceId, 1_000)
  await matchHalves(db)
  return claimed.find(account => account.id === id)!
}

export interface AnnouncedEvent {
  type: string
  data: {
    event?: CalendarEvent
    calendar?: Calendar
    changes?: string[]
    calendars?: number
    events?: number
  }
}

/** The events of calendars that an account has in the feed. */
export async function readCalendarFeed(db: Db, accountId: string): Promise<AnnouncedEvent[]> {
  const { rows } = await sql<AnnouncedEvent>`
    select type, data from event where type like 'calendar%' and account_id = ${accountId} order by id
  `.execute(db)
  return rows
}
