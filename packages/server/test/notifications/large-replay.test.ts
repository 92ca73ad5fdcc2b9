import type { ReplayedEvents } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { REPLAY_RANGE_EVENTS_MAX } from '../../src/features/notifications/deliveries/limits.ts'
import { measureLiveMemory } from '../live-memory.ts'
import { countWaiting, createEndpoint, openWebhookApp, type WebhookApp } from './open-webhooks.ts'

const EVENTS = Number(process.env['WAXWING_TEST_REPLAY'] ?? 20_000)
/** One of so many events passes the filter. */
const PASSING = 20
/** All events together are much more than what a replay may hold. */
const ALL_BYTES = 40_000_000
const HELD_MB = 24
const EVENTS_AT_ONCE = 50_000
const EVER = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' }

let opened: WebhookApp
beforeAll(async () => {
  // Without the worker, so that what is queued stays there.
  opened = await openWebhookApp({ roles: ['api'] })
  await addEvents(EVENTS)
})
afterAll(() => opened[Symbol.asyncDispose]())

async function addEvents(count: number): Promise<void> {
  const { db, tenantId } = opened.app
  const snippet = 'x'.repeat(Math.max(100, ALL_BYTES / EVENTS))
  for (let first = 1; first <= count; first += EVENTS_AT_ONCE)
    await sql`
    insert into event (tenant_id, id, type, data)
    select ${tenantId}::uuid, nextval('event_id'), 'message.created', json_build_object(
      'message', json_build_object('mailboxIds', '[]'::json, 'from', null, 'to', '[]'::json, 'cc', '[]'::json,
        'subject', case when number % ${PASSING}::int = 0 then 'An invoice' else 'A letter' end,
        'snippet', ${snippet}::text, 'hasAttachments', false, 'direction', 'inbound'),
      'mailboxes', '[]'::json)
    from generate_series(${first}::int, ${Math.min(count, first + EVENTS_AT_ONCE - 1)}::int) as number
  `.execute(db)
}

async function openEndpoint(filters: Record<string, unknown>) {
  const { app, receiver } = opened
  const { endpoint } = await createEndpoint(app, receiver.url, filters)
  return {
    id: endpoint.id,
    replay: () => app.post<ReplayedEvents>(`/v1/webhooks/${endpoint.id}/replay`, EVER),
  }
}

test('the replay of a large range reads all of it, and holds little of it at a time', async () => {
  const endpoint = await openEndpoint({ message: { subjectContains: ['invoice'] } })
  const { result, grownMb } = await measureLiveMemory(() => endpoint.replay())
  const passing = Math.floor(EVENTS / PASSING)
  expect(result.body).toEqual({ queued: passing, alreadyQueued: 0 })
  expect(await countWaiting(opened.app.db, endpoint.id)).toBe(passing)
  expect(grownMb).toBeLessThan(HELD_MB)
})

test.runIf(EVENTS >= REPLAY_RANGE_EVENTS_MAX)(
  'a range that holds one event more than it may is refused, however few of them pass',
  async () => {
    await addEvents(REPLAY_RANGE_EVENTS_MAX + 1 - EVENTS)
    const endpoint = await openEndpoint({ eventTypes: ['account.purged'] })
    expect(await endpoint.replay()).toMatchObject({ status: 400, body: { code: 'replay_range_too_large' } })
    expect(await countWaiting(opened.app.db, endpoint.id)).toBe(0)
  },
)
