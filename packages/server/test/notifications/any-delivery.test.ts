import type { ReplayedEvents } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { type Random, seeded } from '../seeded.ts'
import { waitUntil } from '../wait-until.ts'
import { anyEvent, anyFilters, type Happened, passes } from './any-filters.ts'
import {
  countFailed,
  countWaiting,
  createEndpoint,
  listAttempts,
  openWebhookApp,
  passTime,
  readEndpoint,
  waitUntilDrained,
  type WebhookApp,
} from './open-webhooks.ts'
import type { Temper } from './receiver.ts'

const HOUR = 3_600
const STEPS = 30
const EVER = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' }
interface Answer {
  status: number | 'cut'
  headers?: Record<string, string>
}
const OK: Answer = { status: 200 }
/** Answers of a receiver while it is in one mood. */
const MOODS: Answer[][] = [
  [OK],
  [OK, { status: 204 }, { status: 404 }, { status: 'cut' }],
  [{ status: 500 }, { status: 404 }, { status: 302, headers: { location: '/elsewhere' } }, { status: 'cut' }],
  [{ status: 429, headers: { 'retry-after': '90' } }, OK],
  [{ status: 503, headers: { 'retry-after': '5' } }],
]
type Action = (endpoint: Endpoint, random: Random) => Promise<void>

