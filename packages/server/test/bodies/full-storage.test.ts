import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, rmdir, truncate } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { CONTENT_BYTES_MAX } from '../../src/providers/content.ts'
import { generateMail } from '../mail/corpus.ts'
import { makeTaskDue } from '../make-task-due.ts'
import type { TestApp } from '../open-app.ts'
import { sampleMessages } from '../sample-rows.ts'
import { fillMailboxes } from '../servers/fill.ts'
import { lend, SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { connectMailbox, openSyncApp, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { openProxiedAccount, shortMessage, shortMessages } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import { openBlobFolder } from './blob-folder.ts'
import { casesFor, SOAK } from '../soak.ts'

/** Accounts with something left to store are looked at each minute; those with news are looked at sooner. */
const SOON_SECONDS = 55
const ROLES = { roles: ['api', 'sync', 'jobs'] as const satisfies unknown[] }
const FULL = { bodyStorage: 'full', syncWindowDays: null }

const useIt = useServer(SERVER_KINDS[0].start)
const start = () => Promise.resolve(lend(useIt()))

/** Counts stored messages, messages found by their words, other rows, and the recorded sizes. */
async function readStored(app: TestApp, accountId: string) {
  const { rows } = await sql<{ stored: number; others: number; bytes: number; counted: number }>`
    select count(*) filter (where message_id is not null and is_indexed and account_id = ${accountId})::int as stored,
      count(*) filter (where message_id is null or account_id <> ${accountId})::int as others,
      coalesce(sum(bytes), 0)::int as bytes,
      coalesce((select sum(bytes) from tenant_storage), 0)::int as counted
    from message_blob
  `.execute(app.db)
  return rows[0]!
}

async function find(app: TestApp, accountId: string, word: string) {
  const url = `/v1/accounts/${accountId}/search/messages?source=index&q=${word}`
  const { body } = await app.get<{ items: Array<{ subject: string }> }>(url)
  return body.items.map(({ subject }) => subject)
}

function letter(subject: string, text: string) {
  const head = ['From: Ada <ada@a.test>', `Subject: ${subject}`, `Message-ID: <${subject}@a.test>`]
  return { raw: `${head.join('\r\n')}\r\n\r\n${text}\r\n` }
}

test('every message of every mailbox is stored and can be searched at once, and so is new mail', async () => {
  const server = useIt()
  const [user, other] = [await server.addUser(), await server.addUser()]
  const mail = [...generateMail({ seed: 5, count: 250, sizeMedian: 500 })]
  await fillMailboxes(server, user, mail)
  await fillMailboxes(server, other, mail.slice(0, 5))
  await using world = await openWorld(server, user)
  const long = 'a line that is quite long\r\n'.repeat(CONTENT_BYTES_MAX / 20)
  await world.deliver(letter('large', `${long}quokka`))
  await using blobs = await openBlobFolder()
  await using app = await openSyncApp({ config: { blobDir: blobs.folder }, ...ROLES })
  const accountId = await connectMailbox(app, server, user, FULL)
  const cached = { ...FULL, bodyStorage: 'cache' }
  await waitForFirstSync(app, await connectMailbox(app, server, other, cached))
  await waitForFirstSync(app, accountId)
  const storable = (await readMessages(app, accountId)).filter(({ isDraft }) => !isDraft).length
  const untilStored = (count: number) =>
    waitUntil('every message', async () => (await readStored(app, accountId)).stored === count, SOON_SECONDS)
  await untilStored(storable)

  // Mail with an old date may be new to the account.
  await world.deliver({ ...letter('new', `${'x '.repeat(500)} numbat`), internalDate: new Date(2020, 1, 1) })
  await untilStored(storable + 1)
  // A second copy, which was fetched at the same time, is removed.
  await waitUntil('no other copy', async () => (await readStored(app, accountId)).others === 0)
  const { bytes, counted } = await readStored(app, accountId)
  expect(counted).toBe(bytes)
  expect(await blobs.files()).toHaveLength(storable + 1)
  expect(await find(app, accountId, 'numbat')).toEqual(['new'])

  await app.delete(`/v1/accounts/${accountId}?purge=true`)
  await makeTaskDue(app.database.pool, 'purge_accounts')
  await waitUntil('the purge', async () => (await blobs.files()).length === 0)
})

const FAULTS = casesFor(['cut', 'refuse', 'omit'] as const, fault => fault === 'cut')

test.each(FAULTS)(
  'a message that the server does not return (%s) does not stop others from being stored',
  async does => {
    await using blobs = await openBlobFolder()
    await using account = await openProxiedAccount({
      start,
      config: { blobDir: blobs.folder },
      arrange: world => world.deliver(shortMessages(1, 40)),
      ...ROLES,
    })
    const { app, proxy, world, accountId } = account
    const uids = await world.uids('INBOX')
    proxy.faults = { poison: { uids: [uids[20]!], does } }
    await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
    await waitUntil('the others', async () => (await readStored(app, accountId)).stored === 39, SOON_SECONDS)
    await world.deliver(shortMessage('new'))
    await waitUntil('new mail', async () => (await readStored(app, accountId)).stored === 40, SOON_SECONDS)
  },
)

const LIES = casesFor([100, -100], lie => lie > 0)

test.each(LIES)('is stored whole and once if its reported size is wrong (%i)', async lie => {
  const long = letter('long', 'a line that is quite long\r\n'.repeat(CONTENT_BYTES_MAX / 20))
  const nearly = letter('nearly', 'x'.repeat(CONTENT_BYTES_MAX - 100))
  // The size is reported as just below the limit for fetching together, but is just above it.
  const over = letter('over', 'x'.repeat(CONTENT_BYTES_MAX - 20))
  await using blobs = await openBlobFolder()
  await using account = await openProxiedAccount({
    start,
    config: { blobDir: blobs.folder },
    arrange: world => world.deliver([...shortMessages(1, 40), long, nearly, over]),
    faults: {
      rewrite: line => line.replace(/RFC822\.SIZE (\d+)/, (_, size) => `RFC822.SIZE ${Number(size) + lie}`),
    },
    settings: { bodyStorage: 'cache', syncWindowDays: null },
    ...ROLES,
  })
  const { app, proxy, accountId } = account
  const messages = await readMessages(app, accountId)
  const download = async (subject: string) => {
    const id = messages.find(message => message.subject === subject)?.id
    const url = `${app.address}/v1/accounts/${accountId}/messages/${id}/raw`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${app.key}` } })
    return answer.text()
  }
  const countFetches = () => proxy.stats.lines.filter(line => line.includes('BODY.PEEK[]<')).length
  for (const [subject, { raw }] of Object.entries({ long, 'message 7': shortMessage(7) })) {
    expect(await download(subject)).toBe(raw)
    const before = countFetches()
    expect(await download(subject)).toBe(raw)
    expect(countFetches()).toBe(before)
  }

  const cached = countFetches()
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  await waitUntil('all', async () => (await readStored(app, accountId)).stored === 43, SOON_SECONDS)
  const before = countFetches()
  // The short messages were fetched together.
  expect(before - cached).toBeLessThan(20)
  expect(await download('nearly')).toBe(nearly.raw)
  expect(await download('over')).toBe(over.raw)
  expect(await download('message 40')).toBe(shortMessage(40).raw)
  expect(countFetches()).toBe(before)
  expect(await blobs.files()).toHaveLength(43)
})

test('a message older than 10,000 drafts is stored too', SOAK, async () => {
  await using blobs = await openBlobFolder()
  await using account = await openProxiedAccount({
    start,
    config: { blobDir: blobs.folder },
    arrange: world => world.deliver(shortMessages(1, 5)),
    ...ROLES,
  })
  const { app, accountId } = account
  const draft = { mailboxIds: [], isDraft: true }
  const drafts = Array.from({ length: 10_000 }, () => draft)
  await sampleMessages(app.db, { id: accountId, tenantId: app.tenantId }, drafts)
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  await waitUntil('all', async () => (await readStored(app, accountId)).stored === 5, SOON_SECONDS)
})

test('storing stops when turned off, and resumes when turned on', async () => {
  await using blobs = await openBlobFolder()
  await using account = await openProxiedAccount({
    start,
    config: { blobDir: blobs.folder },
    arrange: world => world.deliver(shortMessages(1, 600)),
    ...ROLES,
  })
  const { app, proxy, accountId } = account
  const change = (bodyStorage: string) =>
    app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage } })
  const sweep = () => makeTaskDue(app.database.pool, 'sweep_blobs')
  proxy.faults = { latencyMs: 100 }
  await change('full')
  await waitUntil('the first', async () => (await readStored(app, accountId)).stored > 0, SOON_SECONDS)
  await change('none')
  await waitUntil('the sweep', async () => {
    await sweep()
    return (await blobs.files()).length === 0 && (await readStored(app, accountId)).counted === 0
  })

  proxy.faults = {}
  await change('full')
  await waitUntil('all', async () => (await readStored(app, accountId)).stored === 600)
  await app.delete(`/v1/accounts/${accountId}?purge=true`)
  await makeTaskDue(app.database.pool, 'purge_accounts')
  await waitUntil('the purge', async () => (await blobs.files()).length === 0)
})

test('an account that is deleted while it is stored leaves no file', async () => {
  await using blobs = await openBlobFolder()
  await using account = await openProxiedAccount({
    start,
    config: { blobDir: blobs.folder },
    arrange: world => world.deliver(shortMessages(1, 600)),
    ...ROLES,
  })
  const { app, accountId } = account
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  await waitUntil('the first', async () => (await readStored(app, accountId)).stored > 0, SOON_SECONDS)
  await app.delete(`/v1/accounts/${accountId}?purge=true`)
  await waitUntil('the purge', async () => {
    await makeTaskDue(app.database.pool, 'purge_accounts')
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from message_blob`.execute(
      app.db,
    )
    return rows[0]?.count === 0 && (await blobs.files()).length === 0
  })
  expect(app.logLines.filter(line => line.includes('"level":"error"'))).toEqual([])
})

test('a file that was cut off by a power failure is fetched again', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  const message = letter('large', randomBytes(1_000_000).toString('base64url').replaceAll(/.{70}/g, '$&\r\n'))
  await world.deliver(message)
  await using blobs = await openBlobFolder()
  await using app = await openSyncApp({ config: { blobDir: blobs.folder } })
  const accountId = await connectMailbox(app, server, user, { bodyStorage: 'cache', syncWindowDays: null })
  await waitForFirstSync(app, accountId)
  const [stored] = await readMessages(app, accountId)
  const download = async () => {
    const url = `${app.address}/v1/accounts/${accountId}/messages/${stored?.id}/raw`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${app.key}` } })
    return Buffer.from(await answer.arrayBuffer()).toString()
  }
  expect(await download()).toBe(message.raw)
  const cutOff = async (length: number) => {
    // The index would miss the end of the file, too, and let it go.
    await waitUntil('the index', async () => (await readStored(app, accountId)).stored === 1)
    // Files that were let go are there for a while.
    const { rows } = await sql<{ id: string }>`
      select id from message_blob where message_id is not null`.execute(app.db)
    const file = (await blobs.files()).find(({ name }) => name.includes(rows[0]!.id))
    await truncate(path.join(file!.parentPath, file!.name), length)
  }
  // Much is sent before the end of the file is missed.
  await cutOff(700_000)
  await expect(download()).rejects.toThrow()
  expect(await download()).toBe(message.raw)
  expect(await download()).toBe(message.raw)
  // Nothing is sent before: the provider is asked at once.
  await cutOff(100_000)
  expect(await download()).toBe(message.raw)
})

test('a file that cannot be read now is kept, and the message is read from the provider', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  const message = letter('kept', `bilby ${'x '.repeat(500)}wombat`)
  await world.deliver(message)
  await using blobs = await openBlobFolder()
  await using app = await openSyncApp({ config: { blobDir: blobs.folder }, ...ROLES })
  const accountId = await connectMailbox(app, server, user, { bodyStorage: 'cache', syncWindowDays: null })
  await waitForFirstSync(app, accountId)
  const [stored] = await readMessages(app, accountId)
  const read = async () => {
    const url = `/v1/accounts/${accountId}/messages/${stored?.id}`
    const { status, body } = await app.get<{ body: { text: string } }>(url)
    return status === 200 ? body.body.text.trim().slice(-6) : status
  }
  const readRows = async () => {
    const { rows } = await sql<{ id: string; isBound: boolean }>`
      select id, message_id is not null as "isBound" from message_blob`.execute(app.db)
    return rows
  }
  expect(await read()).toBe('wombat')
  await waitUntil('the index', async () => (await readStored(app, accountId)).stored === 1)
  const [file] = await blobs.files()
  const at = path.join(file!.parentPath, file!.name)
  const rows = await readRows()

  // The disk reports an error other than a missing file; then the whole folder is not mounted.
  await rename(at, `${at}.away`)
  await mkdir(at)
  expect(await read()).toBe('wombat')
  await rmdir(at)
  await rename(`${at}.away`, at)
  await rename(blobs.folder, `${blobs.folder}.away`)
  expect(await read()).toBe('wombat')
  await rename(`${blobs.folder}.away`, blobs.folder)
  // Keys that do not open prove nothing about the file either.
  const { data_key } = await app.db.selectFrom('account').select('data_key').executeTakeFirstOrThrow()
  await app.db
    .updateTable('account')
    .set({ data_key: randomBytes(60) })
    .execute()
  await read()
  await app.db.updateTable('account').set({ data_key }).execute()
  expect(await readRows()).toEqual(rows)

  // The file is gone, and its words go with it; those of the snippet stay.
  await rm(at)
  await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  expect(await find(app, accountId, 'wombat')).toEqual(['kept'])
  expect(await read()).toBe(409)
  expect(await find(app, accountId, 'wombat')).toEqual([])
  expect(await find(app, accountId, 'bilby')).toEqual(['kept'])
  expect((await readStored(app, accountId)).stored).toBe(0)
})
