import { rename, writeFile, rm } from 'node:fs/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { SEARCH_VERSION } from '../../src/kit/search-text/version.ts'
import type { Clock } from '../../src/kit/clock.ts'
import { openBlobFolder } from '../bodies/blob-folder.ts'
import { findFreePort, readMetric } from '../metrics.ts'
import type { TestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox, sampleMessages } from '../sample-rows.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { openSearchedAccount, saying, subjectsOf } from './found-mail.ts'

const FULL = { syncWindowDays: null, bodyStorage: 'full' }

/** Opens another process of the same installation, which does background work. */
function openJobs(
  { database, keyRing }: TestApp,
  config: { blobDir?: string; metricsPort?: number } = {},
  clock?: Clock,
) {
  return openSyncApp({ database, keyRing, roles: ['jobs'], config, ...(clock && { clock }) })
}

async function versionOf(db: Db, accountId: string) {
  const { rows } = await sql<{ search_version: number }>`
    select search_version from account_half where account_id = ${accountId}
  `.execute(db)
  return rows[0]?.search_version
}

/** Leaves documents as an upgrade does: of an earlier version, or none at all. */
async function makeStale(db: Db, accountId: string): Promise<void> {
  await sql`update account_half set search_version = 0 where account_id = ${accountId}`.execute(db)
  await sql`update message_search set version = 0 where account_id = ${accountId}`.execute(db)
}

