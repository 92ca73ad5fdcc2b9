import { eventSamples } from '@waxwing/contract/event-samples.ts'
import { EVENT_TYPES } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import type { Answer, Caller } from '../caller.ts'
import type { TestApp } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'
import { createEndpoint, openWebhookApp } from './open-webhooks.ts'

type Body = Record<string, unknown>

let app: TestApp
let tenantId: string
let caller: Caller

beforeAll(async () => {
  app = await openWebhookApp()
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  const tenant = await app.createTenant(newId())
  tenantId = tenant.tenantId
  caller = tenant
})

const change = (id: string, body: Body) => caller.patch<Body>(`/v1/webhooks/${id}`, body)
const refusalOf = ({ status, body: { code, data } }: Answer<Body>) => ({
  status,
  code,
  ...(data === undefined ? {} : { data }),
})
const unknown = (reason: string, ids: string[]) => ({ status: 422, code: reason, data: { ids } })

describe('a test event', () => {
  const send = (id: string, body: Body) => caller.post<Body>(`/v1/webhooks/${id}/test`, body)

  test('of each type carries its sample, has an id of its own, and is never in the feed', async () => {
    const { endpoint } = await createEndpoint(caller, { filters: { eventTypes: ['send.sent'] } })
    const account = await sampleAccount(app.db, tenantId)
    const queued: Body[] = []
    for (const eventType of EVENT_TYPES) {
      const accountId = eventType === 'account.purged' ? null : account.id
      const answer = await send(endpoint.id, { eventType, accountId })
      expect(answer).toMatchObject({ status: 200 })
      const { eventId: id } = answer.body
      queued.push({ id, type: eventType, accountId, data: eventSamples[eventType], isTest: true })
    }
    const { rows } = await sql<{ body: string }>`
      select test_body as body from webhook_delivery where endpoint_id = ${endpoint.id} order by event_id
    `.execute(app.db)
    expect(rows.map(({ body }) => JSON.parse(body) as Body)).toEqual(
      queued.map(event => ({ ...event, createdAt: expect.stringMatching(/Z$/) })),
    )
    expect((await caller.get<{ items: unknown[] }>('/v1/changes')).body.items).toEqual([])
  })

  test('carries the data that is given', async () => {
    const { endpoint } = await createEndpoint(caller)
    const data = { message: 'Grüße 😀' }
    expect(await send(endpoint.id, { data })).toMatchObject({ status: 200 })
    const { rows } = await sql<{ body: string }>`
      select test_body as body from webhook_delivery where endpoint_id = ${endpoint.id}
    `.execute(app.db)
    expect(JSON.parse(rows[0]?.body ?? '')).toMatchObject({ type: 'webhook.test', accountId: null, data })
  })

  test('is refused for what is unknown, and while the endpoint is disabled', async () => {
    const { endpoint } = await createEndpoint(caller)
    const foreign = await sampleAccount(app.db, app.tenantId)
    expect(refusalOf(await send(endpoint.id, { accountId: foreign.id }))).toEqual(
      unknown('unknown_account', [foreign.id]),
    )
    await change(endpoint.id, { isEnabled: false })
    expect(refusalOf(await send(endpoint.id, {}))).toEqual({ status: 409, code: 'endpoint_disabled' })
  })

  test.each<[string, Body, string[]]>([
    ['an unknown type', { eventType: 'message.read' }, ['eventType']],
    ['no object', { data: [] }, ['data']],
    ['a missing field', { data: {} }, ['data.message']],
    ['an unknown field', { data: { message: 'x', more: 1 } }, ['data.more']],
    ['data of another type', { eventType: 'send.sent', data: { message: 'x' } }, ['data.outbox']],
    [
      'a wrong value far below',
      { eventType: 'account.initialized', data: { mailboxes: 1.5, messages: '2' } },
      ['data.mailboxes', 'data.messages'],
    ],
    [
      'an unknown field far below',
      {
        eventType: 'message.bounced',
        data: {
          outboxId: newId(),
          messageId: null,
          reference: null,
          bounceType: 'hard',
          recipients: [{ address: 'a@b.example', status: '5.1.1', diagnostic: '', bcc: true }],
        },
      },
      ['data.recipients.0.bcc'],
    ],
  ])('with %s is refused by its path', async (_, body, paths) => {
    const { endpoint } = await createEndpoint(caller)
    const answer = await send(endpoint.id, body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    const { issues } = answer.body['data'] as { issues: { path: (string | number)[] }[] }
    expect(issues.map(({ path }) => path.join('.'))).toEqual(paths)
  })
})
