import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFailed, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { seeded } from '../seeded.ts'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { startDavical } from '../servers/davical.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { startSabre } from '../servers/sabre.ts'
import { type SandboxServer, startSandbox } from '../servers/sandbox.ts'
import { useServer } from '../servers/shared-server.ts'
import { startXandikos } from '../servers/xandikos.ts'
import { makeDataFolder } from '../service-process.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { readFeed } from '../sync/followed-account.ts'
import { type KillableService, openKillableService } from '../sync/killable-service.ts'
import { waitUntil } from '../wait-until.ts'
import { readTakingPlace, waitForCalendars } from './caldav-account.ts'
import { calendarFeedOf } from './calendar-feed.ts'
import { type CalendarWorld, davWorld, googleWorld, graphWorld, sandboxEnv } from './calendar-worlds.ts'
import { differingEvents, expectLastingIds, foldCalendars, lineOf, readAllEvents } from './folded-feed.ts'
import { RandomWrites } from './random-writes.ts'

const SECONDS = 1_000
/** `npm run soak` has longer histories. */
const IS_SOAK = process.env['WAXWING_SEEDS'] !== undefined
const ACTS = IS_SOAK ? 30 : 8
const KILLS = IS_SOAK ? 2 : 1
/** A kill comes at most this long after a request of the interface began. */
const KILL_MS_MAX = 80
const FURNISHED = 5

let sandbox: SandboxServer
let service: KillableService
let db: Db
const opened = new AsyncDisposableStack()
beforeAll(async () => {
  sandbox = opened.use(await startSandbox())
  const external = opened.use(await makeExternalDatabase({ migrated: true }))
  db = external.database.db
  const env = {
    ...sandboxEnv(sandbox),
    DATABASE_URL: external.url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
  }
  service = opened.use(await openKillableService(env, makeDataFolder))
}, 300 * SECONDS)
afterAll(() => opened.disposeAsync())
const dovecot = useServer(startDovecot)

interface World {
  name: string
  /** How many seeds CI runs. `npm run soak` runs more on all. */
  seeds: number
  open(seed: number): Promise<CalendarWorld>
}

const WORLDS: readonly World[] = [
  { name: 'Radicale', seeds: 1, open: () => davWorld(startRadicale, dovecot()) },
  { name: 'Xandikos', seeds: 0, open: () => davWorld(() => startXandikos({ isForOne: true }), dovecot()) },
  { name: 'Cyrus', seeds: 0, open: () => davWorld(startCyrusDav, dovecot()) },
  { name: 'sabre/dav', seeds: 0, open: () => davWorld(startSabre, dovecot()) },
  { name: 'DAViCal', seeds: 0, open: () => davWorld(startDavical, dovecot()) },
  { name: 'Google', seeds: 0, open: seed => googleWorld(sandbox, seed) },
  { name: 'Graph', seeds: 1, open: seed => graphWorld(sandbox, seed, 'global') },
  { name: 'Graph in China', seeds: 0, open: seed => graphWorld(sandbox, seed, 'china') },
]

describe.each(WORLDS.filter(({ seeds }) => seedsFor(seeds).length > 0))(
  'after random changes of calendars by the interface and by another client of $name',
  ({ name, seeds, open }) => {
    test.each(seedsFor(seeds))(
      'with failing calls and kills of the service, nothing is lost, made or told twice, and ids last (seed %i)',
      async seed => {
        const { caller } = service
        const random = seeded(`calendars on ${name} ${seed}`)
        await using world = await open(seed)
        const log: string[] = []
        onTestFailed(() => void process.stderr.write(`${[...log, ...service.errors()].join('\n')}\n`))
        const others = random.fork('other')
        for (let nth = 0; nth < FURNISHED; nth++) log.push(await world.other.act(others))
        const accountId = await world.connect(caller)
        await waitForCalendars(caller, accountId)
        const before = await readAllEvents(caller, accountId)
        const { cursor } = await readFeed(caller)

        const writes = new RandomWrites(caller, accountId, random.fork('interface'))
        const killAt = new Set(Array.from({ length: KILLS }, () => random.between(1, ACTS - 1)))
        const byInterface = async () => {
          for (let act = 0; act < ACTS; act++) {
            if (killAt.has(act)) setTimeout(() => service.kill(), random.between(0, KILL_MS_MAX))
            if (act % 3 === 0) await world.trouble(random)
            await writes.act()
            log.push(...writes.log.splice(0))
          }
        }
        const byOther = async () => {
          for (let act = 0; act < ACTS; act++) log.push(await world.other.act(others))
        }
        await Promise.all([byInterface(), byOther()])
        await world.calm()
        expect(writes.failures).toEqual([])

        let [wanted, found]: [string[], string[]] = [[], []]
        await waitUntil('the index to equal the calendars', async () => {
          await sql`
            update calendar_intent set leased_until = least(leased_until, clock_timestamp()) where account_id = ${accountId}
          `.execute(db)
          await caller.post(`/v1/accounts/${accountId}/sync`, { kinds: ['calendar'] })
          wanted = await world.other.list()
          found = (await readTakingPlace(caller, accountId)).map(lineOf).toSorted()
          return found.join('\n') === wanted.join('\n') && (await countUnfinished(accountId)) === 0
        }).catch(() => {})
        expect(found).toEqual(wanted)
        expect(await countUnfinished(accountId)).toBe(0)

        const listed = await readTakingPlace(caller, accountId)
        writes.expectKept(found, listed)
        expectLastingIds(listed)
        const feed = await calendarFeedOf(caller, accountId, cursor)
        expect(differingEvents(foldCalendars(before, feed), await readAllEvents(caller, accountId))).toEqual(
          [],
        )
        await caller.delete(`/v1/accounts/${accountId}`)
      },
    )
  },
)

/** Writes that are not finished, and items about which the provider is still to be asked. */
async function countUnfinished(accountId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select (select count(*)::int from calendar_intent where account_id = ${accountId})
      + (select count(*)::int from calendar_mark where account_id = ${accountId}) as count
  `.execute(db)
  return rows[0]?.count ?? 0
}
