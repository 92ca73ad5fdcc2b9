import type { ServerResponse } from 'node:http'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { ATTEMPT_SECONDS, IN_FLIGHT_AT_FIRST } from '../../src/features/notifications/deliveries/limits.ts'
import { waitUntil } from '../wait-until.ts'
import { countWaiting, createEndpoint, happen, openWebhookApp, waitUntilDrained } from './open-webhooks.ts'
import type { Receiver } from './receiver.ts'

/** As many as let one tenant hold four. */
const CONNECTIONS = 16
const ENDPOINTS = 50
const EVENTS = 3
const WAITING = 100_000
const SLOW_MILLISECONDS = 100

/** Answers nothing at a path. @returns the requests that are under way, and the most there were at the same time */
function hangAt(receiver: Receiver, path: string) {
  const hanging = new Set<ServerResponse>()
  const most = { count: 0 }
  receiver.tempers[path] = response => {
    hanging.add(response)
    most.count = Math.max(most.count, hanging.size)
    response.on('close', () => hanging.delete(response))
  }
  return { hanging, most }
}

/** Spares the end of a test the wait for their time to run out. */
function endAll(hanging: ReadonlySet<ServerResponse>): void {
  for (const response of hanging) response.writeHead(204).end()
}

test('an endpoint that hangs and one that refuses delay none of the 48 others of their tenant', async () => {
  await using opened = await openWebhookApp()
  const { app, receiver } = opened
  const { hanging } = hangAt(receiver, '/hangs')
  await createEndpoint(app, `${receiver.url}/hangs`)
  await createEndpoint(app, 'http://127.0.0.1:1/refuses')
  const paths = Array.from({ length: ENDPOINTS - 2 }, (_, number) => `/good-${number}`)
  for (const path of paths) await createEndpoint(app, receiver.url + path)

  const begunAt = performance.now()
  const ids = await happen(app, EVENTS)
  await waitUntil('the attempts that hang', async () => hanging.size === EVENTS)
  const first = [...hanging]
  ids.push(...(await happen(app, EVENTS)))
  await waitUntil('all of the others', async () =>
    paths.every(path => receiver.idsAt(path).length === ids.length),
  )
  // A slow machine may need longer than an attempt may take.
  if (performance.now() - begunAt < ATTEMPT_SECONDS * 1_000)
    expect(first.filter(response => hanging.has(response))).toHaveLength(EVENTS)
  for (const path of paths) expect(receiver.idsAt(path).toSorted()).toEqual(ids.toSorted())
  endAll(hanging)
})

test('a tenant whose endpoints hang holds a quarter of the connections', async () => {
  await using opened = await openWebhookApp({ config: { webhookConnections: CONNECTIONS } })
  const { app, receiver } = opened
  const bad = await app.createTenant('bad')
  const { endpoint: held } = await createEndpoint(bad, `${receiver.url}/hangs`)
  const { hanging, most } = hangAt(receiver, '/hangs')
  const good = await app.createTenant('good')
  const { endpoint } = await createEndpoint(good, `${receiver.url}/good`)
  await happen({ db: app.db, tenantId: bad.tenantId }, 300)
  await waitUntil('the attempts that hang', async () => hanging.size === CONNECTIONS / 4)
  const ids = await happen({ db: app.db, tenantId: good.tenantId }, 100)
  await waitUntil('all of the others', async () => receiver.idsAt('/good').length >= ids.length)
  expect(most.count).toBe(CONNECTIONS / 4)
  await waitUntilDrained(app.db, endpoint.id)
  expect(receiver.open.max).toBeLessThanOrEqual(CONNECTIONS)
  await app.as(bad.key).patch(`/v1/webhooks/${held.id}`, { isEnabled: false })
  endAll(hanging)
})

