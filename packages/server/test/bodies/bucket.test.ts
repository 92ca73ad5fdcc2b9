import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Config, readConfig } from '../../src/config.ts'
import { blobKey } from '../../src/kit/blobs/blob-key.ts'
import { openS3Objects } from '../../src/kit/blobs/s3/s3-objects.ts'
import { unrecorded } from '../../src/kit/blobs/s3/s3-uploads.ts'
import { newId } from '../../src/kit/ids.ts'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { makeTaskDue } from '../make-task-due.ts'
import type { TestApp } from '../open-app.ts'
import { openTestDatabase } from '../open-database.ts'
import { sampleAccount } from '../sample-rows.ts'
import { type S3Server, startS3 } from '../servers/s3.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { makeDataFolder, startServiceProcess } from '../service-process.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { SOAK } from '../soak.ts'

const ROLES = { roles: ['api', 'sync', 'jobs'] as const satisfies unknown[] }
const FULL = { bodyStorage: 'full', syncWindowDays: null }
const DAY_MILLISECONDS = 86_400_000

const useIt = useServer(SERVER_KINDS[0].start)
let s3: S3Server
beforeAll(async () => void (s3 = await startS3()))
afterAll(() => s3[Symbol.asyncDispose]())

function configOf(prefix: string): Partial<Config> {
  const config = readConfig({ ...s3.env, WAXWING_S3_PREFIX: prefix }, { isRoot: false, isTerminal: false })
  return Object.fromEntries(Object.entries(config).filter(([key]) => key.startsWith('s3')))
}

/** The keys below a prefix, without the mark. */
async function listKeys(prefix: string): Promise<string[]> {
  const objects = await openS3Objects({ ...s3.settings, prefix }, unrecorded)
  const pages = await Array.fromAsync(objects.list(''))
  return pages.flat().flatMap(({ key }) => (key.includes('/') ? [key] : []))
}

function letter(subject: string, bytes: number) {
  const head = ['From: Ada <ada@a.test>', `Subject: ${subject}`, `Message-ID: <${subject}@a.test>`]
  const text = randomBytes(bytes).toString('base64').replaceAll(/.{70}/g, '$&\r\n')
  return { raw: `${head.join('\r\n')}\r\n\r\n${text}\r\n` }
}

async function download(app: Pick<TestApp, 'address' | 'key'>, accountId: string, messageId: string) {
  const answer = await fetch(`${app.address}/v1/accounts/${accountId}/messages/${messageId}/raw`, {
    headers: { authorization: `Bearer ${app.key}` },
  })
  return answer.ok ? Buffer.from(await answer.arrayBuffer()).toString() : answer.status
}

async function readRows(app: TestApp) {
  const { rows } = await sql<{ id: string; isBound: boolean }>`
    select id, message_id is not null as "isBound" from message_blob order by id`.execute(app.db)
  return rows
}

test('a service stores messages in a bucket, serves them from it, and outlives its trouble', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  const letters = [letter('small', 2000), letter('large', 9_000_000)]
  for (const each of letters) await world.deliver(each)
  await using app = await openSyncApp({ config: configOf('one'), ...ROLES })
  const accountId = await connectMailbox(app, server, user, FULL)
  await waitForFirstSync(app, accountId)
  await waitUntil(
    'both are stored',
    async () => (await readRows(app)).filter(row => row.isBound).length === 2,
  )
  expect(await listKeys('one')).toHaveLength(2)
  expect(s3.requests.some(line => line.includes('partNumber=2'))).toBe(true)
  expect(s3.openUploads.size).toBe(0)

  // Nothing comes from the provider while the account is paused.
  await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  const messages = (await readMessages(app, accountId)).toSorted((one, other) =>
    one.subject! < other.subject! ? 1 : -1,
  )
  const readAll = () => Promise.all(messages.map(({ id }) => download(app, accountId, id)))
  expect(await readAll()).toEqual(letters.map(({ raw }) => raw))
  const { status } = await app.get(`/v1/accounts/${accountId}/messages/${messages[0]?.id}`)
  expect(status).toBe(200)

  // The bucket refuses, fails, and is out of reach: messages come from the provider, and no row is let go.
  await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })
  const rows = await readRows(app)
  for (const answer of [
    { status: 403, code: 'AccessDenied' },
    { status: 500, code: 'InternalError' },
    { status: 404, code: 'NoSuchBucket' },
  ]) {
    s3.faults = [{ answer }]
    expect(await readAll()).toEqual(letters.map(({ raw }) => raw))
  }
  s3.faults = []
  await s3.pause()
  expect(await readAll()).toEqual(letters.map(({ raw }) => raw))
  await s3.resume()
  expect(await readRows(app)).toEqual(rows)

  // One object is really gone: it is stored again.
  const objects = await openS3Objects({ ...s3.settings, prefix: 'one' }, unrecorded)
  for (const key of await listKeys('one')) await objects.remove(key)
  const countNew = async () => {
    const isNew = ({ id, isBound }: (typeof rows)[number]) => isBound && rows.every(row => row.id !== id)
    return (await readRows(app)).filter(isNew).length
  }
  await waitUntil('the bucket is asked again', async () => {
    await download(app, accountId, messages[0]!.id)
    return (await countNew()) > 0
  })
  await waitUntil('new rows', async () => {
    await readAll()
    return (await countNew()) === rows.length
  })
  await makeTaskDue(app.database.pool, 'sweep_blobs')
  await waitUntil('the sweep', async () => (await readRows(app)).length === rows.length)
  await waitUntil('both again', async () => (await listKeys('one')).length === 2)

  await app.delete(`/v1/accounts/${accountId}?purge=true`)
  await makeTaskDue(app.database.pool, 'purge_accounts')
  await waitUntil('the purge', async () => (await listKeys('one')).length === 0)
})

