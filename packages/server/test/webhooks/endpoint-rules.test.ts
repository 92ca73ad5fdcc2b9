import type { WebhookEndpoint } from '@waxwing/contract/notifications/webhooks.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { NO_FILTERS } from '../../src/features/notifications/webhooks/filters.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan, updateTenantPlan } from '../../src/features/tenancy/plans/store.ts'
import { newId } from '../../src/kit/ids.ts'
import type { Answer, Caller } from '../caller.ts'
import type { TestApp } from '../open-app.ts'
import { sampleAccount, sampleMailbox } from '../sample-rows.ts'
import { createEndpoint, HOOK, openWebhookApp } from './open-webhooks.ts'

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

const create = (body: Body) => caller.post<Body>('/v1/webhooks', { url: HOOK, ...body })
const change = (id: string, body: Body) => caller.patch<Body>(`/v1/webhooks/${id}`, body)
const endpoints = async () => (await caller.get<{ items: WebhookEndpoint[] }>('/v1/webhooks')).body.items
const refusalOf = ({ status, body: { code, data } }: Answer<Body>) => ({
  status,
  code,
  ...(data === undefined ? {} : { data }),
})
const unknown = (reason: string, ids: string[]) => ({ status: 422, code: reason, data: { ids } })

/** Two accounts with a mailbox each. */
async function openMailboxes() {
  const [one, two] = [await sampleAccount(app.db, tenantId), await sampleAccount(app.db, tenantId)]
  const [inOne, inTwo] = [await sampleMailbox(app.db, one), await sampleMailbox(app.db, two)]
  return { one: one.id, two: two.id, inOne: inOne.id, inTwo: inTwo.id }
}
const deleteAccount = (id: string) =>
  app.db.updateTable('account').set({ deleted_at: new Date() }).where('id', '=', id).execute()
const dropMailbox = (id: string) => app.db.deleteFrom('mailbox').where('id', '=', id).execute()