test("100,000 waiting deliveries of a tenant do not hold up another tenant's events", async () => {
  await using opened = await openWebhookApp({ config: { webhookConnections: CONNECTIONS } })
  const { app, receiver } = opened
  const { db } = app
  const busy = await app.createTenant('busy')
  const { endpoint } = await createEndpoint(busy, `${receiver.url}/busy`)
  receiver.tempers['/busy'] = response =>
    setTimeout(() => response.writeHead(204).end(), SLOW_MILLISECONDS).unref()
  const other = await app.createTenant('other')
  await createEndpoint(other, `${receiver.url}/other`)
  await db.transaction().execute(async tx => {
    await sql`
      with event as (
        insert into event (tenant_id, id, type, data)
        select ${busy.tenantId}::uuid, nextval('event_id'), 'webhook.test', '{"message": "one of many"}'
        from generate_series(1, ${WAITING}::int) returning tenant_id, id
      )
      insert into webhook_delivery (endpoint_id, event_id, tenant_id, priority)
      select ${endpoint.id}::uuid, id, tenant_id, 1 from event
    `.execute(tx)
    await sql`
      insert into webhook_dispatch (endpoint_id, tenant_id, due_at)
      values (${endpoint.id}, ${busy.tenantId}, clock_timestamp())
      on conflict (endpoint_id) do update set due_at = clock_timestamp()
    `.execute(tx)
  })
  await sql`select pg_notify('waxwing_webhook', '')`.execute(db)
  await waitUntil('the first of many', async () => receiver.idsAt('/busy').length > 0)
  const [id] = await happen({ db, tenantId: other.tenantId })
  await waitUntil('the event of the other tenant', async () => receiver.idsAt('/other').includes(id ?? ''))
  expect(await countWaiting(db, endpoint.id)).toBeGreaterThan(WAITING * 0.9)
  await app.as(busy.key).patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: false })
})

test('an endpoint is given several at once, one more after as many successes, and drains', async () => {
  await using opened = await openWebhookApp()
  const { app, receiver } = opened
  const { endpoint } = await createEndpoint(app, `${receiver.url}/slow`)
  // It answers none until it was given as many as it may get at first, then until it was given one more.
  const steps = [IN_FLIGHT_AT_FIRST, IN_FLIGHT_AT_FIRST + 1, 1]
  const held: ServerResponse[] = []
  receiver.tempers['/slow'] = response => {
    held.push(response)
    if (held.length < steps[0]!) return
    if (steps.length > 1) steps.shift()
    for (const each of held.splice(0)) each.writeHead(204).end()
  }
  const ids = await happen(app, 300)
  await waitUntil('all of them', async () => receiver.idsAt('/slow').length >= ids.length)
  await waitUntilDrained(app.db, endpoint.id)
  expect(receiver.idsAt('/slow').toSorted()).toEqual(ids.toSorted())
  expect(receiver.open.max).toBeGreaterThan(IN_FLIGHT_AT_FIRST)
})

test('a name that comes to resolve to loopback is never connected to', async () => {
  let isRebound = false
  await using opened = await openWebhookApp({
    config: { webhookAllow: [], webhookAllowHttp: false },
    resolve: async () => (isRebound ? ['127.0.0.1'] : ['93.184.215.14']),
  })
  const { app, receiver } = opened
  const { endpoint } = await createEndpoint(app, `https://hooks.example.com:${receiver.port}/`)
  isRebound = true
  for (let each = 0; each < 20; each++) await app.post(`/v1/webhooks/${endpoint.id}/test`, {})
  const path = `/v1/webhooks/${endpoint.id}/attempts`
  const attempts = await waitUntil('the attempts', async () => {
    const { body } = await app.get<{ items: { error: string | null }[] }>(path)
    return body.items.length === 20 && body.items
  })
  expect(new Set(attempts.map(({ error }) => error))).toEqual(new Set(['server_not_allowed']))
  expect(receiver.connections).toBe(0)
})

test('an endpoint whose secret does not open holds up no other, and is put off', async () => {
  await using opened = await openWebhookApp()
  const { app, receiver } = opened
  const bad = await app.createTenant('bad')
  const { endpoint: sealed } = await createEndpoint(bad, `${receiver.url}/sealed`)
  const good = await app.createTenant('good')
  const { endpoint } = await createEndpoint(good, `${receiver.url}/good`)
  await sql`
    update webhook_endpoint set secret = (select secret from webhook_endpoint where id = ${endpoint.id})
    where id = ${sealed.id}
  `.execute(app.db)
  await happen({ db: app.db, tenantId: bad.tenantId })
  await waitUntil('the endpoint to be put off', async () => {
    const { rows } = await sql`
      select from webhook_dispatch
      where endpoint_id = ${sealed.id} and owner is null and due_at > clock_timestamp() + interval '30 seconds'
    `.execute(app.db)
    return rows.length === 1
  })
  const ids = await happen({ db: app.db, tenantId: good.tenantId }, 10)
  await waitUntil('all of the others', async () => receiver.idsAt('/good').length >= ids.length)
  expect(await countWaiting(app.db, sealed.id)).toBe(1)
  expect(receiver.idsAt('/sealed')).toEqual([])
})
