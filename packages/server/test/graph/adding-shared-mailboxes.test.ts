import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS, type PlanLimits } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { setPastDue } from '../../src/features/tenancy/tenants/store.ts'
import type { Db } from '../../src/database/pool.ts'
import { newId } from '../../src/kit/ids.ts'
import type { TestTenant } from '../open-app.ts'
import { sampleAccount } from '../sample-rows.ts'
import { waitUntil } from '../wait-until.ts'
import {
  addOfficeUser,
  addShared,
  askToAdd,
  connectUser,
  OWN_SCOPES,
  SANDBOX_APPS,
  refreshTokenOf,
} from './delegates.ts'
import { type GraphApp, openGraphApp } from './open-graph-app.ts'

const GRAPH = 'graph.microsoft.com'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp({ roles: ['api'], config: SANDBOX_APPS })
})
afterAll(() => opened[Symbol.asyncDispose]())

interface World {
  tenant: TestTenant
  eva: string
  desk: string
  delegate: Account
}

/** A tenant with a delegate, and a mailbox that this one may open. */
async function openWorld({ scopes }: { scopes?: readonly string[] } = {}): Promise<World> {
  const { app, sandbox } = opened
  const tenant = await app.createTenant()
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', delegates: [eva] })
  const delegate = await connectUser(tenant, sandbox, eva, scopes ? { scopes } : {})
  return { tenant, eva, desk, delegate }
}

async function limit({ tenant }: World, limits: Partial<PlanLimits>): Promise<void> {
  await assignPlan(
    tenant.db,
    tenant.tenantId,
    await createPlan(tenant.db, newId(), { ...NO_LIMITS, ...limits }),
  )
}

/** The accounts and the number of events of a tenant. */
async function stateOf({ tenant }: World): Promise<unknown> {
  const { rows } = await sql`
    select (select json_agg(account order by id) from account where tenant_id = ${tenant.tenantId}) as accounts,
      (select count(*) from event where tenant_id = ${tenant.tenantId}) as events
  `.execute(tenant.db)
  return rows
}

const change = (column: string, value: string) => (world: World) =>
  sql`update account set ${sql.ref(column)} = ${value} where id = ${world.delegate.id}`.execute(
    world.tenant.db,
  )
const fault = (rule: Record<string, unknown>) => (world: World) =>
  opened.sandbox.addFault({
    host: GRAPH,
    path: `/v1.0/users/${encodeURIComponent(world.desk)}/*`,
    count: 4,
    ...rule,
  })

type Arrange = (world: World) => unknown

