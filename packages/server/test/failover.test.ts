import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { SUPERUSER } from '../src/database/embedded/cluster.ts'
import { type Db, openDatabase } from '../src/database/pool.ts'
import { parseCredential } from '../src/features/tenancy/credentials/rules.ts'
import { callerOf } from './caller.ts'
import { type PostgresServer, startPostgresServer } from './postgres-server.ts'
import { sampleAccount } from './sample-rows.ts'
import { hurry } from './sending/killable-sending.ts'
import { connectSender, send, waitForStatus } from './sending/open-sending.ts'
import { startDovecot } from './servers/dovecot.ts'
import { startSmtpSink } from './servers/smtp-sink.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'
import { LASTING, query, replicateSynchronously, startStandby, VERSION } from './standby.ts'
import { waitUntil } from './wait-until.ts'
import { SOAK } from './soak.ts'

const CALLERS = 4
const BILLION = 1_000_000_000n

/** A name for a database server that can be given to another one, as an address or a name in the DNS can. */
async function openName(server: PostgresServer) {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-name-'))
  const name = path.join(folder, 'current')
  const give = async ({ socketFolder }: PostgresServer) => {
    await symlink(socketFolder, `${name}.new`)
    await rename(`${name}.new`, name)
  }
  await give(server)
  return {
    url: `postgres://${SUPERUSER}:${server.password}@localhost/postgres?host=${encodeURIComponent(name)}`,
    give,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  }
}

interface FeedPage {
  items: Array<{ id: string }>
  nextCursor: string
}

/** Callers that change an account and create tokens, and one that follows the feed. Failures are repeated. */
function startCallers(address: string, key: string | null, accountId: string) {
  const over = new AbortController()
  const caller = callerOf(address, key)
  const found = { tokens: [] as string[], events: [] as string[], cursor: '', changesBegun: 0 }
  let answered = 0
  const loops = [...Array.from({ length: CALLERS }, () => createTokens), changeAccount, follow].map(
    async work => {
      while (!over.signal.aborted) {
        await work().catch(() => sleep(20))
        answered += 1
      }
    },
  )
  async function createTokens() {
    const { status, body } = await caller.post<{ token: string }>(`/v1/accounts/${accountId}/tokens`, {})
    if (status === 200) found.tokens.push(idOf(body.token))
  }
  async function changeAccount() {
    found.changesBegun += 1
    await caller.patch(`/v1/accounts/${accountId}`, { externalRef: String(answered) })
  }
  async function follow() {
    const after = found.cursor && `&cursor=${encodeURIComponent(found.cursor)}`
    const { status, body } = await caller.get<FeedPage>(`/v1/changes?limit=100${after}`)
    if (status !== 200) return
    found.events.push(...body.items.map(({ id }) => id))
    found.cursor = body.nextCursor
  }
  return {
    found,
    async stop() {
      over.abort()
      await Promise.all(loops)
    },
  }
}

async function findEvents(server: PostgresServer, type = '%'): Promise<bigint[]> {
  const rows = await query<{ id: string }>(
    server.address('postgres'),
    `select id::text from event where type like '${type}' order by event.id`,
  )
  return rows.map(({ id }) => BigInt(id))
}

/** The id of a token's row, which its text has. */
function idOf(token: string): string {
  return parseCredential(token)?.id ?? 'none'
}

async function findTokens(server: PostgresServer): Promise<string[]> {
  const rows = await query<{ id: string }>(server.address('postgres'), 'select id from account_token')
  return rows.map(({ id }) => id)
}

/** An account of the first tenant of a database that a service has migrated. */
async function addAccount(server: PostgresServer): Promise<string> {
  await using database = openDatabase({ address: server.address('postgres'), applicationName: 'a test' })
  const { db } = database
  const { id } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  return (await sampleAccount(db, id)).id
}