test('objects without a row are removed after two days, unless the database may be a copy', async () => {
  const prefix = 'orphans'
  const clock = { now: () => Date.now() }
  await using app = await openSyncApp({ config: configOf(prefix), roles: ['api', 'jobs'], clock })
  const objects = await openS3Objects({ ...s3.settings, prefix }, unrecorded)
  const rows = []
  for (const account of [1, 2, 3].map(() => sampleAccount(app.db, app.tenantId, { status: 'paused' })))
    rows.push({ id: newId(), tenant_id: app.tenantId, account_id: (await account).id })
  await app.db.insertInto('message_blob').values(rows).execute()
  const known = rows.map(blobKey)
  const orphans = rows.map(row => blobKey({ ...row, id: newId() }))
  const others = ['ad/2026-11-22', 'not-ours.txt']
  for (const key of [...known, ...orphans, ...others]) await objects.put(key, Buffer.from(key))
  const sweep = async () => {
    await sql`delete from recurring_task where name = 'sweep_orphans'`.execute(app.db)
    await makeTaskDue(app.database.pool, 'sweep_orphans')
    await waitUntil('the sweep', async () => {
      const { rows: left } = await sql`
        select from recurring_task where name = 'sweep_orphans' and (due_at <= clock_timestamp() or claimed_by is not null)
      `.execute(app.db)
      return left.length === 0
    })
    return (await Array.fromAsync(objects.list(''))).flat().map(({ key }) => key)
  }
  const all = (await sweep()).length
  expect(all).toBe(known.length + orphans.length + others.length + 1)

  clock.now = () => Date.now() + 3 * DAY_MILLISECONDS
  await sql`update feed_epoch set epoch = 'another'`.execute(app.db)
  expect(await sweep()).toHaveLength(all)
  expect(app.logLines.some(line => line.includes('waxwing database restored'))).toBe(true)

  await sql`update blob_mark set epoch = 'another'`.execute(app.db)
  const left = await sweep()
  expect(left).toHaveLength(all - orphans.length)
  expect(left).toEqual(expect.arrayContaining([...known, ...others]))
  expect(await readRows(app)).toHaveLength(known.length)
})

test('an upload whose process was killed leaves nothing after the sweep', SOAK, async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver(letter('large', 30_000_000))
  await using database = await makeExternalDatabase({ migrated: true })
  await using folder = await makeDataFolder()
  const env = {
    ...s3.env,
    WAXWING_S3_PREFIX: 'killed',
    DATABASE_URL: database.url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
  }
  s3.faults = [{ method: 'PUT', url: 'partNumber=2', isSilent: true, times: 1 }]
  const { pool } = database.database
  {
    await using service = await startServiceProcess(folder, { env })
    const api = callerOf(service.address, service.key)
    const accountId = await connectMailbox(api, server, user, FULL)
    await waitUntil('an upload', async () => s3.openUploads.size === 1 && s3.faults[0]?.times === 0)
    await api.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'none' } })
    service.kill('SIGKILL')
    await service.ended
  }
  s3.faults = []
  expect(s3.openUploads.size).toBe(1)
  const later = `set created_at = created_at - interval '2 hours'`
  expect((await pool.query(`update blob_upload ${later}`)).rowCount).toBe(1)
  await pool.query(`update message_blob ${later}`)
  await using _ = await startServiceProcess(folder, { env })
  for (const task of ['sweep_uploads', 'sweep_blobs']) await makeTaskDue(pool, task)
  await waitUntil('the sweep', async () => {
    const { rows } = await pool.query(`select from blob_upload union all select from message_blob`)
    return rows.length === 0
  })
  expect(s3.openUploads.size).toBe(0)
  expect(await listKeys('killed')).toEqual([])
})

test('a process with another bucket, prefix or folder than the others is refused', SOAK, async () => {
  await using app = await openSyncApp({ config: configOf('first') })
  const { database, keyRing } = app
  const open = (config: Partial<Config>) => openSyncApp({ database, keyRing, config })
  const blobDir = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  try {
    await using same = await open(configOf('first'))
    await expect.poll(async () => (await same.get('/health/ready')).status).toBe(200)
    await expect(open(configOf('second'))).rejects.toThrow(/other processes.*of\/waxwing|is empty/s)
    await expect(open({ blobDir })).rejects.toThrow(blobDir)
    await using theirs = await openTestDatabase()
    await sql`update blob_mark set id = gen_random_uuid()`.execute(theirs.db)
    await using other = await openSyncApp({ database: theirs, config: configOf('other') })
    await expect(open(configOf('other'))).rejects.toThrow('another installation')
    await expect.poll(async () => (await other.get('/health/ready')).status).toBe(200)
  } finally {
    await rm(blobDir, { recursive: true })
  }
})

test('wrong settings of a bucket end the start, and a bucket that is out of reach does not', async () => {
  const open = (config: Partial<Config>) => openSyncApp({ config: { ...configOf('settings'), ...config } })
  await expect(open({ s3Bucket: 'no-such-bucket' })).rejects.toThrow('WAXWING_S3_BUCKET')
  s3.faults = [{ answer: { status: 403, code: 'SignatureDoesNotMatch' } }]
  await expect(open({})).rejects.toThrow('WAXWING_S3_SECRET_ACCESS_KEY')
  s3.faults = []
  await using app = await open({ s3Endpoint: 'http://127.0.0.1:9' })
  await expect.poll(async () => (await app.get('/health/ready')).status).toBe(200)
  expect(app.logLines.some(line => line.includes('Stored messages cannot be used now'))).toBe(true)
  expect(app.logLines.join('')).toContain('WAXWING_S3_ENDPOINT')
})
