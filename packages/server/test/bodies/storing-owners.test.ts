import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { type ChaosProxy, startChaosProxy } from '../servers/chaos-proxy.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { makeDataFolder, type ServiceProcess, startServiceProcess } from '../service-process.ts'
import { connectMailbox, openSyncApp, waitForFirstSync } from '../sync/followed-account.ts'
import { shortMessages } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import { openBlobFolder } from './blob-folder.ts'
import { numberFor } from '../soak.ts'

const FULL = { bodyStorage: 'full', syncWindowDays: null }
const PROGRAM = fileURLToPath(new URL('./sharing-service.ts', import.meta.url))
const PROCESSES = 3
const ACCOUNTS = numberFor({ ci: 3, soak: 6 })
/** Twice as many batches as are under way at one time. */
const MESSAGES = 800
/** For a loaded machine. */
const WAIT_SECONDS = 120

const useIt = useServer(SERVER_KINDS[0].start)

test('bodies are stored and found while the first sync still runs', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.createMailbox('Other')
  await world.deliver(shortMessages(1, 40))
  await world.deliver(shortMessages(100, 5), 'Other')
  await using proxy = await startChaosProxy(server, {
    // The messages of the other mailbox. A FETCH that is cut is repeated for fewer messages.
    judge: (_, command) => (/^UID FETCH [1-5](?:[:,][1-5])* /.test(command) ? 'cut' : 'pass'),
  })
  await using blobs = await openBlobFolder()
  await using app = await openSyncApp({ config: { blobDir: blobs.folder } })
  const accountId = await connectMailbox(app, proxy, user, FULL)
  const untilStored = (count: number) =>
    waitUntil(`${count} bodies`, async () => (await countIndexed(app.db)) === count, WAIT_SECONDS)
  await untilStored(40)
  const { body } = await app.get<{ initializedAt: string | null }>(`/v1/accounts/${accountId}`)
  expect(body.initializedAt).toBeNull()

  proxy.faults = {}
  await app.post(`/v1/accounts/${accountId}/sync`, {})
  await waitForFirstSync(app, accountId, WAIT_SECONDS)
  await untilStored(45)
  expect(await blobs.files()).toHaveLength(45)
  expect(fetchedUids(proxy)).toHaveLength(45)
}, 300_000)

/** The UIDs whose sources were fetched, in order; one that was fetched twice is in it twice. */
function fetchedUids({ stats }: ChaosProxy): string[] {
  return stats.lines.flatMap(line => {
    const [, set = ''] = /^UID FETCH (\S+) \(UID BODY\.PEEK\[\]<0\./.exec(line) ?? []
    return set.split(',').flatMap(range => {
      const [first = '', last = first] = range.split(':')
      if (first === '') return []
      return Array.from({ length: Number(last) - Number(first) + 1 }, (_, nth) => String(Number(first) + nth))
    })
  })
}

async function countIndexed(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from message_blob where message_id is not null and is_indexed
  `.execute(db)
  return rows[0]!.count
}

interface Owner {
  id: string
  owner: string
  epoch: string
  stored: number
}

async function readOwners(db: Db): Promise<Owner[]> {
  const { rows } = await sql<Owner>`
    select id, owner_instance as owner, owner_epoch as epoch,
      (select count(*)::int from message_blob where account_id = account.id and message_id is not null) as stored
    from account order by id
  `.execute(db)
  return rows
}

/** The accounts whose bodies a process has stored, by its log. */
function storedBy(service: ServiceProcess): Set<string> {
  // The last line may still be written.
  const lines = service.output().split('\n').slice(0, -1)
  return new Set(
    lines.flatMap(line => {
      if (!line.includes('"Stored bodies"')) return []
      return (JSON.parse(line) as { accountId: string }).accountId
    }),
  )
}

test('each process stores the bodies of its own accounts, and those of one that was killed', async () => {
  const server = useIt()
  await using proxy = await startChaosProxy(server)
  await using opened = new AsyncDisposableStack()
  const external = opened.use(await makeExternalDatabase({ migrated: true }))
  const { db } = external.database
  const folder = opened.use(await makeDataFolder())
  const env = {
    DATABASE_URL: external.url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_ROLES: 'api,sync',
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
    WAXWING_CONNECTIONS_PER_HOST: '100',
  }
  const start = async () => opened.use(await startServiceProcess(folder, { program: PROGRAM, env }))
  const first = await start()
  const caller = callerOf(first.address, first.key)
  const connect = async () => {
    const user = await server.addUser()
    await using world = await openWorld(server, user)
    await world.deliver(shortMessages(1, MESSAGES))
    return connectMailbox(caller, proxy, user, { syncWindowDays: null })
  }
  const [later, accountIds] = await Promise.all([
    Promise.all(Array.from({ length: PROCESSES - 1 }, start)),
    Promise.all(Array.from({ length: ACCOUNTS }, connect)),
  ])
  const services: ServiceProcess[] = [first, ...later]
  for (const id of accountIds) await waitForFirstSync(caller, id, WAIT_SECONDS)
  await waitUntil(
    'an even spread',
    async () => {
      const owned = Map.groupBy(await readOwners(db), ({ owner }) => owner)
      return (
        owned.size === PROCESSES && [...owned.values()].every(({ length }) => length === ACCOUNTS / PROCESSES)
      )
    },
    WAIT_SECONDS,
  )

  // Slow enough for the kill to happen while bodies are being stored: the proxy waits as long as this test does.
  proxy.faults = { latencyMs: 1000 }
  const before = await readOwners(db)
  await caller.patch('/v1/settings', { bodyStorage: 'full' })
  const victim = services.at(-1)!
  await waitUntil('a body', () => Promise.resolve(storedBy(victim).size > 0), WAIT_SECONDS)
  victim.kill('SIGKILL')
  await victim.ended
  const killed = await readOwners(db)
  const stored = services.map(storedBy)
  const owners = new Map(before.map(account => [account.id, account]))
  // Nothing is asserted about an account that a process has lost meanwhile, since the machine was too slow for its
  // lease.
  const stayed = killed.filter(({ id, epoch }) => owners.get(id)?.epoch === epoch)
  const storing = stayed.map(({ id, owner }) => ({
    owner,
    by: stored.flatMap((ids, nth) => (ids.has(id) ? nth : [])),
  }))
  for (const { by } of storing) expect(by.length).toBeLessThanOrEqual(1)
  for (const [nth] of services.entries()) {
    const ofOwners = storing.filter(({ by }) => by.includes(nth)).map(({ owner }) => owner)
    expect(new Set(ofOwners).size).toBeLessThanOrEqual(1)
  }
  const left = killed.filter(({ id }) => stored.at(-1)!.has(id))
  expect(left.some(account => account.stored < MESSAGES)).toBe(true)

  proxy.faults = {}
  await waitUntil('all', async () => (await countIndexed(db)) === ACCOUNTS * MESSAGES, 2 * WAIT_SECONDS)
  // A line comes after its effect is in the database.
  await waitUntil('others to say what they stored', () => {
    const others = services.slice(0, -1).map(storedBy)
    const isSaid = left.every(
      ({ id, stored: count }) => count === MESSAGES || others.some(ids => ids.has(id)),
    )
    return Promise.resolve(isSaid)
  })
  const { rows } = await sql<{ bytes: string; counted: string }>`
    select sum(bytes)::text as bytes, (select sum(bytes) from tenant_storage)::text as counted from message_blob
  `.execute(db)
  expect(rows[0]!.counted).toBe(rows[0]!.bytes)
}, 600_000)