/** Waits until every send has ended, without the pauses between its attempts. */
function readEnds(db: Db): Promise<Array<{ status: string; count: number }>> {
  return waitUntil('the end of all sends', async () => {
    await hurry(db)
    const { rows } = await sql<{ status: string; count: number }>`
      select status, count(*)::int as count from outbox group by status order by status
    `.execute(db)
    return rows.every(({ status }) => status === 'sent' || status === 'failed') ? rows : null
  })
}

test('a service goes on with the standby: nothing that was acknowledged is missing, and no event id comes again', async () => {
  await using opened = new AsyncDisposableStack()
  const imap = opened.use(await startDovecot())
  const sink = opened.use(await startSmtpSink())
  const primary = opened.use(await startPostgresServer(VERSION, LASTING))
  const name = opened.use(await openName(primary))
  const folder = opened.use(await makeDataFolder())
  const env = {
    DATABASE_URL: name.url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_ROLES: 'api,jobs',
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
    WAXWING_DATABASE_FAILOVER: 'synchronous',
  }
  const service = opened.use(await startServiceProcess(folder, { env }))
  const backup = opened.use(await primary.takeBaseBackup())
  const standby = opened.use(await startStandby(primary, backup))
  await replicateSynchronously(primary)
  await waitUntil('the service to note it', async () => {
    const rows = await query(primary.address('postgres'), `select from feed_epoch where standby = 'sync'`)
    return rows.length > 0
  })
  const caller = callerOf(service.address, service.key)
  const senderId = await connectSender(caller, { imap, sink })
  const sent = await send(caller, senderId)
  await waitForStatus(caller, sent, 'sent')
  // From now on some are being sent, and the others wait.
  sink.behave = ({ step }) => (step === 'mail' ? { does: 'silence' } : null)
  const waiting = await Promise.all(Array.from({ length: 12 }, () => send(caller, senderId)))
  const accountId = await addAccount(primary)
  const { length: changesBefore } = await findEvents(primary, 'account.updated')
  const callers = startCallers(service.address, service.key, accountId)
  const { found } = callers
  await waitUntil('writes and events', async () => found.tokens.length > 50 && found.events.length > 10)

  // A service that is pointed to the standby too early reports the fault.
  const tooEarly = await runWaxwing(['key', 'list'], {
    env: { ...env, DATABASE_URL: standby.url('postgres') },
  })
  expect(tooEarly.stderr).toContain('The database is a standby, or is still recovering, and takes no writes.')

  await primary.kill()
  const acknowledged = {
    tokens: [...found.tokens],
    events: found.events.map(BigInt),
    cursor: found.cursor,
    changesBegun: found.changesBegun,
  }
  sink.behave = () => null
  sink.dropAll()
  await name.give(standby)
  await query(standby.address('postgres'), 'select pg_promote()')
  await waitUntil(
    'writes after the failover',
    async () =>
      found.tokens.length > acknowledged.tokens.length + 20 &&
      // Not any event: sends go on, too, and may be announced before an account is changed.
      (await findEvents(standby, 'account.updated')).some(id => id > acknowledged.events.at(-1)! + BILLION),
  )
  await callers.stop()

  expect(await findTokens(standby)).toEqual(expect.arrayContaining(acknowledged.tokens))
  const events = await findEvents(standby)
  expect(events).toEqual(expect.arrayContaining(acknowledged.events))
  // Some may have been committed without an answer, or not have been read.
  const changes = await findEvents(standby, 'account.updated')
  const old = changes.filter(id => id < acknowledged.events.at(-1)! + BILLION)
  expect(old.length).toBeLessThanOrEqual(changesBefore + acknowledged.changesBegun)
  expect(changes.length).toBeGreaterThan(old.length)
  const before = acknowledged.cursor
  const answer = await callerOf(service.address, service.key).get(
    `/v1/changes?cursor=${encodeURIComponent(before)}`,
  )
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
  const findNotes = () => service.output().match(/The database was restored, moved or failed over/g)
  await waitUntil('the log to say it', async () => findNotes() !== null)
  expect(findNotes()).toHaveLength(1)

  // A message that was never handed over goes out, once.
  await using database = openDatabase({ address: standby.address('postgres'), applicationName: 'a test' })
  expect(await readEnds(database.db)).toEqual([{ status: 'sent', count: 1 + waiting.length }])
  const accepted = (await sink.accepted()).map(({ messageId }) => messageId)
  const wanted = [sent, ...waiting].map(({ internetMessageId }) => internetMessageId)
  expect(accepted.toSorted()).toEqual(wanted.toSorted())
})