let opened: WebhookApp
beforeAll(async () => {
  opened = await openWebhookApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

type Tenant = Awaited<ReturnType<typeof openTenant>>

async function openTenant(name: string) {
  const { app } = opened
  const tenant = await app.createTenant(name)
  const { tenantId } = tenant
  const log = new Map<string, Happened>()
  return {
    tenant,
    /** Every event that has happened, by its id. */
    log,
    /** Has events happen, and waits until they were queued. @returns their ids */
    async happen(random: Random, count: number): Promise<string[]> {
      const events = Array.from({ length: count }, () => anyEvent(random))
      await inTransaction(app.db, tenantId, async unit => {
        for (const event of events) unit.announce(event as Parameters<typeof unit.announce>[0])
      })
      const { rows } = await sql<{ id: string }>`
        select id::text as id from event where tenant_id = ${tenantId} order by event.id desc limit ${count}
      `.execute(app.db)
      const ids = rows.map(({ id }) => id).toReversed()
      for (const [index, id] of ids.entries()) log.set(id, events[index]!)
      await waitUntil('them to be queued', async () => {
        const { rows: followers } = await sql<{ after_id: string }>`
          select after_id from event_follower where name = 'webhooks' and tenant_id = ${tenantId}
        `.execute(app.db)
        return BigInt(followers[0]?.after_id ?? 0) >= BigInt(ids.at(-1) ?? 0)
      })
      return ids
    },
  }
}

type Endpoint = Awaited<ReturnType<typeof openEndpoint>>

let number = 0
/** An endpoint with the events that it must have been given, as far as the actions decide that. */
async function openEndpoint({ tenant, log }: Tenant, filters: WebhookFilters) {
  const { app, receiver } = opened
  const path = `/any-${++number}`
  const { endpoint } = await createEndpoint(tenant, receiver.url + path)
  const { id } = endpoint
  const own = {
    id,
    path,
    tenant,
    log,
    filters,
    expected: new Set<string>(),
    /** Events that happened just when the endpoint may have been disabled. */
    allowed: new Set<string>(),
    /** How often an event was replayed. */
    replays: new Map<string, number>(),
    acknowledged: [] as string[],
    /** Answers each request with one of these. */
    answer(random: Random, answers: readonly Answer[]) {
      const temper: Temper = (response, request, { event }) => {
        const { status, headers } = random.pick(answers)
        if (status === 'cut') return void request.socket.destroy()
        if (status < 300) own.acknowledged.push(event.id)
        response.writeHead(status, headers).end()
      }
      receiver.tempers[path] = temper
    },
    async setFilters(next: WebhookFilters) {
      own.filters = next
      await sql`update webhook_endpoint set filters = ${JSON.stringify(next)} where id = ${id}`.execute(
        app.db,
      )
    },
    isEnabled: async () => (await readEndpoint(tenant, id)).isEnabled,
    /** The events of the log that pass its filters. */
    matching: () => [...log].flatMap(([each, event]) => (passes(own.filters, event) ? [each] : [])),
    expectReplay(ids: readonly string[]) {
      for (const each of ids) {
        own.expected.add(each)
        own.replays.set(each, (own.replays.get(each) ?? 0) + 1)
      }
    },
    replay: (body: object) => tenant.post<ReplayedEvents>(`/v1/webhooks/${id}/replay`, body),
    replayFailed: () => tenant.post<ReplayedEvents>(`/v1/webhooks/${id}/replay-failed`, {}),
    replayEvent: (eventId: string) => tenant.post(`/v1/webhooks/${id}/events/${eventId}/replay`),
  }
  own.answer(seeded(path), [OK])
  await own.setFilters(filters)
  return own
}

const ACTIONS: Record<string, Action> = {
  async answer(endpoint, random) {
    endpoint.answer(random.fork(endpoint.path), random.pick(MOODS))
  },
  pass: (endpoint, random) =>
    passTime(opened.app.db, endpoint.id, random.pick([1, 30, 600, HOUR, 15 * HOUR, 50 * HOUR])),
  filter: (endpoint, random) => endpoint.setFilters(anyFilters(random)),
  async disable({ tenant, id }) {
    await tenant.patch(`/v1/webhooks/${id}`, { isEnabled: false })
  },
  async enable({ tenant, id }) {
    await tenant.patch(`/v1/webhooks/${id}`, { isEnabled: true })
  },
  async replay(endpoint) {
    const { status, body } = await endpoint.replay(EVER)
    if (status !== 200) return
    const ids = endpoint.matching()
    expect(body.queued + body.alreadyQueued).toBe(ids.length)
    endpoint.expectReplay(ids)
  },
  async replayOne(endpoint, random) {
    if (endpoint.log.size === 0) return
    const id = random.pick([...endpoint.log.keys()])
    if ((await endpoint.replayEvent(id)).status === 200) endpoint.expectReplay([id])
  },
  async replayFailed(endpoint) {
    if ((await endpoint.replayFailed()).status === 200) endpoint.expectReplay([...endpoint.expected])
  },
}

/** Has events happen, and notes for each endpoint the events that it must be given. */
async function happenTo(tenant: Tenant, endpoints: readonly Endpoint[], random: Random): Promise<void> {
  const before = await Promise.all(endpoints.map(endpoint => endpoint.isEnabled()))
  const ids = await tenant.happen(random, random.between(1, 12))
  for (const [index, endpoint] of endpoints.entries()) {
    const isEnabled = await endpoint.isEnabled()
    for (const id of ids.filter(each => passes(endpoint.filters, tenant.log.get(each)!))) {
      if (isEnabled && before[index]) endpoint.expected.add(id)
      else if (isEnabled || before[index]) endpoint.allowed.add(id)
    }
  }
}

/** Has the receiver take everything, and lets time pass until nothing waits or is given up. */
async function settle(endpoint: Endpoint): Promise<void> {
  const { tenant, id } = endpoint
  const { db } = opened.app
  endpoint.answer(seeded(id), [OK])
  await tenant.patch(`/v1/webhooks/${id}`, { isEnabled: true })
  await waitUntil('what waits', async () => {
    if ((await countWaiting(db, id)) === 0) return true
    await passTime(db, id, 25 * HOUR)
    return false
  })
  await endpoint.replayFailed()
  await waitUntilDrained(db, id)
}

test.each([1, 2, 3])('no event is lost or delivered in vain under random faults (seed %i)', async seed => {
  const random = seeded(seed)
  const tenant = await openTenant(`any ${seed}`)
  const endpoints: Endpoint[] = []
  for (let each = 0; each < 4; each++) endpoints.push(await openEndpoint(tenant, anyFilters(random)))
  for (let step = 0; step < STEPS; step++) {
    if (random.chance(0.4)) await happenTo(tenant, endpoints, random)
    else await ACTIONS[random.pick(Object.keys(ACTIONS))]!(random.pick(endpoints), random)
  }
  const bodies = new Map<string, string>()
  for (const endpoint of endpoints) {
    const { id, path, expected, allowed, replays } = endpoint
    await settle(endpoint)
    expect(await countFailed(tenant.tenant, id)).toBe(0)
    const acknowledged = new Set(endpoint.acknowledged)
    expect([...expected].filter(each => !acknowledged.has(each))).toEqual([])
    expect(opened.receiver.idsAt(path).filter(each => !expected.has(each) && !allowed.has(each))).toEqual([])
    for (const each of acknowledged) {
      const times = endpoint.acknowledged.filter(one => one === each).length
      // One for the last replay, which `settle` asked for.
      expect(times).toBeLessThanOrEqual(1 + (replays.get(each) ?? 0) + 1)
    }
    const succeeded = await listAttempts(tenant.tenant, id, '&result=succeeded')
    expect(succeeded.map(({ eventId }) => eventId).toSorted()).toEqual(endpoint.acknowledged.toSorted())
    for (const { event, body } of opened.receiver.received.filter(one => one.path === path)) {
      expect(bodies.get(event.id) ?? body).toBe(body)
      bodies.set(event.id, body)
    }
  }
  expect(bodies.size).toBeGreaterThan(10)
})

test('a replay queues the same deliveries as the events did at first, for any filters', async () => {
  const random = seeded('replays')
  const tenant = await openTenant('agreeing')
  const early: Endpoint[] = []
  for (let each = 0; each < 12; each++) early.push(await openEndpoint(tenant, anyFilters(random)))
  await tenant.happen(random, 150)
  let delivered = 0
  for (const { id, path, filters, matching } of early) {
    const ids = matching()
    await waitUntilDrained(opened.app.db, id)
    expect(opened.receiver.idsAt(path).toSorted()).toEqual(ids.toSorted())
    const late = await openEndpoint(tenant, filters)
    expect((await late.replay(EVER)).body).toEqual({ queued: ids.length, alreadyQueued: 0 })
    await waitUntilDrained(opened.app.db, late.id)
    expect(opened.receiver.idsAt(late.path).toSorted()).toEqual(ids.toSorted())
    delivered += ids.length
  }
  expect(delivered).toBeGreaterThan(100)
  expect(delivered).toBeLessThan(12 * 150)
})
