import type { ReplayedEvents } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import {
  countFailed,
  countWaiting,
  createEndpoint,
  happen,
  listAttempts,
  openWebhookApp,
  passTime,
  readEndpoint,
  waitUntilDrained,
  type WebhookApp,
} from './open-webhooks.ts'
import { answering } from './receiver.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
/** Real time that may pass while a test waits for a look. */
const LOOK_SECONDS_MAX = 3

let opened: WebhookApp
beforeAll(async () => {
  opened = await openWebhookApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

let number = 0
/** An endpoint of its own tenant, so that only its own events come to it. */
async function openEndpoint(temper = answering(500)) {
  const { app, receiver } = opened
  const path = `/failing-${++number}`
  receiver.tempers[path] = temper
  const tenant = await app.createTenant(`tenant ${path}`)
  const { endpoint } = await createEndpoint(tenant, receiver.url + path)
  const { id } = endpoint
  const countRequests = () => receiver.idsAt(path).length
  return {
    id,
    path,
    tenant,
    happen: (count = 1) => happen({ db: app.db, tenantId: tenant.tenantId }, count),
    answer: (next: ReturnType<typeof answering>) => void (receiver.tempers[path] = next),
    count: countRequests,
    async pass(seconds: number) {
      // An attempt under way would be recorded with times for which none has passed.
      await waitUntil('no attempt', async () => (await listAttempts(tenant, id)).length === countRequests())
      await passTime(app.db, id, seconds)
    },
    recorded: (count: number) =>
      waitUntil(`${count} attempts`, async () => (await listAttempts(tenant, id)).length >= count),
    drained: () => waitUntilDrained(app.db, id),
  }
}

/** Waits for a look at what is due that began after this call: it finds what is due for another endpoint, too. */
async function waitForLook(): Promise<void> {
  const other = await openEndpoint(answering(200))
  await other.tenant.post(`/v1/webhooks/${other.id}/test`, {})
  await other.recorded(1)
}

type Endpoint = Awaited<ReturnType<typeof openEndpoint>>

async function makeFailing(endpoint: Endpoint): Promise<string[]> {
  const ids = await endpoint.happen(5)
  await endpoint.recorded(5)
  return ids
}

describe('a delivery', () => {
  test('is attempted ten times over more than three days, and then given up', async () => {
    const endpoint = await openEndpoint()
    const [id = ''] = await endpoint.happen()
    const pauses = [5, 300, 1_800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]
    for (const [index, pause] of pauses.entries()) {
      await endpoint.recorded(index + 1)
      const before = endpoint.count()
      // Other deliveries keep the endpoint from failing.
      await sql`update webhook_dispatch set failures = 0, probe_at = null where endpoint_id = ${endpoint.id}`.execute(
        opened.app.db,
      )
      await endpoint.pass(pause * 0.84 - LOOK_SECONDS_MAX)
      await waitForLook()
      expect(endpoint.count()).toBe(before)
      await endpoint.pass(pause * 0.32 + LOOK_SECONDS_MAX)
    }
    await endpoint.recorded(10)
    const attempts = await listAttempts(endpoint.tenant, endpoint.id)
    expect(attempts.map(({ attempt, eventId, statusCode }) => [attempt, eventId, statusCode])).toEqual(
      Array.from({ length: 10 }, (_, index) => [10 - index, id, 500]),
    )
    expect(await countWaiting(opened.app.db, endpoint.id)).toBe(0)
    expect(await countFailed(endpoint.tenant, endpoint.id)).toBe(1)
  })

  test('waits for the time of Retry-After, and the endpoint with it after 429', async () => {
    const endpoint = await openEndpoint(answering(429, { 'retry-after': '3600' }))
    await endpoint.happen()
    await endpoint.recorded(1)
    endpoint.answer(answering(200))
    await endpoint.happen(3)
    await waitUntil('them to be queued', async () => (await countWaiting(opened.app.db, endpoint.id)) === 4)
    await endpoint.pass(3_300)
    await waitForLook()
    expect(endpoint.count()).toBe(1)
    await endpoint.pass(301)
    await endpoint.drained()
    expect(endpoint.count()).toBe(5)
  })
})

describe('an endpoint that fails', () => {
  test('is asked by one delivery at a time in turn, and gets all of them once it answers', async () => {
    const endpoint = await openEndpoint()
    const first = await makeFailing(endpoint)
    const later = await endpoint.happen(20)
    await waitUntil('them to be queued', async () => (await countWaiting(opened.app.db, endpoint.id)) === 25)
    const all = [...first, ...later]
    for (let probe = 0; probe < 4; probe++) {
      const before = endpoint.count()
      await endpoint.pass(1_100)
      await endpoint.recorded(before + 1)
      expect(endpoint.count()).toBe(before + 1)
    }
    expect(opened.receiver.idsAt(endpoint.path).slice(5)).toEqual(all.slice(0, 4))
    endpoint.answer(answering(200))
    await endpoint.pass(1_100)
    await endpoint.drained()
    const delivered = opened.receiver.idsAt(endpoint.path).slice(9)
    expect(delivered.toSorted()).toEqual(all.toSorted())
    expect((await readEndpoint(endpoint.tenant, endpoint.id)).failingSince).toBeNull()
  })

  test('gets nothing twice or never when it was down for four days, and the feed had it all along', async () => {
    const endpoint = await openEndpoint()
    const early = await makeFailing(endpoint)
    for (let hour = 0; hour < 4 * 24; hour += 6) {
      const before = endpoint.count()
      await endpoint.pass(6 * HOUR)
      // A delivery is given up only by a failure after its time.
      await Promise.race([endpoint.recorded(before + 1), endpoint.drained()])
    }
    expect(await countFailed(endpoint.tenant, endpoint.id)).toBe(early.length)
    const late = await endpoint.happen(3)
    await waitUntil('them to be queued', async () => (await countWaiting(opened.app.db, endpoint.id)) === 3)
    const before = endpoint.count()
    endpoint.answer(answering(200))
    await endpoint.pass(1_100)
    await endpoint.drained()
    expect(opened.receiver.idsAt(endpoint.path).slice(before).toSorted()).toEqual(late.toSorted())

    const path = `/v1/webhooks/${endpoint.id}/replay-failed`
    const { body } = await endpoint.tenant.post<ReplayedEvents>(path, {})
    expect(body).toEqual({ queued: early.length, alreadyQueued: 0 })
    await endpoint.drained()
    expect(
      opened.receiver
        .idsAt(endpoint.path)
        .slice(before + 3)
        .toSorted(),
    ).toEqual(early.toSorted())
    expect(await countFailed(endpoint.tenant, endpoint.id)).toBe(0)
    const { body: feed } = await endpoint.tenant.get<{ items: { id: string }[] }>('/v1/changes')
    expect(feed.items.map(({ id }) => id)).toEqual([...early, ...late])
  })

  test('is disabled after five days, and can be enabled again', async () => {
    const endpoint = await openEndpoint()
    await makeFailing(endpoint)
    for (let probe = 0; probe < 15; probe++) {
      const before = endpoint.count()
      await endpoint.pass(1_100)
      await endpoint.recorded(before + 1)
    }
    expect(await readEndpoint(endpoint.tenant, endpoint.id)).toMatchObject({ isEnabled: true })
    await endpoint.happen(2)
    await waitUntil('them to be queued', async () => (await countWaiting(opened.app.db, endpoint.id)) === 7)
    await sql`update webhook_delivery set queued_at = queued_at + interval '5 days' where endpoint_id = ${endpoint.id}`.execute(
      opened.app.db,
    )
    await endpoint.pass(5 * DAY)
    await waitUntil(
      'the endpoint to be disabled',
      async () => !(await readEndpoint(endpoint.tenant, endpoint.id)).isEnabled,
    )
    expect(await readEndpoint(endpoint.tenant, endpoint.id)).toMatchObject({ disabledReason: 'failing' })
    expect(await countFailed(endpoint.tenant, endpoint.id)).toBe(7)
    expect((await endpoint.tenant.post(`/v1/webhooks/${endpoint.id}/replay-failed`, {})).body).toMatchObject({
      code: expect.anything(),
    })
    const missed = await endpoint.happen(2)
    endpoint.answer(answering(200))
    const { body } = await endpoint.tenant.patch(`/v1/webhooks/${endpoint.id}`, { isEnabled: true })
    expect(body).toMatchObject({ isEnabled: true, disabledReason: null, failingSince: null })
    const before = endpoint.count()
    const after = await endpoint.happen(1)
    await waitUntil('what happened after', async () => endpoint.count() === before + 1)
    await endpoint.drained()
    expect(opened.receiver.idsAt(endpoint.path).at(-1)).toBe(after[0])
    expect(opened.receiver.idsAt(endpoint.path)).not.toContain(missed[0])
  })

  test('is disabled at once by 410, which gives up what waits', async () => {
    const endpoint = await openEndpoint(answering(410))
    await endpoint.happen(30)
    await waitUntil(
      'the endpoint to be disabled',
      async () => !(await readEndpoint(endpoint.tenant, endpoint.id)).isEnabled,
    )
    expect(await readEndpoint(endpoint.tenant, endpoint.id)).toMatchObject({ disabledReason: 'gone' })
    await waitUntil(
      'all to be given up',
      async () => (await countFailed(endpoint.tenant, endpoint.id)) === 30,
    )
    expect(await countWaiting(opened.app.db, endpoint.id)).toBe(0)
  })
})
