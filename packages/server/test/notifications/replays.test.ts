import { execFileSync } from 'node:child_process'
import type { ReplayedEvents } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { sql } from 'kysely'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { requireProgram } from '../servers/install.ts'
import { waitUntil } from '../wait-until.ts'
import {
  countFailed,
  countWaiting,
  createEndpoint,
  happen,
  listAttempts,
  openWebhookApp,
  waitUntilDrained,
  type WebhookApp,
} from './open-webhooks.ts'
import { answering } from './receiver.ts'

let opened: WebhookApp
beforeAll(async () => {
  opened = await openWebhookApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

let number = 0
async function openEndpoint(filters: Record<string, unknown> = {}) {
  const { app, receiver } = opened
  const path = `/replays-${++number}`
  const tenant = await app.createTenant(`tenant ${path}`)
  const create = (own: Record<string, unknown> = filters) => createEndpoint(tenant, receiver.url + path, own)
  const { endpoint, secret } = await create()
  return {
    id: endpoint.id,
    path,
    tenant,
    secret,
    create,
    happen: (count = 1) => happen({ db: app.db, tenantId: tenant.tenantId }, count),
    replay: (body: object, id = endpoint.id) =>
      tenant.post<ReplayedEvents>(`/v1/webhooks/${id}/replay`, body),
    ids: () => receiver.idsAt(path),
    drained: () => waitUntilDrained(app.db, endpoint.id),
  }
}

async function isPaused(db: Db, endpointId: string): Promise<boolean> {
  const { rows } = await sql`
    select from webhook_dispatch where endpoint_id = ${endpointId} and paused_until > clock_timestamp()
  `.execute(db)
  return rows.length > 0
}

const EVER = { since: '2020-01-01T00:00:00.000Z', until: '2100-01-01T00:00:00.000Z' }

describe('the replay of a range', () => {
  test(
    'queues what the endpoint would receive now, with the same id and body, and counts it',
    { tags: ['postgres-16'] },
    async () => {
      const { app, receiver } = opened
      const endpoint = await openEndpoint({ eventTypes: ['account.purged'] })
      const ids = await endpoint.happen(30)
      await waitUntil('the log to be read', async () => {
        const { rows } = await sql<{ after_id: string }>`
        select after_id from event_follower where name = 'webhooks' and tenant_id = ${endpoint.tenant.tenantId}
      `.execute(app.db)
        return BigInt(rows[0]?.after_id ?? 0) >= BigInt(ids.at(-1) ?? 0)
      })
      expect((await endpoint.replay(EVER)).body).toEqual({ queued: 0, alreadyQueued: 0 })
      await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { filters: null })
      receiver.tempers[endpoint.path] = answering(503, { 'retry-after': '1000' })
      expect((await endpoint.replay(EVER)).body).toEqual({ queued: 30, alreadyQueued: 0 })
      expect((await endpoint.replay(EVER)).body).toEqual({ queued: 0, alreadyQueued: 30 })
      receiver.tempers[endpoint.path] = answering(200)
      await waitUntil('the pause', async () => (await listAttempts(endpoint.tenant, endpoint.id)).length > 0)
      await waitUntil('everything to be delivered', async () => {
        // A refusal that was still on its way may pause the endpoint once more.
        if (await isPaused(app.db, endpoint.id))
          await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: true })
        return (await countWaiting(app.db, endpoint.id)) === 0
      })
      expect([...new Set(endpoint.ids())].toSorted()).toEqual(ids.toSorted())
      const bodies = new Map<string, Set<string>>()
      for (const { path, event, body } of receiver.received) {
        if (path === endpoint.path) bodies.set(event.id, (bodies.get(event.id) ?? new Set()).add(body))
      }
      for (const [, same] of bodies) expect(same.size).toBe(1)
      const attempts = await listAttempts(endpoint.tenant, endpoint.id)
      expect(attempts.every(({ isReplay }) => isReplay)).toBe(true)
      // Delivered before, and queued again.
      expect((await endpoint.replay(EVER)).body).toEqual({ queued: 30, alreadyQueued: 0 })
      await endpoint.drained()
    },
  )

  test('includes its beginning and not its end', async () => {
    const endpoint = await openEndpoint()
    const ids: string[] = []
    for (let each = 0; each < 7; each++) ids.push(...(await endpoint.happen()))
    await endpoint.drained()
    const { rows } = await sql<{ at: Date }>`
      update event set created_at = date_trunc('milliseconds', created_at) where id = any(${ids}::bigint[])
      returning created_at as at
    `.execute(opened.app.db)
    const times = rows.map(({ at }) => at.toISOString()).toSorted()
    const between = times.slice(2, 5)
    const expected = times.filter(time => time >= between[0]! && time < between[2]!).length
    const { body } = await endpoint.replay({ since: between[0], until: between[2] })
    expect(body.queued + body.alreadyQueued).toBe(expected)
  })

  test('finds the bounds of any range', async () => {
    const { app } = opened
    const endpoint = await openEndpoint()
    const ids = await endpoint.happen(40)
    await endpoint.drained()
    // An hour apart.
    await sql`
      update event set created_at = timestamptz '2026-01-01T00:00:00Z' + spread.number * interval '1 hour'
      from (select id, row_number() over (order by id) as number from unnest(${ids}::bigint[]) as given (id)) as spread
      where event.id = spread.id
    `.execute(app.db)
    const at = (hour: number) => new Date(Date.parse('2026-01-01T00:00:00Z') + hour * 3_600_000).toISOString()
    for (const [since, until] of [
      [0, 1],
      [1, 2],
      [1, 41],
      [5, 6],
      [5.5, 9.5],
      [40, 41],
      [41, 50],
      [-5, 0],
    ] as const) {
      const { body } = await endpoint.replay({ since: at(since), until: at(until) })
      const expected = ids.filter((_, index) => index + 1 >= since && index + 1 < until).length
      expect([since, until, body.queued + body.alreadyQueued]).toEqual([since, until, expected])
    }
    await endpoint.drained()
  })

  test.each([
    [{ since: EVER.until, until: EVER.since }, 400, 'invalid_range'],
    [{ since: EVER.since, until: EVER.since }, 400, 'invalid_range'],
    [{ since: EVER.since }, 400, 'invalid_input'],
    [{}, 400, 'invalid_input'],
  ])('refuses %o', async (body, status, reason) => {
    const endpoint = await openEndpoint()
    const answer = await endpoint.replay(body)
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer.body)).toContain(reason)
  })

  test('refuses more than a replay may queue, and queues nothing', async () => {
    const { app } = opened
    const endpoint = await openEndpoint()
    await app.db.transaction().execute(async tx => {
      await sql`
        insert into event (tenant_id, id, type, data)
        select ${endpoint.tenant.tenantId}, nextval('event_id'), 'account.purged', '{"accountId": "x"}'
        from generate_series(1, 100001)
      `.execute(tx)
      await sql`update webhook_endpoint set from_event_id = (select last_value from event_id) where id = ${endpoint.id}`.execute(
        tx,
      )
    })
    const answer = await endpoint.replay(EVER)
    expect(JSON.stringify(answer.body)).toContain('replay_range_too_large')
    expect(await countWaiting(app.db, endpoint.id)).toBe(0)
    await sql`delete from event where tenant_id = ${endpoint.tenant.tenantId}`.execute(app.db)
  })
})

