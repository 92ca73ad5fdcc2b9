import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { type Caller, callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { seeded } from '../seeded.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { SOAK } from '../soak.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { readFeed } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { readTakingPlace, waitForCalendars } from './caldav-account.ts'
import { calendarFeedOf } from './calendar-feed.ts'
import { davCalendars } from './dav-calendars.ts'
import { differingEvents, foldCalendars, lineOf, readAllEvents } from './folded-feed.ts'

/** The lease is that of production, so each kill takes 10 seconds and more. `npm run soak` has a kill for each seed. */
const KILLS = seedsFor(1)
const ACCOUNTS = 3
const ACTS = 3
const QUICK = fileURLToPath(new URL('../sync/quick-service.ts', import.meta.url))

const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

test(
  'accounts with calendars are taken over from a killed process, and each change is announced once',
  { ...SOAK, timeout: 120_000 * KILLS.length },
  async () => {
    await using opened = new AsyncDisposableStack()
    const external = opened.use(await makeExternalDatabase({ migrated: true }))
    const { db } = external.database
    const folder = opened.use(await makeDataFolder())
    const env = {
      DATABASE_URL: external.url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
      WAXWING_ALLOW_PLAINTEXT: 'true',
    }
    const start = async () => opened.use(await startServiceProcess(folder, { program: QUICK, env }))
    let processes = [await start()]
    const { key } = processes[0]!
    processes.push(await start())
    const random = seeded('calendars taken over')
    const callerAt = ({ address }: ServiceProcess): Caller => callerOf(address, key)
    const accounts = await Promise.all(
      Array.from({ length: ACCOUNTS }, (_, nth) => openAccount(callerAt(processes[nth % 2]!))),
    )

    for (const round of KILLS) {
      const [killed, left] = random.chance(0.5) ? processes : processes.toReversed()
      const caller = callerAt(left!)
      const before = await Promise.all(accounts.map(({ id }) => readAllEvents(caller, id)))
      const { cursor } = await readFeed(caller)
      killed!.kill('SIGKILL')
      for (const { other } of accounts) for (let act = 0; act < ACTS; act++) await other.act(random)
      for (const [nth, { id, other }] of accounts.entries()) {
        const wanted = (await other.list()).join('\n')
        await waitUntil(`account ${nth} to be followed after kill ${round}`, async () => {
          await caller.post(`/v1/accounts/${id}/sync`, { kinds: ['calendar'] })
          const found = (await readTakingPlace(caller, id)).map(lineOf).toSorted()
          return found.join('\n') === wanted
        })
        const feed = await calendarFeedOf(caller, id, cursor)
        expect(feed.length).toBeGreaterThan(0)
        const folded = foldCalendars(before[nth]!, feed)
        expect(differingEvents(folded, await readAllEvents(caller, id))).toEqual([])
      }
      const { rows } = await sql`
        select distinct owner_instance from account_half where kind = 'calendar' and owner_instance is not null
      `.execute(db)
      expect(rows).toHaveLength(1)
      processes = [left!, await start()]
    }
  },
)

/** An account with a calendar that another client changes. */
async function openAccount(caller: Caller) {
  const davUser = await radicale().addUser()
  const client = davTestClient(radicale(), davUser)
  const calendars = [await client.makeCalendar('work')]
  const dav = { dav: radicale(), davUser, half: 'calendarUrl' } as const
  const connection = connectionWithDav(dovecot(), await dovecot().addUser(), dav)
  const { status, body } = await caller.post<Account>('/v1/imap-accounts', connection)
  expect(status).toBe(200)
  await waitForCalendars(caller, body.id)
  const { url } = radicale()
  return { id: body.id, other: davCalendars(client, { url, homePath: davUser.calendarHomePath, calendars }) }
}
