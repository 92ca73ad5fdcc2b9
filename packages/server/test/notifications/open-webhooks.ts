import type { EventType } from '@waxwing/contract/events.ts'
import type { WebhookAttempt } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import type { WebhookEndpoint } from '@waxwing/contract/notifications/webhooks.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import type { Caller } from '../caller.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../open-app.ts'
import { waitUntil } from '../wait-until.ts'
import { type Receiver, startReceiver } from './receiver.ts'

export interface WebhookApp extends AsyncDisposable {
  app: TestApp
  receiver: Receiver
}

/** The service with API and jobs, and a receiver that it may post to. */
export async function openWebhookApp(options: TestAppOptions = {}): Promise<WebhookApp> {
  await using opened = new AsyncDisposableStack()
  const receiver = opened.use(await startReceiver())
  const app = opened.use(
    await openTestApp({
      roles: ['api', 'jobs'],
      ...options,
      config: { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true, ...options.config },
    }),
  )
  const owned = opened.move()
  return { app, receiver, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

export interface Created {
  endpoint: WebhookEndpoint
  secret: string
}

/** Creates an endpoint, which must be accepted. */
export async function createEndpoint(
  caller: Caller,
  url: string,
  filters: Record<string, unknown> = {},
): Promise<Created> {
  const { status, body } = await caller.post<Created>('/v1/webhooks', { url, filters })
  if (status !== 200) throw new Error(`not created: ${JSON.stringify(body)}`)
  return body
}

export async function readEndpoint(caller: Caller, id: string): Promise<WebhookEndpoint> {
  const { body } = await caller.get<{ items: WebhookEndpoint[] }>('/v1/webhooks')
  const found = body.items.find(endpoint => endpoint.id === id)
  if (!found) throw new Error('There is no such endpoint')
  return found
}

/** Has a number of events of a tenant happen. @returns their ids */
export async function happen(
  { db, tenantId }: { db: Db; tenantId: string },
  count = 1,
  accountId: string | null = null,
): Promise<string[]> {
  const { rows: before } = await sql<{
    id: string
  }>`select coalesce(max(id), 0)::text as id from event`.execute(db)
  await inTransaction(db, tenantId, async unit => {
    for (let number = 0; number < count; number++) {
      const data = { email: `${number}-é@example.org`, externalRef: null }
      unit.announce({ type: 'account.deleted', accountId, data })
    }
  })
  const { rows } = await sql<{ id: string }>`
    select id::text as id from event where tenant_id = ${tenantId} and event.id > ${before[0]?.id ?? '0'}
    order by event.id
  `.execute(db)
  return rows.map(({ id }) => id)
}

export async function listAttempts(
  caller: Caller,
  endpointId: string,
  query = '',
): Promise<WebhookAttempt[]> {
  const path = `/v1/webhooks/${endpointId}/attempts?limit=500${query}`
  return (await caller.get<{ items: WebhookAttempt[] }>(path)).body.items
}

export async function countFailed(caller: Caller, endpointId: string): Promise<number> {
  return (await caller.get<{ count: number }>(`/v1/webhooks/${endpointId}/failed-deliveries/count`)).body
    .count
}

/** Deliveries of an endpoint that wait. */
export async function countWaiting(db: Db, endpointId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from webhook_delivery where endpoint_id = ${endpointId} and due_at is not null
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Waits until nothing waits for the endpoint. */
export async function waitUntilDrained(db: Db, endpointId: string): Promise<void> {
  await waitUntil('everything to be delivered', async () => (await countWaiting(db, endpointId)) === 0)
}

/** Lets time pass for the deliveries of an endpoint: everything that it has written down moves back. */
export async function passTime(db: Db, endpointId: string, seconds: number): Promise<void> {
  const back = (columns: string[]): RawBuilder<unknown> =>
    sql.raw(columns.map(column => `${column} = ${column} - interval '${seconds} seconds'`).join(', '))
  await db.transaction().execute(async tx => {
    await sql`
      update webhook_endpoint set ${back(['last_success_at', 'failing_since'])} where id = ${endpointId}
    `.execute(tx)
    await sql`
      update webhook_dispatch set ${back(['due_at', 'probe_at', 'paused_until'])} where endpoint_id = ${endpointId}
    `.execute(tx)
    await sql`
      update webhook_delivery set ${back(['due_at', 'queued_at', 'held_until'])} where endpoint_id = ${endpointId}
    `.execute(tx)
  })
  await sql`select pg_notify('waxwing_webhook', '')`.execute(db)
}

export type { EventType }