describe('the replay of one event', () => {
  test('does not ask the filters', async () => {
    const endpoint = await openEndpoint({ eventTypes: ['account.purged'] })
    const [id] = await endpoint.happen()
    const path = `/v1/webhooks/${endpoint.id}/events/${id}/replay`
    expect((await endpoint.tenant.post(path)).body).toEqual({ queued: 1, alreadyQueued: 0 })
    await endpoint.drained()
    expect(endpoint.ids()).toEqual([id])
  })

  test('refuses what is no event, a test, of another tenant, or emptied', async () => {
    const { app } = opened
    const endpoint = await openEndpoint()
    const [foreign] = await happen(app)
    const [emptied] = await endpoint.happen()
    await endpoint.drained()
    await sql`update event set data = '{}' where id = ${emptied}`.execute(app.db)
    const { body } = await endpoint.tenant.post(`/v1/webhooks/${endpoint.id}/test`, {})
    for (const id of [
      foreign,
      emptied,
      body['eventId'],
      '0',
      '99999999999999999999',
      'x',
      '9223372036854775807',
      '9223372036854775808',
    ]) {
      const answer = await endpoint.tenant.post(`/v1/webhooks/${endpoint.id}/events/${String(id)}/replay`)
      expect([id, answer.status, JSON.stringify(answer.body).includes('event_not_found')]).toEqual([
        id,
        404,
        true,
      ])
    }
    await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: false })
    const answer = await endpoint.tenant.post(`/v1/webhooks/${endpoint.id}/events/1/replay`)
    expect(JSON.stringify(answer.body)).toContain('event_not_found')
  })

  test('is refused while the endpoint is disabled', { tags: ['postgres-16'] }, async () => {
    const endpoint = await openEndpoint()
    const [id] = await endpoint.happen()
    await endpoint.drained()
    await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: false })
    const answer = await endpoint.tenant.post(`/v1/webhooks/${endpoint.id}/events/${id}/replay`)
    expect(JSON.stringify(answer.body)).toContain('endpoint_disabled')
  })
})

