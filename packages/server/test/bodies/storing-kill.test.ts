import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import { openEmbedded } from '../../src/database/embedded/embedded.ts'
import { clientSettings } from '../../src/database/pool.ts'
import { silentLog } from '../../src/kit/log.ts'
import { MARK_KEY } from '../../src/start/blob-mark.ts'
import { callerOf } from '../caller.ts'
import { generateMail } from '../mail/corpus.ts'
import { makeTaskDue } from '../make-task-due.ts'
import { fillMailboxes } from '../servers/fill.ts'
import type { Faults } from '../servers/chaos-faults.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { makePreparedFolder } from '../prepared-folder.ts'
import { startServiceProcess } from '../service-process.ts'
import { connectMailbox, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { numberFor } from '../soak.ts'

const COUNT = numberFor({ ci: 200, soak: 600 })
const READ_EACH = 5
const KILLS = numberFor({ ci: 1, soak: 3 })
/** Sources that the server still sends quickly when this test counts enough for a kill, which is then in the midst of them. */
const MORE = 60
/** So slow that not all is stored before the kill, also if this test is late to see stored bodies. */
const SLOW = { bytesPerSecond: 2_000 }
const OPTIONS = {
  program: fileURLToPath(new URL('../sync/quick-service.ts', import.meta.url)),
  env: { WAXWING_EGRESS_ALLOW: '127.0.0.1/32', WAXWING_ALLOW_PLAINTEXT: 'true' },
}

const useIt = useServer(SERVER_KINDS[0].start)

test('a service that is killed repeatedly while it stores loses no message, file or byte', async () => {
  const server = useIt()
  const user = await server.addUser()
  const mail = [...generateMail({ seed: 8, count: COUNT, sizeMedian: 3000 })]
  await fillMailboxes(server, user, mail)
  await using proxy = await startChaosProxy(server)
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makePreparedFolder())
  let service = await startServiceProcess(folder, OPTIONS)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const call = () => callerOf(service.address, key)
  const embedded = opened.use(await openEmbedded({ dataDir: folder.path, as: 'command', log: silentLog }))
  const session = new Client(clientSettings(embedded.address, 'waxwing test'))
  await session.connect()
  opened.defer(() => session.end())
  const countRows = async () => {
    const { rows } = await session.query<{ rows: number; bound: number; bytes: string; counted: string }>(`
      select count(*)::int as rows, count(message_id)::int as bound, coalesce(sum(bytes), 0)::text as bytes,
        coalesce((select sum(bytes) from tenant_storage), 0)::text as counted from message_blob`)
    return rows[0]!
  }

  const accountId = await connectMailbox(call(), proxy, user, { bodyStorage: 'none', syncWindowDays: null })
  await waitForFirstSync(call(), accountId)
  const messages = await readMessages(call(), accountId)
  const storable = messages.filter(({ isDraft }) => !isDraft)
  /** Lets the server send this many sources quickly, and the others slowly. */
  const sendQuickly = (count: number) => {
    let sent = 0
    const faults: Faults = {
      rewrite(line) {
        if (/ FETCH .*BODY\[\]/.test(line) && ++sent > count) proxy.faults = SLOW
        return line
      },
    }
    proxy.faults = faults
  }
  const enoughFor = (kill: number) => Math.floor((kill * storable.length) / (KILLS + 1))
  sendQuickly(enoughFor(1) + MORE)
  await call().patch(`/v1/accounts/${accountId}`, { settings: { bodyStorage: 'full' } })
  for (let kill = 1; kill <= KILLS; kill += 1) {
    await waitUntil('some are stored', async () => (await countRows()).bound >= enoughFor(kill))
    service.kill('SIGKILL')
    await service.ended
    const { bytes, counted, bound } = await countRows()
    expect(counted).toBe(bytes)
    expect(bound).toBeLessThan(storable.length)
    if (kill < KILLS) sendQuickly(enoughFor(kill + 1) - bound + MORE)
    else proxy.faults = {}
    service = await startServiceProcess(folder, OPTIONS)
  }
  await waitUntil('everything is stored', async () => (await countRows()).bound === storable.length)

  // Aborted files are old enough for the sweep an hour later.
  await session.query(
    `update message_blob set created_at = created_at - interval '2 hours' where message_id is null`,
  )
  await makeTaskDue(session, 'sweep_blobs')
  await waitUntil('the sweep', async () => (await countRows()).rows === storable.length)
  const { bytes, counted } = await countRows()
  expect(counted).toBe(bytes)
  const files = await readdir(path.join(folder.path, 'blobs'), { recursive: true, withFileTypes: true })
  expect(files.filter(file => file.isFile() && file.name !== MARK_KEY)).toHaveLength(storable.length)

  // The account is paused, so that nothing is read from the provider.
  await call().patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  for (const { id } of storable.filter((_, nth) => nth % READ_EACH === 0)) {
    const { status } = await call().get(`/v1/accounts/${accountId}/messages/${id}`)
    expect(status).toBe(200)
  }
})
