import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { newId } from '../../src/kit/ids.ts'
import type { TestApp } from '../open-app.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { connectMailbox, openSyncApp, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'

const COUNT = 30
const BODY_BYTES = 3000
const LIMIT_BYTES = 10 * BODY_BYTES
const FULL = 'Bodies are no longer stored'

function letter(nth: number) {
  const head = ['From: Ada <ada@a.test>', `Subject: ${nth}`, `Message-ID: <${nth}@a.test>`]
  return { raw: `${head.join('\r\n')}\r\n\r\n${randomBytes(BODY_BYTES).toString('base64url')}\r\n` }
}

async function limitStorage(app: TestApp, storageBytes: number | null) {
  const plan = await createPlan(app.db, newId(), { ...NO_LIMITS, storageBytes })
  await assignPlan(app.db, app.tenantId, plan)
}

const useIt = useServer(SERVER_KINDS[0].start)

test('a tenant without storage left reads from the provider until there is room again', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver(Array.from({ length: COUNT }, (_, nth) => letter(nth)))
  const blobDir = await mkdtemp(path.join(tmpdir(), 'waxwing-blobs-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(blobDir, { recursive: true, force: true }))
  await using app = await openSyncApp({ config: { blobDir }, roles: ['api', 'sync', 'jobs'] })
  await limitStorage(app, LIMIT_BYTES)
  const accountId = await connectMailbox(app, server, user, { bodyStorage: 'full', syncWindowDays: null })
  await waitForFirstSync(app, accountId)
  const wasFull = () => app.logLines.filter(line => line.includes(FULL)).length
  const readStored = async () => {
    const { rows } = await sql<{ bytes: number; messages: number; unstored: string }>`
      select coalesce(sum(bytes), 0)::int as bytes, count(message_id)::int as messages,
        (select min(id::text) from message where not exists (select from message_blob where message_id = message.id)) as unstored
      from message_blob`.execute(app.db)
    return rows[0]!
  }

  await waitUntil('the end of the room', () => Promise.resolve(wasFull() > 0))
  const stored = await readStored()
  expect(stored.bytes).toBeLessThanOrEqual(LIMIT_BYTES)
  expect(stored.messages).toBeGreaterThan(3)
  await limitStorage(app, stored.bytes)
  const unstored = await app.get<Message>(`/v1/accounts/${accountId}/messages/${stored.unstored}`)
  expect(unstored.status).toBe(200)
  expect(await readStored()).toEqual(stored)

  await limitStorage(app, 10_000_000)
  // A changed account is looked at again at once, rather than within the minute.
  await app.patch(`/v1/accounts/${accountId}`, { externalRef: 'changed' })
  await waitUntil('every message', async () => (await readStored()).messages === COUNT)
  expect(wasFull()).toBe(1)
})