describe('adding a shared mailbox', () => {
  test('is answered alike when it is repeated, counted, and named in the audit log', async () => {
    const { tenant, delegate, desk } = await openWorld()
    const path = `/v1/accounts/${delegate.id}/shared-mailboxes`
    const key = { 'idempotency-key': newId() }
    const first = await tenant.post<Account>(path, { email: desk }, key)
    expect(first.status).toBe(200)
    expect(await tenant.post<Account>(path, { email: desk }, key)).toMatchObject({ body: first.body })
    const { rows: connected } = await sql<{ data: unknown }>`
      select data from event where account_id = ${first.body.id} and type = 'account.connected'
    `.execute(tenant.db)
    expect(connected).toEqual([
      {
        data: {
          email: desk,
          provider: 'graph',
          cloud: 'global',
          externalRef: null,
          reauthorized: false,
        },
      },
    ])
    const { rows: audited } = await sql<{ action: string; targets: unknown }>`
      select action, targets from audit_open where tenant_id = ${tenant.tenantId} and targets ? 'delegateAccountId'
    `.execute(tenant.db)
    expect(audited).toEqual([
      {
        action: 'account.create',
        targets: { accountId: first.body.id, delegateAccountId: delegate.id },
      },
    ])
    const { body: usage } = await tenant.get<{ current: { accounts: number } }>('/v1/usage')
    expect(usage.current.accounts).toBe(2)
  })

  test('makes one account for callers of two delegates at once, which one of them opens', async () => {
    const { tenant, delegate, desk, eva } = await openWorld()
    const { sandbox } = opened
    const finn = await addOfficeUser(sandbox, { name: 'finn' })
    await sandbox.changeUser(desk, { delegates: [eva, finn] })
    const other = await connectUser(tenant, sandbox, finn)
    const delegates = [delegate.id, other.id]
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, nth) => askToAdd(tenant, delegates[nth % 2]!, desk)),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    const { body } = await tenant.get<{ items: Account[] }>('/v1/accounts')
    expect(body.items).toHaveLength(3)
    expect(delegates).toContain(body.items.find(({ email }) => email === desk)?.auth.delegateAccountId)
  })

  test.each(['gcc-high', 'dod', 'china'] as const)('works in the cloud %s', async cloud => {
    const { app, sandbox } = opened
    const tenant = await app.createTenant()
    const user = await addOfficeUser(sandbox, { name: 'user', cloud })
    const desk = await addOfficeUser(sandbox, { name: 'desk', cloud, delegates: [user] })
    const delegate = await connectUser(tenant, sandbox, user, { cloud })
    expect(await addShared(tenant, delegate.id, desk)).toMatchObject({ cloud, email: desk, status: 'active' })
  })

  test('opens a mailbox again that was deleted here, as another account', async () => {
    const { tenant, delegate, desk } = await openWorld()
    const first = await addShared(tenant, delegate.id, desk)
    expect((await tenant.delete(`/v1/accounts/${first.id}?purge=true`)).status).toBe(200)
    const second = await addShared(tenant, delegate.id, desk)
    expect(second.id).not.toBe(first.id)
    expect((await tenant.get<Account>(`/v1/accounts/${delegate.id}`)).body.status).toBe('active')
  })

  test.each<[string, number, string, Arrange]>([
    ['the account is paused', 409, 'account_paused', change('status', 'paused')],
    ['the account is disabled', 409, 'account_disabled', change('status', 'disabled')],
    ['the account waits for a grant', 409, 'account_reauth_required', change('status', 'reauth_required')],
    [
      'an organization opens the account',
      400,
      'org_connection_account',
      change('auth_method', 'org_connection'),
    ],
    [
      'the payment is overdue',
      402,
      'billing_past_due',
      world => setPastDue(world.tenant.db, world.tenant.tenantId, true),
    ],
    [
      'the plan lacks the module',
      403,
      'plan_module_unavailable',
      world => limit(world, { modules: ['calendar'] }),
    ],
    [
      'the plan allows no more accounts',
      403,
      'plan_limit_accounts',
      world => limit(world, { maxAccounts: 1 }),
    ],
    [
      'the delegate may no longer open the mailbox',
      422,
      'shared_mailbox_inaccessible',
      world => opened.sandbox.changeUser(world.desk, { delegates: [] }),
    ],
    [
      'the mailbox is suspended',
      422,
      'shared_mailbox_inaccessible',
      world => opened.sandbox.changeUser(world.desk, { suspended: true }),
    ],
    ['the mailbox is forbidden', 422, 'shared_mailbox_inaccessible', fault({ does: 'error', status: 403 })],
    ['the provider asks to slow down', 429, 'provider_throttled', fault({ does: 'rate_limit' })],
    ['the provider fails', 502, 'provider_unavailable', fault({ does: 'error', status: 500 })],
    [
      'the mailbox signs in for itself',
      409,
      'account_exists',
      world => connectUser(world.tenant, opened.sandbox, world.desk),
    ],
    [
      'an IMAP account has the address',
      409,
      'account_exists',
      world => sampleAccount(world.tenant.db, world.tenant.tenantId, { email: world.desk.toUpperCase() }),
    ],
  ])('is refused if %s', async (_, status, code, arrange) => {
    const world = await openWorld()
    await arrange(world)
    const before = await stateOf(world)
    expect(await askToAdd(world.tenant, world.delegate.id, world.desk)).toMatchObject({
      status,
      body: { code },
    })
    expect(await stateOf(world)).toEqual(before)
    await opened.sandbox.clearFaults()
  })

  test.each<[string, number, string, object]>([
    ['is no address', 400, 'invalid_input', { email: 'desk' }],
    ['is of nobody', 422, 'shared_mailbox_inaccessible', { email: 'nobody@office.test' }],
    ['is in another cloud', 422, 'shared_mailbox_inaccessible', { email: 'hugo@agency.test' }],
    ['comes with an unknown field', 400, 'invalid_input', { password: 'x' }],
    ['is to have calendars', 400, 'scope_missing', { settings: { calendarEnabled: true } }],
    [
      'is to have a honeypot without tracked clicks',
      400,
      'honeypot_needs_click_tracking',
      { settings: { trackingHoneypot: true } },
    ],
  ])('is refused if the mailbox %s', async (_, status, code, more) => {
    const world = await openWorld()
    const before = await stateOf(world)
    expect(await askToAdd(world.tenant, world.delegate.id, world.desk, more)).toMatchObject({
      status,
      body: { code },
    })
    expect(await stateOf(world)).toEqual(before)
  })

  test('is refused if the plan forbids the storage that is asked for', async () => {
    const world = await openWorld()
    await limit(world, { bodyStorageAllowed: false })
    const asked = { settings: { bodyStorage: 'full' } }
    expect(await askToAdd(world.tenant, world.delegate.id, world.desk, asked)).toMatchObject({
      body: { code: 'plan_limit_storage' },
    })
  })

  test('lets a mailbox keep its storage once the storage of the plan is used up', async () => {
    const world = await openWorld()
    const { tenant, delegate, desk } = world
    const asked = { settings: { bodyStorage: 'full' } }
    const { id } = await addShared(tenant, delegate.id, desk, asked)
    const other = await addOfficeUser(opened.sandbox, { name: 'desk', delegates: [world.eva] })
    await limit(world, { storageBytes: 0 })
    expect(await askToAdd(tenant, delegate.id, desk, asked)).toMatchObject({ status: 200, body: { id } })
    expect((await askToAdd(tenant, delegate.id, other, asked)).body).toMatchObject({
      code: 'plan_limit_storage',
    })
  })

  test('is over while the grant of the delegate is for its own mailbox only', async () => {
    const world = await openWorld()
    const { tenant, delegate, desk, eva } = world
    const { id } = await addShared(tenant, delegate.id, desk)
    const read = async () => (await tenant.get<Account>(`/v1/accounts/${id}`)).body
    const renew = async (given: Parameters<typeof connectUser>[3]) => {
      await change('status', 'reauth_required')(world)
      expect((await connectUser(tenant, opened.sandbox, eva, given)).status).toBe('active')
    }
    // Microsoft grants what the user has ever allowed.
    await opened.sandbox.control('POST', '/consents/withdraw', { user: eva, clientId: 'sandbox' })
    await renew({ scopes: OWN_SCOPES })
    expect(await read()).toMatchObject({
      status: 'reauth_required',
      statusReason: 'delegate_reauth_required',
    })
    await renew({})
    expect(await read()).toMatchObject({ status: 'active', statusReason: null })
    const { rows } = await sql<{ type: string }>`
      select type from event where account_id = ${id} order by id
    `.execute(tenant.db)
    expect(rows.map(({ type }) => type)).toEqual([
      'account.connected',
      'account.reauth_required',
      'account.updated',
      'account.connected',
    ])
  })

  test('is refused for the own address of the delegate, and names its account', async () => {
    const world = await openWorld()
    expect(await askToAdd(world.tenant, world.delegate.id, world.eva)).toMatchObject({
      status: 409,
      body: { code: 'account_exists', message: expect.stringContaining(world.delegate.id) },
    })
  })

  test('makes an account that nobody can sign in for', async () => {
    const { tenant, delegate, desk } = await openWorld()
    const shared = await addShared(tenant, delegate.id, desk)
    const refreshToken = await refreshTokenOf(opened.sandbox, desk)
    expect(await tenant.post('/v1/accounts', { provider: 'microsoft', refreshToken })).toMatchObject({
      status: 409,
      body: { code: 'account_exists' },
    })
    expect(await tenant.post('/v1/connect-sessions', { accountId: shared.id })).toMatchObject({
      status: 400,
      body: { code: 'shared_mailbox_account' },
    })
    expect((await tenant.get<Account>(`/v1/accounts/${shared.id}`)).body.auth.method).toBe('delegate')
  })

  test('makes an account that nobody can sign in for by another address of the mailbox', async () => {
    const { tenant, delegate, desk } = await openWorld()
    const shared = await addShared(tenant, delegate.id, desk)
    // As if it had been added under an alias.
    await sql`update account set email = ${`alias-of-${desk}`} where id = ${shared.id}`.execute(tenant.db)
    const refreshToken = await refreshTokenOf(opened.sandbox, desk)
    expect(await tenant.post('/v1/accounts', { provider: 'microsoft', refreshToken })).toMatchObject({
      status: 409,
      body: { code: 'account_exists', message: expect.stringContaining(shared.id) },
    })
  })

  test('is refused below accounts that open none', async () => {
    const world = await openWorld()
    const { tenant, delegate, desk } = world
    const shared = await addShared(tenant, delegate.id, desk)
    const imap = await sampleAccount(tenant.db, tenant.tenantId)
    const other = await openWorld()
    const refusals: Array<[string, string]> = [
      [shared.id, 'shared_mailbox_account'],
      [imap.id, 'shared_mailbox_unsupported'],
      [other.delegate.id, 'account_not_found'],
      [newId(), 'account_not_found'],
      ['no-id', 'account_not_found'],
    ]
    for (const [id, code] of refusals)
      expect((await askToAdd(tenant, id, desk)).body, code).toMatchObject({ code })
  })

  test('is refused without the scopes for it, which a personal account never has', async () => {
    const { tenant, delegate, desk } = await openWorld({ scopes: OWN_SCOPES })
    expect(await askToAdd(tenant, delegate.id, desk)).toMatchObject({
      status: 400,
      body: { code: 'scope_missing' },
    })
    const { sandbox } = opened
    await sandbox.addUser('dora@outlook.test', { provider: 'microsoft', cloud: 'global' })
    const dora = await connectUser(tenant, sandbox, 'dora@outlook.test')
    expect(dora.status).toBe('active')
    expect((await askToAdd(tenant, dora.id, desk)).body).toMatchObject({ code: 'scope_missing' })
  })

  test('is refused to account tokens, and to keys of other accounts', async () => {
    const { tenant, delegate, desk, eva } = await openWorld()
    const token = await tenant.post<{ token: string }>(`/v1/accounts/${delegate.id}/tokens`, {})
    expect((await askToAdd(tenant.as(token.body.token), delegate.id, desk)).body).toMatchObject({
      code: 'account_token_forbidden',
    })
    const finn = await addOfficeUser(opened.sandbox, { name: 'finn' })
    await opened.sandbox.changeUser(desk, { delegates: [eva, finn] })
    const own = await connectUser(tenant, opened.sandbox, finn)
    const { text } = await tenant.createKey({ accountIds: [own.id] })
    expect((await askToAdd(tenant.as(text), delegate.id, desk)).body).toMatchObject({
      code: 'account_not_found',
    })
    // Nor may such a key take a mailbox away from an account that it does not see.
    const shared = await addShared(tenant, delegate.id, desk)
    const taken = await askToAdd(tenant.as(text), own.id, desk)
    expect(taken).toMatchObject({ status: 409, body: { code: 'account_exists' } })
    expect(JSON.stringify(taken.body)).not.toContain(shared.id)
    const { body: kept } = await tenant.get<Account>(`/v1/accounts/${shared.id}`)
    expect(kept.auth.delegateAccountId).toBe(delegate.id)
  })

  test('is undone if the delegate is paused or deleted while the provider answers', async () => {
    const { tenant, delegate, desk } = await openWorld()
    const inbox = { host: GRAPH, path: `/v1.0/users/${encodeURIComponent(desk)}/mailFolders/inbox` }
    const asked = async () => (await opened.sandbox.calls(inbox)).items.length
    /** Holds the account until the provider was asked, and lets it be changed before the answer is stored. */
    const during = async (work: (unit: Db) => Promise<unknown>) => {
      const before = await asked()
      const answer = await tenant.db.transaction().execute(async changing => {
        await work(changing)
        const waiting = askToAdd(tenant, delegate.id, desk)
        await waitUntil('the provider to be asked', async () => (await asked()) > before)
        return { waiting }
      })
      return (await answer.waiting).body
    }
    const set = (assignment: ReturnType<typeof sql>) => (db: Db) =>
      sql`update account set ${assignment} where id = ${delegate.id}`.execute(db)
    expect(await during(set(sql`status = 'paused'`))).toMatchObject({ code: 'account_paused' })
    await tenant.patch(`/v1/accounts/${delegate.id}`, { status: 'active' })
    expect(await during(set(sql`deleted_at = clock_timestamp()`))).toMatchObject({
      code: 'account_not_found',
    })
    const { body } = await tenant.get<{ items: Account[] }>('/v1/accounts')
    expect(body.items).toEqual([])
  })
})
