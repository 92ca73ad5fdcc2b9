/** @module-tag postgres-16 */
import { ATTEMPTS_SHOWN_MAX } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { sweepDeliveries } from '../../src/features/notifications/deliveries/sweep.ts'
import { firstIdAt } from '../../src/kit/ids.ts'
import { waitUntil } from '../wait-until.ts'
import {
  countWaiting,
  createEndpoint,
  happen,
  listAttempts,
  openWebhookApp,
  waitUntilDrained,
} from './open-webhooks.ts'
import { answering } from './receiver.ts'

const EIGHT_DAYS = 8 * 86_400_000
const TABLES = ['webhook_dispatch', 'webhook_delivery', 'webhook_attempt'] as const

/** Rows of an endpoint in the tables that deliveries fill. */
async function countRows(db: Db, endpointId: string) {
  const counts = await Promise.all(
    TABLES.map(async table => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from ${sql.table(table)} where endpoint_id = ${endpointId}
      `.execute(db)
      return [table.replace('webhook_', ''), rows[0]?.count ?? 0] as const
    }),
  )
  return Object.fromEntries(counts)
}

test('rows that deliveries leave behind are bounded', async () => {
  await using opened = await openWebhookApp()
  const { app, receiver } = opened
  const { db, tenantId } = app
  const sweep = () => sweepDeliveries(db, new AbortController().signal)

  const { endpoint: busy } = await createEndpoint(app, `${receiver.url}/busy`)
  await happen(app, ATTEMPTS_SHOWN_MAX + 200)
  await waitUntil('all of them', async () => receiver.received.length === ATTEMPTS_SHOWN_MAX + 200)
  await waitUntilDrained(db, busy.id)
  expect(await countRows(db, busy.id)).toEqual({
    dispatch: 1,
    delivery: 0,
    attempt: ATTEMPTS_SHOWN_MAX + 200,
  })
  const shown = await listAttempts(app, busy.id)
  await sweep()
  expect(await countRows(db, busy.id)).toEqual({ dispatch: 1, delivery: 0, attempt: ATTEMPTS_SHOWN_MAX })
  expect(await listAttempts(app, busy.id)).toEqual(shown)

  await sql`
    update webhook_attempt set id = (left(${firstIdAt(Date.now() - EIGHT_DAYS)}, 18) || right(id::text, 18))::uuid
    where endpoint_id = ${busy.id}
  `.execute(db)
  await sweep()
  expect(await countRows(db, busy.id)).toEqual({ dispatch: 1, delivery: 0, attempt: 0 })

  const { endpoint: failing } = await createEndpoint(app, `${receiver.url}/failing`)
  receiver.tempers['/failing'] = answering(503, { 'retry-after': '3600' })
  const [gone = '', kept] = await happen(app, 2)
  await waitUntil('both to wait', async () => (await countWaiting(db, failing.id)) === 2)
  await sql`delete from event where tenant_id = ${tenantId} and event.id <= ${gone}`.execute(db)
  await sweep()
  const { rows } = await sql<{ id: string }>`
    select event_id::text as id from webhook_delivery where endpoint_id = ${failing.id}
  `.execute(db)
  expect(rows).toEqual([{ id: kept }])

  expect((await app.delete(`/v1/webhooks/${failing.id}`)).status).toBe(200)
  await sweep()
  expect(await countRows(db, failing.id)).toEqual({ dispatch: 0, delivery: 0, attempt: 0 })
})