describe('filters', () => {
  test('name only live accounts of the tenant', async () => {
    const { one, two } = await openMailboxes()
    const foreign = await sampleAccount(app.db, app.tenantId)
    await deleteAccount(two)
    const missing = newId()
    const accountIds = [missing, one, foreign.id, two]
    const refused = unknown('unknown_account', [missing, foreign.id, two])
    expect(refusalOf(await create({ filters: { accountIds } }))).toEqual(refused)
    const { endpoint } = await createEndpoint(caller)
    expect(refusalOf(await change(endpoint.id, { filters: { accountIds } }))).toEqual(refused)
    expect(await endpoints()).toEqual([endpoint])
  })

  test('name only live mailboxes of the tenant', async () => {
    const { inOne, inTwo, two } = await openMailboxes()
    const foreign = await sampleMailbox(app.db, await sampleAccount(app.db, app.tenantId))
    await deleteAccount(two)
    const missing = newId()
    const filters = { message: { mailboxIds: [inOne, foreign.id, missing, inTwo] } }
    const refused = unknown('unknown_mailbox', [foreign.id, missing, inTwo])
    expect(refusalOf(await create({ filters }))).toEqual(refused)
    const { endpoint } = await createEndpoint(caller)
    expect(refusalOf(await change(endpoint.id, { filters }))).toEqual(refused)
    expect(await endpoints()).toEqual([endpoint])
  })

  test('name mailboxes of their accounts only, whichever of the two changes', async () => {
    const { one, two, inOne, inTwo } = await openMailboxes()
    const outside = { status: 400, code: 'mailbox_outside_accounts' }
    const both = { accountIds: [one], message: { mailboxIds: [inOne, inTwo] } }
    expect(refusalOf(await create({ filters: both }))).toEqual(outside)
    const { endpoint } = await createEndpoint(caller, {
      filters: { accountIds: [one], message: { mailboxIds: [inOne] } },
    })
    const { id } = endpoint
    expect(refusalOf(await change(id, { filters: { message: { mailboxIds: [inTwo] } } }))).toEqual(outside)
    expect(refusalOf(await change(id, { filters: { accountIds: [two] } }))).toEqual(outside)
    expect(await endpoints()).toEqual([endpoint])

    const moved = { accountIds: [two], message: { mailboxIds: [inTwo] } }
    expect(await change(id, { filters: moved })).toMatchObject({ status: 200, body: { filters: moved } })
    expect(await change(id, { filters: { accountIds: null } })).toMatchObject({ status: 200 })
    expect(await change(id, { filters: { message: { mailboxIds: [inOne, inTwo] } } })).toMatchObject({
      status: 200,
    })
  })

  test('keep accounts and mailboxes that are gone, and check only what is added', async () => {
    const { one, two, inOne, inTwo } = await openMailboxes()
    const filters = { accountIds: [one, two], message: { mailboxIds: [inOne, inTwo] } }
    const { endpoint } = await createEndpoint(caller, { filters })
    await deleteAccount(two)
    await dropMailbox(inOne)
    expect(await endpoints()).toEqual([endpoint])

    const { id } = endpoint
    expect(await change(id, { filters: { accountIds: [two, one] } })).toMatchObject({ status: 200 })
    expect(await change(id, { filters: { message: { mailboxIds: [inTwo, inOne] } } })).toMatchObject({
      status: 200,
    })
    const late = newId()
    expect(refusalOf(await change(id, { filters: { accountIds: [two, late] } }))).toEqual(
      unknown('unknown_account', [late]),
    )
    expect(await change(id, { filters: { accountIds: [one] } })).toMatchObject({ status: 200 })
    expect(refusalOf(await change(id, { filters: { accountIds: [one, two] } }))).toEqual(
      unknown('unknown_account', [two]),
    )
  })

  test('of two changes at once keep both', async () => {
    const { endpoint } = await createEndpoint(caller)
    const answers = await Promise.all([
      change(endpoint.id, { filters: { eventTypes: ['send.sent'] } }),
      change(endpoint.id, { filters: { message: { from: ['@example.com'] } } }),
      change(endpoint.id, { filters: { message: { direction: 'inbound' } } }),
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect((await endpoints())[0]?.filters).toMatchObject({
      eventTypes: ['send.sent'],
      message: { from: ['@example.com'], direction: 'inbound' },
    })
  })
})

describe('the number of endpoints', () => {
  const fill = (count: number) =>
    sql`
    insert into webhook_endpoint (id, tenant_id, url, filters, secret, from_event_id, is_enabled)
    select gen_random_uuid(), ${tenantId}, ${HOOK}, ${JSON.stringify(NO_FILTERS)}, '', 0, false from generate_series(1, ${count})
  `.execute(app.db)
  const count = async () =>
    (await sql`select from webhook_endpoint where tenant_id = ${tenantId}`.execute(app.db)).rows.length

  /** 200 creations, 120 of them at once, of 20 keys: of one key 16 may be under way, and of a tenant 128. */
  async function createAtOnce(): Promise<unknown[]> {
    const keys = await Promise.all(Array.from({ length: 20 }, () => app.createKey({ tenantId })))
    const answers: Answer<Body>[] = []
    let left = 200
    const createInTurn = async ({ text }: { text: string }) => {
      const key = app.as(text)
      while (left > 0) {
        left -= 1
        answers.push(await key.post<Body>('/v1/webhooks', { url: HOOK }))
      }
    }
    await Promise.all(keys.flatMap(key => Array.from({ length: 6 }, () => createInTurn(key))))
    return answers.map(({ status, body }) => (status === 200 ? 'created' : body['code'])).toSorted()
  }
  const ONE_OF_200 = ['created', ...Array.from({ length: 199 }, () => 'plan_limit_webhooks')]

  test('is 1,000 without a plan: of 200 that are created at once, one more fits', async () => {
    await fill(999)
    expect(await createAtOnce()).toEqual(ONE_OF_200)
    expect(await count()).toBe(1000)
  })

  test('is that of the plan: of 200 that are created at once, one more fits', async () => {
    const plan = await createPlan(app.db, newId(), { ...NO_LIMITS, webhookEndpoints: 3 })
    await inTransaction(app.db, tenantId, unit => updateTenantPlan(unit, plan?.id ?? null))
    await fill(2)
    expect(await createAtOnce()).toEqual(ONE_OF_200)
    expect(await count()).toBe(3)

    const [first] = await endpoints()
    await caller.delete(`/v1/webhooks/${first?.id}`)
    expect(await create({})).toMatchObject({ status: 200 })
    expect(refusalOf(await create({}))).toEqual({ status: 403, code: 'plan_limit_webhooks' })
    // Faults of the input itself are reported first.
    const plain = await create({ url: 'http://hooks.example.com/' })
    expect(refusalOf(plain)).toEqual({ status: 400, code: 'https_required' })
    expect(await change(first?.id ?? '', {})).toMatchObject({ status: 404 })
  })
})

describe('a target', () => {
  // A name that is refused takes a second, so they run at once, each with a tenant of its own.
  test.concurrent.each([
    ['http://hooks.example.com/', 400, 'https_required'],
    ['ftp://hooks.example.com/', 400, 'https_required'],
    ['mailto:ada@example.com', 400, 'https_required'],
    ['http://127.0.0.1/', 400, 'https_required'],
    ['https://127.0.0.1/', 400, 'server_not_allowed'],
    ['https://2130706433/', 400, 'server_not_allowed'],
    ['https://0x7f.1/', 400, 'server_not_allowed'],
    ['https://[::ffff:10.0.0.1]/', 400, 'server_not_allowed'],
    ['https://169.254.169.254/latest/meta-data/', 400, 'server_not_allowed'],
    ['https://localhost/', 400, 'server_not_allowed'],
    ['https://internal.test/', 400, 'server_not_allowed'],
    ['https://mixed.test/', 400, 'server_not_allowed'],
    ['https://nowhere.test/', 400, 'server_not_allowed'],
    ['https://hooks.example.com:80/', 400, 'server_not_allowed'],
    ['https://hooks.example.com:1023/', 400, 'server_not_allowed'],
  ])('such as %s is refused, and nothing changes', async (url, status, code) => {
    const own = await app.createTenant()
    const { endpoint } = await createEndpoint(own)
    const [created, changed] = await Promise.all([
      own.post<Body>('/v1/webhooks', { url }),
      own.patch<Body>(`/v1/webhooks/${endpoint.id}`, { url, description: 'new' }),
    ])
    expect(refusalOf(created)).toEqual({ status, code })
    expect(refusalOf(changed)).toEqual({ status, code })
    const { body } = await own.get<{ items: WebhookEndpoint[] }>('/v1/webhooks')
    expect(body.items).toEqual([endpoint])
  })

  test('in the private network is refused in the words for a name that does not exist', async () => {
    const [inside, nowhere] = await Promise.all([
      create({ url: 'https://internal.test/' }),
      create({ url: 'https://nowhere.test/' }),
    ])
    expect(inside.body).toEqual(nowhere.body)
  })

  test('is not opened by what serves mail', async () => {
    await using other = await openWebhookApp({
      database: app.database,
      keyRing: app.keyRing,
      egressAllow: ['internal.test', '10.0.0.0/8'],
      allowPlaintext: true,
    })
    const answer = await other.post<Body>('/v1/webhooks', { url: 'https://internal.test/' })
    expect(refusalOf(answer)).toEqual({ status: 400, code: 'server_not_allowed' })
  })

  test('is opened by WAXWING_WEBHOOK_ALLOW, with plain HTTP if that is allowed, and the log reports it', async () => {
    await using other = await openWebhookApp({
      database: app.database,
      keyRing: app.keyRing,
      config: { webhookAllow: ['internal.test'], webhookAllowHttp: true },
    })
    const urls = ['https://internal.test:25/', 'http://internal.test:3000/hook']
    for (const url of urls) {
      expect(await other.post('/v1/webhooks', { url })).toMatchObject({ status: 200 })
    }
    const plain = await other.post<Body>('/v1/webhooks', { url: 'http://hooks.example.com:8080/' })
    expect(refusalOf(plain)).toEqual({ status: 400, code: 'https_required' })
    expect(other.logLines.join('')).toContain('Private targets of webhooks may be reached')
    expect(other.logLines.join('')).toContain('Webhooks may use plain HTTP')
  })
})
