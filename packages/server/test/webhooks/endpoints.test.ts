import type { WebhookFilters } from '@waxwing/contract/notifications/webhook-filters.ts'
import type { WebhookEndpoint } from '@waxwing/contract/notifications/webhooks.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import type { Answer, Caller } from '../caller.ts'
import type { TestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox } from '../sample-rows.ts'
import { createEndpoint, HOOK, openWebhookApp } from './open-webhooks.ts'

type Body = Record<string, unknown>

const NOTHING_SET: WebhookFilters = {
  eventTypes: [],
  accountIds: [],
  message: {
    mailboxIds: [],
    mailboxRoles: [],
    from: [],
    to: [],
    subjectContains: [],
    hasAttachments: null,
    direction: null,
  },
}

let app: TestApp
let tenantId: string
let caller: Caller & { key: string }

beforeAll(async () => {
  app = await openWebhookApp()
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(async () => {
  const tenant = await app.createTenant(newId())
  tenantId = tenant.tenantId
  caller = tenant
})

const endpoints = async (by: Pick<Caller, 'get'> = caller) =>
  (await by.get<{ items: WebhookEndpoint[] }>('/v1/webhooks')).body.items
const change = (id: string, body: Body) => caller.patch<WebhookEndpoint>(`/v1/webhooks/${id}`, body)
const change200 = async (id: string, body: Body) => {
  const answer = await change(id, body)
  expect(answer).toMatchObject({ status: 200 })
  return answer.body
}
const refusalOf = ({ status, body }: Answer<unknown>) => {
  const { code, data } = body as { code: string; data?: unknown }
  return { status, code, ...(data === undefined ? {} : { data }) }
}
const pathsOf = ({ body }: Answer<Body>) => {
  const { data } = body as unknown as { data: { issues: { path: (string | number)[] }[] } }
  return data.issues.map(({ path }) => path.join('.'))
}

/** Two accounts with two mailboxes each. */
async function openMailboxes() {
  const [one, two] = [await sampleAccount(app.db, tenantId), await sampleAccount(app.db, tenantId)]
  const inOne = await sampleMailbox(app.db, one, { name: 'One' })
  const inTwo = await sampleMailbox(app.db, two, { name: 'Two' })
  return { one: one.id, two: two.id, inOne: inOne.id, inTwo: inTwo.id }
}

describe('an endpoint', () => {
  test(
    'is created with every filter unset, and listed newest first without its secret',
    { tags: ['postgres-16'] },
    async () => {
      const { endpoint, secret } = await createEndpoint(caller)
      expect(endpoint).toEqual({
        id: expect.any(String),
        url: HOOK,
        description: null,
        filters: NOTHING_SET,
        isEnabled: true,
        disabledReason: null,
        lastSuccessAt: null,
        failingSince: null,
        previousSecretExpiresAt: null,
        createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      })
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
      const second = await createEndpoint(caller, { description: 'second', filters: null })
      expect(await endpoints()).toEqual([second.endpoint, endpoint])
      expect(second.secret).not.toBe(secret)
    },
  )

  test('reads its filters in full, with repeated entries once', { tags: ['postgres-16'] }, async () => {
    const { one, inOne } = await openMailboxes()
    const { endpoint } = await createEndpoint(caller, {
      filters: {
        eventTypes: ['message.created', 'send.sent', 'message.created'],
        accountIds: [one, one.toUpperCase()],
        message: {
          mailboxIds: [inOne, inOne],
          mailboxRoles: ['inbox', 'sent', 'inbox'],
          from: ['Ada@Example.com', 'ada@example.com', '@Bücher.example', '@xn--bcher-kva.example'],
          subjectContains: ['Straße', 'STRAßE', 'e\u0301', 'É'],
          hasAttachments: false,
        },
      },
    })
    expect(endpoint.filters).toEqual({
      eventTypes: ['message.created', 'send.sent'],
      accountIds: [one],
      message: {
        mailboxIds: [inOne],
        mailboxRoles: ['inbox', 'sent'],
        from: ['Ada@Example.com', '@Bücher.example'],
        to: [],
        subjectContains: ['Straße', 'e\u0301'],
        hasAttachments: false,
        direction: null,
      },
    })
    expect((await endpoints())[0]).toEqual(endpoint)
  })

  test('changes in the fields that are present, on both levels of its filters', async () => {
    const { one, inOne } = await openMailboxes()
    const message = {
      mailboxIds: [inOne],
      from: ['@example.com'],
      hasAttachments: true,
      direction: 'inbound',
    }
    const filters = { eventTypes: ['message.created'], accountIds: [one], message }
    const { endpoint } = await createEndpoint(caller, { description: 'before', filters })
    const full = { ...NOTHING_SET, ...filters, message: { ...NOTHING_SET.message, ...message } }
    expect(endpoint.filters).toEqual(full)

    const steps: [Body, Partial<Body>][] = [
      [{}, {}],
      [{ filters: {} }, {}],
      [{ filters: { message: {} } }, {}],
      [{ description: 'after' }, { description: 'after' }],
      [
        { filters: { message: { hasAttachments: null } } },
        { message: { ...full.message, hasAttachments: null } },
      ],
      [{ filters: { eventTypes: [] } }, { eventTypes: [] }],
      [{ filters: { eventTypes: ['send.sent'] } }, { eventTypes: ['send.sent'] }],
      [{ filters: { eventTypes: null } }, { eventTypes: [] }],
      [{ description: null }, { description: null }],
      [{ filters: { message: null } }, { message: NOTHING_SET.message }],
      [
        { filters: { message: { to: ['ada@example.com'] } } },
        { message: { ...NOTHING_SET.message, to: ['ada@example.com'] } },
      ],
      [{ filters: null }, NOTHING_SET],
    ]
    let expected: Body = { ...endpoint, filters: full }
    for (const [body, { description = expected['description'], ...filtersChange }] of steps) {
      expected = { ...expected, description, filters: { ...(expected['filters'] as Body), ...filtersChange } }
      expect({ body, after: await change200(endpoint.id, body) }).toEqual({ body, after: expected })
    }
    expect(await endpoints()).toEqual([expected])
  })

  test('is gone after DELETE', async () => {
    const { endpoint } = await createEndpoint(caller)
    expect(await caller.delete(`/v1/webhooks/${endpoint.id}`)).toMatchObject({ status: 200, body: null })
    expect(await endpoints()).toEqual([])
    const notFound = { status: 404, code: 'webhook_endpoint_not_found' }
    expect(refusalOf(await caller.delete(`/v1/webhooks/${endpoint.id}`))).toEqual(notFound)
  })

  test('of another tenant answers like one that never existed', async () => {
    const { endpoint } = await createEndpoint(app)
    for (const id of [endpoint.id, newId(), 'nonsense', '%00', endpoint.id.slice(1)]) {
      const answers = [
        await change(id, { description: 'mine' }),
        await caller.post(`/v1/webhooks/${id}/rotate-secret`),
        await caller.post(`/v1/webhooks/${id}/test`),
        await caller.delete(`/v1/webhooks/${id}`),
      ]
      for (const answer of answers) {
        expect(refusalOf(answer)).toEqual({ status: 404, code: 'webhook_endpoint_not_found' })
      }
    }
    expect(await endpoints(app)).toContainEqual(endpoint)
    expect(await endpoints()).toEqual([])
  })

  test('cannot be reached by a key that is bound to accounts, nor by an account token', async () => {
    const { one } = await openMailboxes()
    const { endpoint } = await createEndpoint(caller)
    const bound = app.as((await app.createKey({ tenantId, accountIds: [one] })).text)
    const { body } = await caller.post<{ token: string }>(`/v1/accounts/${one}/tokens`)
    for (const [by, code] of [
      [bound, 'account_scope_forbidden'],
      [app.as(body.token), 'account_token_forbidden'],
    ] as const) {
      const answers = [
        await by.get('/v1/webhooks'),
        await by.post('/v1/webhooks', { url: HOOK, filters: { accountIds: [one] } }),
        await by.patch(`/v1/webhooks/${endpoint.id}`, {}),
        await by.delete(`/v1/webhooks/${endpoint.id}`),
        await by.post(`/v1/webhooks/${endpoint.id}/rotate-secret`),
        await by.post(`/v1/webhooks/${endpoint.id}/test`),
      ]
      for (const answer of answers) expect(refusalOf(answer)).toEqual({ status: 403, code })
    }
  })
})

describe('bad input', () => {
  const many = (count: number) => Array.from({ length: count }, (_, nth) => `a${nth}@example.com`)

  test.each<[string, Body, string[]]>([
    ['no URL', { url: undefined }, ['url']],
    ['a URL that is none', { url: 'hooks.example.com' }, ['url']],
    ['a relative URL', { url: '//hooks.example.com/' }, ['url']],
    ['user info', { url: 'https://ada:pw@hooks.example.com/' }, ['url']],
    ['an empty user', { url: 'https://@hooks.example.com/' }, ['url']],
    ['a fragment', { url: 'https://hooks.example.com/#' }, ['url']],
    ['white space', { url: 'https://hooks.example.com/a b' }, ['url']],
    ['a line break', { url: 'https://hooks.example.com/\n' }, ['url']],
    ['a backslash', { url: 'https:\\\\hooks.example.com' }, ['url']],
    ['too few slashes', { url: 'https:/hooks.example.com' }, ['url']],
    ['no host', { url: 'https:///hooks.example.com' }, ['url']],
    ['a port beyond ports', { url: 'https://hooks.example.com:65536/' }, ['url']],
    ['2,049 characters', { url: `${HOOK}/${'a'.repeat(2048 - HOOK.length)}` }, ['url']],
    ['a long description', { description: 'a'.repeat(501) }, ['description']],
    ['an unknown field', { isEnabled: true }, ['isEnabled']],
    ['an unknown filter', { filters: { mailboxIds: [] } }, ['filters.mailboxIds']],
    ['an unknown criterion', { filters: { message: { bcc: [] } } }, ['filters.message.bcc']],
    ['an unknown type', { filters: { eventTypes: ['message.read'] } }, ['filters.eventTypes.0']],
    [
      'an unknown role',
      { filters: { message: { mailboxRoles: ['spam'] } } },
      ['filters.message.mailboxRoles.0'],
    ],
    ['a malformed account', { filters: { accountIds: ['x'] } }, ['filters.accountIds.0']],
    [
      'a malformed mailbox',
      { filters: { message: { mailboxIds: ['x'] } } },
      ['filters.message.mailboxIds.0'],
    ],
    ['no address', { filters: { message: { from: ['ada'] } } }, ['filters.message.from.0']],
    ['no domain', { filters: { message: { to: ['@'] } } }, ['filters.message.to.0']],
    [
      'an empty phrase',
      { filters: { message: { subjectContains: [''] } } },
      ['filters.message.subjectContains.0'],
    ],
    [
      'a long phrase',
      { filters: { message: { subjectContains: ['a'.repeat(256)] } } },
      ['filters.message.subjectContains.0'],
    ],
    ['101 entries', { filters: { message: { from: many(101) } } }, ['filters.message.from']],
    [
      '101 equal entries',
      { filters: { message: { from: Array.from({ length: 101 }, () => 'a@example.com') } } },
      ['filters.message.from'],
    ],
    [
      '101 types',
      { filters: { eventTypes: Array.from({ length: 101 }, () => 'send.sent') } },
      ['filters.eventTypes'],
    ],
    ['a direction', { filters: { message: { direction: 'both' } } }, ['filters.message.direction']],
    ['no boolean', { filters: { message: { hasAttachments: 'true' } } }, ['filters.message.hasAttachments']],
  ])('%s is refused by its path, and leaves nothing', async (_, body, paths) => {
    const { endpoint } = await createEndpoint(caller)
    const created = await caller.post<Body>('/v1/webhooks', { url: HOOK, ...body })
    // A PATCH takes isEnabled, and may leave the URL out.
    const isChange = !('isEnabled' in body) && body['url'] !== undefined
    const answers = isChange
      ? [created, await caller.patch<Body>(`/v1/webhooks/${endpoint.id}`, body)]
      : [created]
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
      expect(pathsOf(answer)).toEqual(paths)
    }
    expect(await endpoints()).toEqual([endpoint])
  })

  test('100 entries are allowed', async () => {
    const { endpoint } = await createEndpoint(caller, { filters: { message: { from: many(100) } } })
    expect(endpoint.filters.message.from).toHaveLength(100)
  })

  test('graceSeconds has its bounds', async () => {
    const { endpoint } = await createEndpoint(caller)
    for (const graceSeconds of [-1, 604_801, 1.5, '60', null]) {
      const answer = await caller.post(`/v1/webhooks/${endpoint.id}/rotate-secret`, { graceSeconds })
      expect({ graceSeconds, paths: pathsOf(answer) }).toEqual({ graceSeconds, paths: ['graceSeconds'] })
    }
    expect(await endpoints()).toEqual([endpoint])
  })
})