describe('the replay of failed deliveries', () => {
  test('queues each of them once and replaces it', { tags: ['postgres-16'] }, async () => {
    const { app, receiver } = opened
    const endpoint = await openEndpoint()
    receiver.tempers[endpoint.path] = answering(500)
    await endpoint.happen(8)
    await waitUntil('them to be queued', async () => (await countWaiting(app.db, endpoint.id)) === 8)
    await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: false })
    expect(await countFailed(endpoint.tenant, endpoint.id)).toBe(8)
    const path = `/v1/webhooks/${endpoint.id}/replay-failed`
    expect(JSON.stringify((await endpoint.tenant.post(path)).body)).toContain('endpoint_disabled')
    receiver.tempers[endpoint.path] = answering(200)
    await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: true })
    const answers = await Promise.all([endpoint.tenant.post(path), endpoint.tenant.post(path)])
    const queued = answers.map(({ body }) => Number(body['queued']))
    expect(queued.reduce((sum, each) => sum + each)).toBe(8)
    await endpoint.drained()
    expect(await countFailed(endpoint.tenant, endpoint.id)).toBe(0)
  })
})

describe('the log of attempts', () => {
  test('is read by pages, with any filters', { tags: ['postgres-16'] }, async () => {
    const { receiver } = opened
    const endpoint = await openEndpoint()
    receiver.tempers[endpoint.path] = (response, _, { event }) =>
      response
        .writeHead(BigInt(event.id) % 2n === 0n ? 200 : 400, { 'content-type': 'text/plain' })
        .end('hello')
    const ids = await endpoint.happen(20)
    await waitUntil(
      'the attempts',
      async () => (await listAttempts(endpoint.tenant, endpoint.id)).length >= 20,
    )
    const log = `/v1/webhooks/${endpoint.id}/attempts`
    const even = ids.filter(id => BigInt(id) % 2n === 0n)
    const list = async (query: string) =>
      (await listAttempts(endpoint.tenant, endpoint.id, query)).map(({ eventId }) => eventId)
    expect((await list('&result=succeeded')).toSorted()).toEqual(even.toSorted())
    expect(await list(`&eventId=${ids[3]}`)).toContain(ids[3])
    expect(await list('&eventId=9999999999999999999')).toEqual([])
    expect(await list('&eventType=account.purged')).toEqual([])
    expect(await list('&accountId=0190aaaa-0000-7000-8000-000000000000')).toEqual([])
    expect(await list('&until=2020-01-01T00:00:00Z')).toEqual([])
    expect(await list('&since=2100-01-01T00:00:00Z')).toEqual([])
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`
      const { body } = await endpoint.tenant.get<{ items: { id: string }[]; nextCursor: string | null }>(
        `${log}?limit=7${query}`,
      )
      seen.push(...body.items.map(({ id }) => id))
      cursor = body.nextCursor
      if (cursor) {
        const other = await endpoint.tenant.get(`${log}?limit=7&result=failed&cursor=${cursor}`)
        expect(JSON.stringify(other.body)).toContain('invalid_cursor')
      }
    } while (cursor)
    expect(seen).toEqual(seen.toSorted().toReversed())
    expect(new Set(seen).size).toBe(seen.length)
  })

  test('refuses a cursor whose attempt is gone', async () => {
    const endpoint = await openEndpoint()
    await endpoint.happen(5)
    await waitUntil(
      'the attempts',
      async () => (await listAttempts(endpoint.tenant, endpoint.id)).length >= 5,
    )
    const log = `/v1/webhooks/${endpoint.id}/attempts?limit=2`
    const { body } = await endpoint.tenant.get(log)
    await sql`update webhook_attempt set occurred_at = occurred_at - interval '7 days'`.execute(opened.app.db)
    expect(
      JSON.stringify((await endpoint.tenant.get(`${log}&cursor=${String(body['nextCursor'])}`)).body),
    ).toContain('invalid_cursor')
    expect((await endpoint.tenant.get(log)).body).toEqual({ items: [], nextCursor: null })
  })
})

describe('a signature', () => {
  test(
    'verifies with the library of Standard Webhooks and with openssl, under both secrets of a rotation',
    { tags: ['postgres-16'] },
    async () => {
      const { receiver } = opened
      const endpoint = await openEndpoint()
      const rotate = `/v1/webhooks/${endpoint.id}/rotate-secret`
      const { body } = await endpoint.tenant.post<{ secret: string }>(rotate, { graceSeconds: 3_600 })
      const [id] = await endpoint.happen()
      await waitUntil('the webhook', async () => endpoint.ids().length === 1)
      const got = receiver.received.find(({ path }) => path === endpoint.path)!
      const headers = Object.fromEntries(
        Object.entries(got.headers).map(([name, value]) => [name, String(value)]),
      )
      expect(headers).toMatchObject({
        'webhook-id': id,
        'content-type': 'application/json',
        'user-agent': 'waxwing-webhooks/1',
        'accept-encoding': 'identity',
      })
      for (const secret of [endpoint.secret, body.secret]) {
        expect(new Webhook(secret).verify(got.body, headers)).toEqual(got.event)
        const key = Buffer.from(secret.replace('whsec_', ''), 'base64').toString('hex')
        const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${got.body}`
        const digest = execFileSync(
          requireProgram('openssl'),
          ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${key}`, '-binary'],
          { input: signed },
        )
        expect(headers['webhook-signature']?.split(' ')).toContain(`v1,${digest.toString('base64')}`)
      }
      expect(() => new Webhook(body.secret).verify(`${got.body} `, headers)).toThrow()
      // The current secret signs first.
      const [first = ''] = headers['webhook-signature']?.split(' ') ?? []
      expect(new Webhook(body.secret).verify(got.body, { ...headers, 'webhook-signature': first })).toEqual(
        got.event,
      )
      const { body: last } = await endpoint.tenant.post<{ secret: string }>(rotate, { graceSeconds: 0 })
      await endpoint.happen()
      await waitUntil('the webhook', async () => endpoint.ids().length === 2)
      const alone = receiver.received.findLast(({ path }) => path === endpoint.path)!
      expect(String(alone.headers['webhook-signature']).split(' ')).toHaveLength(1)
      expect(
        new Webhook(last.secret).verify(alone.body, {
          ...headers,
          ...(alone.headers as Record<string, string>),
        }),
      ).toEqual(alone.event)
    },
  )
})
