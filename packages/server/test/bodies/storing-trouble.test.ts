import { rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { STORED_BYTES_MAX } from '../../src/features/mail/content/stored-source.ts'
import { CONTENT_BYTES_MAX } from '../../src/providers/content.ts'
import type { TestApp } from '../open-app.ts'
import type { ChaosProxy } from '../servers/chaos-proxy.ts'
import { lend, SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { readMessages } from '../sync/followed-account.ts'
import { askForSync, openProxiedAccount, shortMessage, shortMessages } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import { openBlobFolder } from './blob-folder.ts'

const START = Date.now()
const useIt = useServer(SERVER_KINDS[0].start)
const ROLES = { roles: ['api', 'sync', 'jobs'] as const satisfies unknown[] }

async function countRows(app: TestApp) {
  const { rows } = await sql<{ stored: number; others: number }>`
    select count(message_id)::int as stored, (count(*) - count(message_id))::int as others from message_blob
  `.execute(app.db)
  return rows[0]!
}

function countFailures({ logLines }: TestApp) {
  return logLines.filter(line => line.includes('Bodies could not be stored')).length
}

/** Counts the finished looks at new mail, or at all messages. */
function countLooks({ logLines }: TestApp, kind: 'new' | 'all') {
  return logLines.filter(line => line.includes('Looked for bodies to store') && line.includes(`"${kind}"`))
    .length
}

/** Counts the requests for this many bytes of a source, from this byte on. */
function countPieces({ stats }: ChaosProxy, length: number, from: number | '\\d+' = 0, uid = '\\S+') {
  const asked = new RegExp(`^UID FETCH ${uid} \\(UID BODY\\.PEEK\\[\\]<${from}\\.${length}>\\)`)
  return stats.lines.filter(line => asked.test(line)).length
}

test('a message that cannot be stored is retried at growing intervals, and stored when possible', async () => {
  await using blobs = await openBlobFolder()
  let now = START
  let delivered = 100
  await using account = await openProxiedAccount({
    start: () => Promise.resolve(lend(useIt())),
    config: { blobDir: blobs.folder },
    arrange: world => world.deliver(shortMessages(1, 40)),
    clock: { now: () => now },
    ...ROLES,
  })
  const { app, proxy, world, accountId } = account
  // New mail is fetched meanwhile, too, but by itself.
  const fetched = () => countPieces(proxy, CONTENT_BYTES_MAX + 1, 0, '1:\\d+')
  const deliver = () => world.deliver(shortMessage(`${delivered++}`))
  const lookAfter = (seconds: number) => {
    now += seconds * 1000
    return deliver()
  }
  const lookInVainAfter = async (seconds: number) => {
    now += seconds * 1000
    const [looks, failures] = [countLooks(app, 'new'), countFailures(app)]
    // Each message causes a look at the account, and its batch, which is stored afterwards, fails by itself.
    for (const nth of [1, 2]) {
      await deliver()
      await waitUntil('a look', () =>
        Promise.resolve(countLooks(app, 'new') >= looks + nth && countFailures(app) >= failures + nth),
      )
    }
  }
  // The store itself works, or `full` would be refused.
  const ofTenant = path.join(blobs.folder, app.tenantId)
  await writeFile(ofTenant, 'no folder')
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  await waitUntil('a failure', () => Promise.resolve(countFailures(app) > 0))
  await lookInVainAfter(29)
  expect(fetched()).toBe(1)
  const failures = countFailures(app)
  await lookAfter(1)
  await waitUntil('another', () => Promise.resolve(countFailures(app) > failures))
  expect(fetched()).toBe(2)

  await lookInVainAfter(59)
  expect((await countRows(app)).stored).toBe(0)
  await rm(ofTenant)
  await lookAfter(1)
  // The look may have begun before the last message arrived.
  await waitUntil('all', async () => (await countRows(app)).stored >= 45)
  expect(fetched()).toBe(3)
})

test('a server that sends more than announced is read up to the limit, and no message is cut off', async () => {
  const letter = (name: string, bytes: number) => {
    const head = `From: Ada <ada@a.test>\r\nSubject: ${name}\r\nMessage-ID: <${name}@a.test>\r\n\r\n`
    return { raw: Buffer.concat([Buffer.from(head), Buffer.alloc(bytes, `${'x'.repeat(70)}\r\n`)]) }
  }
  const endless = letter('endless', STORED_BYTES_MAX + 8 * CONTENT_BYTES_MAX)
  let now = START
  const internalDate = new Date(Date.UTC(2026, 0, 1))
  const letters = (mailbox: string) =>
    [1, 2, 3, 4].map(nth => ({ ...letter(`${mailbox} ${nth}`, 200_000), internalDate }))
  await using blobs = await openBlobFolder()
  await using account = await openProxiedAccount({
    start: () => Promise.resolve(lend(useIt())),
    config: { blobDir: blobs.folder },
    arrange: async world => {
      await world.createMailbox('Other')
      await world.deliver([endless, ...letters('INBOX')])
      await world.deliver(letters('Other'), 'Other')
    },
    clock: { now: () => now },
    faults: { rewrite: line => line.replace(/RFC822\.SIZE \d+/, 'RFC822.SIZE 1000') },
    ...ROLES,
  })
  const { app, proxy, world, accountId } = account
  const [uid] = await world.uids('INBOX')
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  await waitUntil('the others', async () => (await countRows(app)).stored === 8)

  // At most five messages are fetched at once; the others come one by one, after the newest.
  expect(countPieces(proxy, CONTENT_BYTES_MAX)).toBe(4)
  const piecesOfEndless = () => countPieces(proxy, CONTENT_BYTES_MAX, '\\d+', String(uid))
  const enough = STORED_BYTES_MAX / CONTENT_BYTES_MAX + 1
  expect(piecesOfEndless()).toBe(enough)
  // An hour later all messages are looked at again, except those known to be too large.
  await waitUntil('the end of the first look', () => Promise.resolve(countLooks(app, 'all') > 0))
  const looks = countLooks(app, 'all')
  now += 3_601_000
  await askForSync(app, accountId)
  await waitUntil('a look at all', () => Promise.resolve(countLooks(app, 'all') > looks))
  expect(piecesOfEndless()).toBe(enough)

  const { id } = (await readMessages(app, accountId)).find(({ subject }) => subject === 'endless')!
  const url = `${app.address}/v1/accounts/${accountId}/messages/${id}/raw`
  const answer = await fetch(url, { headers: { authorization: `Bearer ${app.key}` } })
  expect(Buffer.from(await answer.arrayBuffer()).equals(endless.raw)).toBe(true)
  expect(await blobs.files()).toHaveLength(8)
  expect(await countRows(app)).toEqual({ stored: 8, others: 0 })
})

test('large messages that the disk does not accept are fetched again at growing intervals', async () => {
  await using blobs = await openBlobFolder()
  let now = START
  const large = (nth: number) => {
    const head = `From: Ada <ada@a.test>\r\nSubject: large ${nth}\r\nMessage-ID: <large-${nth}@a.test>\r\n\r\n`
    return {
      raw: Buffer.concat([Buffer.from(head), Buffer.alloc(3 * CONTENT_BYTES_MAX, `${'x'.repeat(70)}\r\n`)]),
    }
  }
  await using account = await openProxiedAccount({
    start: () => Promise.resolve(lend(useIt())),
    config: { blobDir: blobs.folder },
    arrange: world => world.deliver([large(1), large(2), large(3)]),
    clock: { now: () => now },
    ...ROLES,
  })
  const { app, proxy, accountId } = account
  const begun = () => countPieces(proxy, CONTENT_BYTES_MAX)
  // The store itself works, or `full` would be refused.
  const ofTenant = path.join(blobs.folder, app.tenantId)
  await writeFile(ofTenant, 'no folder')
  await app.patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  await waitUntil('a failure', () => Promise.resolve(countFailures(app) === 1))
  now += 30_000
  await askForSync(app, accountId)
  await waitUntil('another', () => Promise.resolve(countFailures(app) === 2))

  await rm(ofTenant)
  now += 60_000
  await askForSync(app, accountId)
  await waitUntil('all', async () => (await countRows(app)).stored === 3)
  // One of them each time that failed, then all of them.
  expect(begun()).toBe(5)
  expect(countFailures(app)).toBe(2)
})
