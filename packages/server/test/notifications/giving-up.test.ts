import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimDeliveries } from '../../src/features/notifications/deliveries/claims.ts'
import { listDueEndpoints } from '../../src/features/notifications/deliveries/due-endpoints.ts'
import type { Lease } from '../../src/processes/lease.ts'
import { newId } from '../../src/kit/ids.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { waitForLock } from '../wait-for-lock.ts'
import { countFailed, createEndpoint, happen } from './open-webhooks.ts'

/** More than one statement changes. */
const MANY = 20_001

let app: TestApp
beforeAll(async () => {
  app = await openTestApp({ config: { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true } })
})
afterAll(() => app[Symbol.asyncDispose]())

test('disabling an endpoint gives up what was queued before it was ever looked at, and deletes tests', async () => {
  const { endpoint } = await createEndpoint(app, 'http://127.0.0.1:9/')
  const { id } = endpoint
  const [eventId] = await happen(app)
  await sql`
    insert into webhook_delivery (endpoint_id, event_id, tenant_id, priority, test_type, test_body) values
      (${id}, ${eventId}, ${app.tenantId}, 1, null, null), (${id}, 9, ${app.tenantId}, 0, 'webhook.test', '{}')
  `.execute(app.db)
  await app.patch(`/v1/webhooks/${id}`, { isEnabled: false })
  const { rows } = await sql<{ id: string; dueAt: Date | null }>`
    select event_id::text as id, due_at as "dueAt" from webhook_delivery where endpoint_id = ${id}
  `.execute(app.db)
  expect(rows).toEqual([{ id: eventId, dueAt: null }])
  expect(await countFailed(app, id)).toBe(1)
})

test('enabling an endpoint makes all deliveries due that Retry-After held, and none held afterwards', async () => {
  const { endpoint } = await createEndpoint(app, 'http://127.0.0.1:9/')
  const { id } = endpoint
  const hold = (first: number, count: number) =>
    sql`
      insert into webhook_delivery (endpoint_id, event_id, tenant_id, priority, due_at, held_until, held_at)
      select ${id}, event_id, ${app.tenantId}, 1, now() + interval '1 hour', now() + interval '1 hour',
        clock_timestamp()
      from generate_series(${first}::bigint, ${first + count - 1}::bigint) as event_id
    `.execute(app.db)
  await hold(1, MANY)
  await sql`
    insert into webhook_dispatch (endpoint_id, tenant_id, paused_until)
    values (${id}, ${app.tenantId}, now() + interval '1 hour')
  `.execute(app.db)
  await app.patch(`/v1/webhooks/${id}`, { isEnabled: true })
  await hold(MANY + 1, 3)
  // A claim needs no more of a lease than its id.
  const lease = { id: newId() } as Lease
  for (let each = 0; each < 2; each++) {
    await claimDeliveries(app.db, lease, { turns: new Map([[id, 1]]), busy: [] })
  }
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_delivery where endpoint_id = ${id} and due_at > clock_timestamp()
  `.execute(app.db)
  expect(rows[0]?.count).toBe(3)
})

test('an endpoint that is enabled while it is put off stays due', async () => {
  const { endpoint } = await createEndpoint(app, 'http://127.0.0.1:9/')
  const { id } = endpoint
  await app.patch(`/v1/webhooks/${id}`, { isEnabled: false })
  await sql`
    insert into webhook_dispatch (endpoint_id, tenant_id, due_at) values (${id}, ${app.tenantId}, now())
    on conflict (endpoint_id) do update set due_at = excluded.due_at
  `.execute(app.db)
  // A look needs no more of a lease than its id.
  const lease = { id: newId() } as Lease
  const looking = await app.db.transaction().execute(async enabling => {
    await sql`update webhook_endpoint set is_enabled = true where id = ${id}`.execute(enabling)
    await sql`update webhook_dispatch set due_at = clock_timestamp() where endpoint_id = ${id}`.execute(
      enabling,
    )
    const due = listDueEndpoints(app.db, lease, { fullIds: [], doubtedIds: [] })
    await waitForLock(app.db)
    return { due }
  })
  await looking.due
  const { rows } = await sql<{ due_at: Date | null }>`
    select due_at from webhook_dispatch where endpoint_id = ${id}
  `.execute(app.db)
  expect(rows[0]?.due_at).not.toBeNull()
})
