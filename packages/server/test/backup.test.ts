import { readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { MARK_KEY } from '../src/start/blob-mark.ts'
import { type Caller, callerOf } from './caller.ts'
import { generateMail } from './mail/corpus.ts'
import { fillMailboxes } from './servers/fill.ts'
import { SERVER_KINDS, useServer } from './servers/shared-server.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { type DataFolder, makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'
import { connectMailbox, readFeed, readMessages, waitForFirstSync } from './sync/followed-account.ts'
import { waitUntil } from './wait-until.ts'
import { casesFor, numberFor } from './soak.ts'

const OPTIONS = {
  program: fileURLToPath(new URL('./sync/quick-service.ts', import.meta.url)),
  env: { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true' },
}
const COUNT = numberFor({ ci: 60, soak: 120 })
const LATER = numberFor({ ci: 20, soak: 40 })

const useIt = useServer(SERVER_KINDS[0].start)
const run = (folder: DataFolder, ...args: string[]) =>
  runWaxwing(args, { env: { WAXWING_DATA_DIR: folder.path } })

/** Reads the full content of some messages. */
async function readSome(caller: Caller, accountId: string, ids: string[]) {
  const read: unknown[] = []
  for (const id of ids) {
    const { status, body } = await caller.get(`/v1/accounts/${accountId}/messages/${id}`)
    expect(status).toBe(200)
    read.push(body)
  }
  return read
}

test('a backup taken while mail arrives restores the same data in a new folder, and the sync continues', async () => {
  const server = useIt()
  const user = await server.addUser()
  const mail = [...generateMail({ seed: 30, count: COUNT + LATER, sizeMedian: 3000 })]
  await fillMailboxes(server, user, mail.slice(0, COUNT))
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makePreparedFolder())
  const place = opened.use(await makeDataFolder())
  const file = path.join(place.path, 'backup')

  const first = opened.use(await startServiceProcess(folder, OPTIONS))
  const before = callerOf(first.address, first.key)
  const accountId = await connectMailbox(before, server, user, { bodyStorage: 'full', syncWindowDays: null })
  await waitForFirstSync(before, accountId)
  const blobs = path.join(folder.path, 'blobs')
  const countFiles = async (at: string) =>
    (await readdir(at, { recursive: true, withFileTypes: true }).catch(() => [])).filter(
      entry => entry.isFile() && entry.name !== MARK_KEY,
    ).length
  const seen = await readMessages(before, accountId)
  const stored = seen.filter(({ isDraft }) => !isDraft).length
  await waitUntil('everything is stored', async () => (await countFiles(blobs)) >= stored)
  const some = seen.slice(0, 20).map(({ id }) => id)
  const bodies = await readSome(before, accountId, some)
  const early = await readFeed(before)

  // The backup runs beside the service while mail arrives.
  const arriving = fillMailboxes(server, user, mail.slice(COUNT))
  const backup = await run(folder, 'backup', file)
  expect(backup).toMatchObject({ code: 0, stdout: expect.stringContaining('Keep it apart from this file') })
  await arriving
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect((await run(folder, 'backup', file)).stderr).toContain('already exists')
  expect((await readdir(place.path)).filter(name => name.startsWith('.backup'))).toEqual([])
  const expected = COUNT + LATER
  await waitUntil('all mail', async () => (await readMessages(before, accountId)).length === expected)
  const late = await readFeed(before, early.cursor)

  // Restores that must be refused, and must leave nothing behind.
  const running = await run(folder, 'restore', '--replace', file)
  expect(running).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is in use by another Waxwing service'),
  })
  first.kill('SIGINT')
  await first.ended
  expect((await run(folder, 'restore', file)).stderr).toContain('Add --replace')
  const target = opened.use(await makeDataFolder())
  expect((await run(target, 'restore', file)).stderr).toContain('There is no master key here')
  const key = await readFile(path.join(folder.path, 'secret.key'))
  await writeFile(path.join(target.path, 'secret.key'), `${Buffer.alloc(32, 7).toString('base64')}\n`)
  expect((await run(target, 'restore', file)).stderr).toContain('The key ring does not fit this backup')
  await writeFile(path.join(target.path, 'secret.key'), key)
  const content = await readFile(file)
  const broken = path.join(place.path, 'broken')
  const places = [3, 40, Math.floor(content.length / 2), content.length - 10]
  for (const at of casesFor(places, (_, index) => index === 2)) {
    const changed = Buffer.from(content)
    changed[at]! ^= 1
    await writeFile(broken, changed)
    expect(await run(target, 'restore', broken)).toMatchObject({ code: 1, stdout: '' })
  }
  await writeFile(broken, content)
  await truncate(broken, content.length - 1)
  expect((await run(target, 'restore', broken)).stderr).toContain('is cut off')
  expect(await readdir(target.path)).toEqual(['secret.key'])

  const restored = await run(target, 'restore', file)
  expect(restored).toMatchObject({ code: 0, stdout: expect.stringContaining('stored messages') })
  expect((await run(target, 'restore', file)).stderr).toContain('--replace')

  const second = opened.use(await startServiceProcess(target, OPTIONS))
  const after = callerOf(second.address, first.key)
  expect(second.key).toBeNull()
  expect(await readSome(after, accountId, some)).toEqual(bodies)
  for (const { cursor } of [early, late])
    expect(await after.get(`/v1/changes?cursor=${cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    })
  const messages = await waitUntil('all mail again', async () => {
    const all = await readMessages(after, accountId)
    return all.length >= expected && all
  })
  expect(messages).toHaveLength(expected)
  expect(new Set(messages.map(({ id }) => id)).size).toBe(expected)
  const held = new Set(messages.map(({ id }) => id))
  expect(seen.filter(({ id }) => !held.has(id))).toEqual([])

  // Every event was either in the feed before, or has an id that was never used.
  const told = new Map([...early.events, ...late.events].map(event => [event.id, event]))
  const newest = [...told.keys()].reduce((max, id) => (BigInt(id) > max ? BigInt(id) : max), 0n)
  const { events } = await readFeed(after)
  expect(events.filter(({ type }) => type === 'message.deleted')).toEqual([])
  for (const event of events) {
    if (told.has(event.id)) expect(event).toEqual(told.get(event.id))
    else expect(BigInt(event.id)).toBeGreaterThan(newest + 1_000_000_000n)
  }
  expect(await countFiles(path.join(target.path, 'blobs'))).toBeGreaterThanOrEqual(stored)
}, 400_000)