async function countStale(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from message left join message_search on message_search.message_id = message.id
    where coalesce(version, 0) < ${SEARCH_VERSION}
  `.execute(db)
  return rows[0]!.count
}

/** Counts messages whose bodies are not stored, or whose words are not in the index yet. */
async function countUnindexed(db: Db): Promise<number> {
  const { rows } = await sql`
    select from message left join message_blob on message_blob.message_id = message.id where is_indexed is not true
  `.execute(db)
  return rows.length
}

test('after an upgrade auto asks the provider until the documents are rewritten', async () => {
  await using blobs = await openBlobFolder()
  await using account = await openSearchedAccount({
    config: { blobDir: blobs.folder },
    settings: FULL,
    arrange: world => world.deliver([saying('heron', 1), saying('heron', 2), saying('heron', 3)]),
  })
  const { app, accountId, search } = account
  const all = ['heron 1', 'heron 2', 'heron 3']
  const find = async (source: string) => {
    const answer = await search({ q: 'heron', source })
    expect(answer.status).toBe(200)
    return `${answer.body.source}: ${subjectsOf(answer).toSorted().join(', ')}`
  }
  expect(await find('auto')).toBe(`index: ${all.join(', ')}`)
  await waitUntil('the bodies', async () => (await countUnindexed(app.db)) === 0)

  await makeStale(app.db, accountId)
  await sql`
    delete from message_search where message_id in (select id from message where subject = 'heron 2')
  `.execute(app.db)
  await sql`
    update message_search set document = '''old'':1' where message_id in (select id from message where subject = 'heron 3')
  `.execute(app.db)
  expect(await find('index')).toBe('index: heron 1')
  expect(await find('auto')).toBe(`provider: ${all.join(', ')}`)
  await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  expect(await find('auto')).toBe('index: heron 1')

  const metricsPort = await findFreePort()
  await using jobs = await openJobs(app, { blobDir: blobs.folder, metricsPort })
  await waitUntil(
    'the account is current',
    async () => (await versionOf(app.db, accountId)) === SEARCH_VERSION,
  )
  expect(await find('auto')).toBe(`index: ${all.join(', ')}`)
  expect(await countStale(app.db)).toBe(0)
  expect(await readMetric(metricsPort, 'waxwing_search_accounts_stale')).toBe(0)
  expect(await readMetric(metricsPort, 'waxwing_search_documents_rewritten_total')).toBe(3)
  const told = await waitUntil('the last line', () => {
    const lines = jobs.logLines.map(line => JSON.parse(line) as { message: string; count?: number })
    const count = (message: string) => lines.find(line => line.message === message)?.count
    const end = count('Rewrote search documents')
    return Promise.resolve(
      end !== undefined && { begin: count('Rewriting the search documents of accounts'), end },
    )
  })
  expect(told).toEqual({ begin: 1, end: 3 })
})

test('documents written by an older release are stale', async () => {
  await using account = await openSearchedAccount({ settings: FULL })
  const { app, accountId, world } = account
  await sql`update account_half set search_version = ${SEARCH_VERSION + 1}`.execute(app.db)
  await world.deliver(saying('heron', 1))
  await waitUntil('its mail', async () => (await versionOf(app.db, accountId)) === SEARCH_VERSION)
})

test('a body that cannot be read for an hour keeps its words, and its account becomes current', async () => {
  await using blobs = await openBlobFolder()
  await using account = await openSearchedAccount({
    config: { blobDir: blobs.folder },
    settings: FULL,
    arrange: world => world.deliver([saying('heron', 1), saying('crane', 2)]),
  })
  const { app, accountId, search } = account
  const find = async (q: string) => subjectsOf(await search({ q, source: 'index' }))
  await (async () => {
    await using _ = await openJobs(app, { blobDir: blobs.folder })
    await waitUntil('the bodies', async () => (await countUnindexed(app.db)) === 0)
  })()
  await makeStale(app.db, accountId)
  await sql`
    update message_search set document = '''old'':1A ''asked'':2' where account_id = ${accountId}
  `.execute(app.db)
  await rename(blobs.folder, `${blobs.folder}.away`)
  await writeFile(blobs.folder, 'no folder')

  // Each time the clock is read, five minutes have passed.
  let passed = 0
  const clock = { now: () => Date.now() + 300_000 * passed++ }
  await using jobs = await openJobs(app, { blobDir: blobs.folder }, clock)
  await waitUntil(
    'the account is current',
    async () => (await versionOf(app.db, accountId)) === SEARCH_VERSION,
  )
  expect(passed).toBeGreaterThan(12)
  expect((await find('asked')).toSorted()).toEqual(['crane 2', 'heron 1'])
  expect(await find('heron')).toEqual(['heron 1'])
  expect(await find('old')).toEqual([])
  const told = () =>
    jobs.logLines
      .map(line => JSON.parse(line) as { message: string; count?: number })
      .filter(({ message }) => message.startsWith('Rewr'))
  await waitUntil('the last line', () => Promise.resolve(told().length > 1))
  expect(told().map(({ message, count }) => `${message}: ${count}`)).toEqual([
    'Rewriting the search documents of accounts: 1',
    'Rewrote search documents: 2',
  ])
  await rm(blobs.folder)
  await rename(`${blobs.folder}.away`, blobs.folder)
})

test('a body that cannot be read keeps its words, and does not hold up others', async () => {
  await using blobs = await openBlobFolder()
  await using account = await openSearchedAccount({
    config: { blobDir: blobs.folder },
    settings: FULL,
    arrange: world => world.deliver([saying('heron', 1), saying('crane', 2)]),
  })
  const { app, accountId, search } = account
  const find = async (q: string) => subjectsOf(await search({ q, source: 'index' }))
  await (async () => {
    await using _ = await openJobs(app, { blobDir: blobs.folder })
    await waitUntil('the bodies', async () => (await countUnindexed(app.db)) === 0)
  })()
  expect(await find('"as you asked"')).toHaveLength(2)

  const other = await sampleAccount(app.db, app.tenantId, { search_version: 0 })
  const mailbox = await sampleMailbox(app.db, other)
  await sampleMessages(
    app.db,
    other,
    Array.from({ length: 250 }, (_, nth) => ({ mailboxIds: [mailbox.id], subject: `wren ${nth}` })),
  )
  await makeStale(app.db, other.id)
  await makeStale(app.db, accountId)
  await sql`
    update message_search set document = '''old'':1' where message_id in (select id from message where subject = 'crane 2')
  `.execute(app.db)
  await rename(blobs.folder, `${blobs.folder}.away`)
  await writeFile(blobs.folder, 'no folder')
  await (async () => {
    await using jobs = await openJobs(app, { blobDir: blobs.folder })
    await waitUntil('the other account', async () => (await versionOf(app.db, other.id)) === SEARCH_VERSION)
    await waitUntil('the end of the run', () =>
      Promise.resolve(jobs.logLines.some(line => line.includes('are not rewritten yet'))),
    )
  })()
  expect(await versionOf(app.db, accountId)).toBe(0)
  expect(await find('"as you asked"')).toEqual(['heron 1'])

  // Restores what an earlier release wrote, which read only the beginning of a message.
  await sql`update message set snippet = '', has_attachments = true where account_id = ${accountId}`.execute(
    app.db,
  )
  await rm(blobs.folder)
  await rename(`${blobs.folder}.away`, blobs.folder)
  await using _ = await openJobs(app, { blobDir: blobs.folder })
  await waitUntil(
    'the account is current',
    async () => (await versionOf(app.db, accountId)) === SEARCH_VERSION,
  )
  expect((await find('"as you asked"')).toSorted()).toEqual(['crane 2', 'heron 1'])
  const { rows } = await sql`
    select subject, snippet, has_attachments as has from message where account_id = ${accountId} order by subject
  `.execute(app.db)
  expect(rows).toEqual([
    { subject: 'crane 2', snippet: 'Of crane, as you asked.', has: false },
    { subject: 'heron 1', snippet: 'Of heron, as you asked.', has: false },
  ])
})
