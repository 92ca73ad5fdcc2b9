import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { makeDataFolder, startServiceProcess } from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { createEndpoint, happen, waitUntilDrained } from './open-webhooks.ts'
import { startReceiver } from './receiver.ts'
import { casesFor } from '../soak.ts'

const PROGRAM = fileURLToPath(new URL('../sending/crashing-service.ts', import.meta.url))
const ALL = ['events_handled', 'deliveries_claimed', 'delivery_answered', 'attempts_recorded']
const POINTS = casesFor(ALL, point => point === 'deliveries_claimed' || point === 'delivery_answered')

test('every event arrives, wherever the service is killed', { timeout: 300_000 }, async () => {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeExternalDatabase({ migrated: true }))
  const { db } = database
  const receiver = opened.use(await startReceiver())
  const folder = opened.use(await makeDataFolder())
  const options = {
    program: PROGRAM,
    env: {
      DATABASE_URL: url,
      WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
      WAXWING_ROLES: 'api,jobs',
      WAXWING_WEBHOOK_ALLOW: '127.0.0.1/32',
      WAXWING_WEBHOOK_ALLOW_HTTP: 'true',
    },
  }
  let service = await startServiceProcess(folder, options)
  opened.defer(() => service[Symbol.asyncDispose]())
  const { key } = service
  const { endpoint } = await createEndpoint(callerOf(service.address, key), `${receiver.url}/crash`)
  const { rows } = await sql<{ tenantId: string }>`
    select tenant_id as "tenantId" from webhook_endpoint where id = ${endpoint.id}
  `.execute(db)
  const { tenantId } = rows[0]!
  const happened: string[] = []
  for (const point of POINTS) {
    await writeFile(join(folder.path, 'crash-at'), point)
    happened.push(...(await happen({ db, tenantId }, 10)))
    await service.ended
    happened.push(...(await happen({ db, tenantId }, 5)))
    // In place of waiting until the lease has ended.
    await sql`update instance set heartbeat_until = '-infinity'`.execute(db)
    service = await startServiceProcess(folder, options)
    await waitUntil(`everything to arrive after ${point}`, async () =>
      happened.every(id => receiver.idsAt('/crash').includes(id)),
    )
    await waitUntilDrained(db, endpoint.id)
  }
  expect([...new Set(receiver.idsAt('/crash'))].toSorted()).toEqual(happened.toSorted())
  const bodies = new Map<string, string>()
  for (const { event, body } of receiver.received) {
    expect(bodies.get(event.id) ?? body).toBe(body)
    bodies.set(event.id, body)
  }
})
