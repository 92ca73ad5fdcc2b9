import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitUntil } from '../wait-until.ts'
import {
  createEndpoint,
  happen,
  listAttempts,
  openWebhookApp,
  readEndpoint,
  waitUntilDrained,
  type WebhookApp,
} from './open-webhooks.ts'

let opened: WebhookApp
beforeAll(async () => {
  opened = await openWebhookApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

describe('a webhook', () => {
  test('brings each event to each endpoint that it is for, as the feed shows it', async () => {
    const { app, receiver } = opened
    const one = await createEndpoint(app, `${receiver.url}/one`)
    await createEndpoint(app, `${receiver.url}/two`, { eventTypes: ['account.deleted'] })
    await createEndpoint(app, `${receiver.url}/none`, { eventTypes: ['account.purged'] })
    const ids = await happen(app, 20)
    await waitUntil(
      'all of them',
      async () => receiver.idsAt('/one').length >= 20 && receiver.idsAt('/two').length >= 20,
    )
    await waitUntilDrained(app.db, one.endpoint.id)
    expect(receiver.idsAt('/one').toSorted()).toEqual(ids.toSorted())
    expect(receiver.idsAt('/two').toSorted()).toEqual(ids.toSorted())
    expect(receiver.idsAt('/none')).toEqual([])

    const feed = await fetch(`${app.address}/v1/changes`, { headers: { authorization: `Bearer ${app.key}` } })
    const page = await feed.text()
    for (const { body } of receiver.received) expect(page).toContain(body)

    const attempts = await listAttempts(app, one.endpoint.id)
    expect(attempts).toHaveLength(20)
    expect(attempts[0]).toMatchObject({
      eventType: 'account.deleted',
      accountId: null,
      attempt: 1,
      statusCode: 200,
      error: null,
      isReplay: false,
      isTest: false,
    })
    expect(await readEndpoint(app, one.endpoint.id)).toMatchObject({
      lastSuccessAt: expect.any(String),
      failingSince: null,
    })
  })
})