test(
  'a recovery to a point in time from a base backup and archived log begins a new history of the feed',
  SOAK,
  async () => {
    await using opened = new AsyncDisposableStack()
    const archive = await mkdtemp(path.join(tmpdir(), 'waxwing-archive-'))
    opened.defer(() => rm(archive, { recursive: true }))
    // The server runs as another user than the tests.
    await chmod(archive, 0o777)
    const settings = { ...LASTING, archive_mode: 'on', archive_command: `cp %p ${archive}/%f` }
    const source = opened.use(await startPostgresServer(VERSION, settings))
    const folder = opened.use(await makeDataFolder())
    const env = { WAXWING_SECRET_KEY: randomBytes(32).toString('base64'), WAXWING_ROLES: 'api,jobs' }
    const service = opened.use(
      await startServiceProcess(folder, { env: { ...env, DATABASE_URL: source.url('postgres') } }),
    )
    const backup = opened.use(await source.takeBaseBackup())
    const accountId = await addAccount(source)
    const accountPath = `/v1/accounts/${accountId}`
    const caller = callerOf(service.address, service.key)
    await caller.patch(accountPath, { externalRef: 'before' })
    const kept = await caller.post<{ token: string }>(`${accountPath}/tokens`, {})
    // As if commits had waited for a standby.
    await query(source.address('postgres'), `update feed_epoch set standby = 'sync'`)
    await query(source.address('postgres'), `select pg_create_restore_point('before the mistake')`)
    await caller.patch(accountPath, { externalRef: 'after' })
    await caller.post(`${accountPath}/tokens`, {})
    const { body: page } = await caller.get<FeedPage>('/v1/changes')
    service.kill('SIGKILL')
    await service.ended
    const [switched] = await query<{ file: string }>(
      source.address('postgres'),
      'select pg_walfile_name(pg_switch_wal()) as file',
    )
    await waitUntil('the log to be archived', async () => {
      const rows = await query(
        source.address('postgres'),
        `select from pg_stat_archiver where last_archived_wal >= '${switched!.file}'`,
      )
      return rows.length > 0
    })

    const recovery = {
      ...LASTING,
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_name: 'before the mistake',
      recovery_target_action: 'promote',
    }
    const restored = opened.use(await startPostgresServer(VERSION, recovery, { backup, as: 'recovery' }))
    await waitUntil('the end of the recovery', async () => {
      const rows = await query(restored.address('postgres'), 'select where not pg_is_in_recovery()')
      return rows.length > 0
    })
    expect(await findTokens(restored)).toEqual([idOf(kept.body.token)])
    const afterwards = {
      ...env,
      DATABASE_URL: restored.url('postgres'),
      WAXWING_DATABASE_FAILOVER: 'synchronous',
    }
    const again = opened.use(await startServiceProcess(folder, { env: afterwards }))
    const later = callerOf(again.address, service.key)
    expect((await later.get(accountPath)).body).toMatchObject({ externalRef: 'before' })
    expect(await later.get(`/v1/changes?cursor=${encodeURIComponent(page.nextCursor)}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    })
    // A target was given, so commits may be lost.
    expect(again.output()).toContain('they are held: see')
    await later.patch(accountPath, { externalRef: 'again' })
    const newest = (await findEvents(restored)).at(-1)!
    expect(newest).toBeGreaterThan(BigInt(page.items.at(-1)!.id) + BILLION)
  },
)
