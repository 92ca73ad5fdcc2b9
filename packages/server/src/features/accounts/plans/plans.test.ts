import { randomBytes } from 'node:crypto'
import { imapAccountInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestApp } from '../../../../test/open-app.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { createCursorCodec } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { openCommits } from '../../../door/commits.ts'
import { newId } from '../../../kit/ids.ts'
import { silentLog } from '../../../kit/log.ts'
import { environmentKeyRing } from '../../../kit/key-ring.ts'
import { connectImapAccount } from '../accounts/connect-imap.ts'
import type { SignIn } from '../accounts/imap-servers.ts'
import { accountKeys } from '../../../accounts/secrets.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { createTenant } from '../../tenancy/tenants/store.ts'
import { assignPlan } from './assign.ts'
import { changePlan } from './change.ts'
import { PAGE_ACCOUNTS } from './forbid-body-storage.ts'
import { NO_LIMITS, type Plan, type PlanLimits } from '../../tenancy/plans/plan.ts'
import { createPlan } from '../../tenancy/plans/store.ts'

// A test that waits for locks, or reads the rows of all tenants, has a database of its own.
const { newTenant } = useTestApp()

const PARALLEL = 200
const IMAP = { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada@example.com' } as const
const CONNECTION = {
  email: 'ada@example.com',
  password: 'p',
  imap: { host: IMAP.host, port: 993 },
  smtp: null,
}

async function requirePlan(db: Db, limits: Partial<PlanLimits>): Promise<Plan> {
  const plan = await createPlan(db, newId(), { ...NO_LIMITS, ...limits })
  if (!plan) throw new Error('There is a plan of this name already')
  return plan
}

/** Statements that wait for a lock. */
async function countWaiting(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows[0]?.count ?? 0
}

/** Every server lets everybody in. */
const SIGN_IN: SignIn = {
  accountKeys: accountKeys(environmentKeyRing(randomBytes(32).toString('base64'))),
  servers: {
    imap: () => Promise.resolve(),
    smtp: () => Promise.resolve(),
    dav: () => Promise.resolve({ calendarUrl: null, contactsUrl: null }),
  },
  serverSearch: { find: () => Promise.resolve(null) },
  allowPlaintext: false,
}

/** What a request of the tenant is served with. */
function contextOf(db: Db, tenantId: string): RequestContext {
  const { change, step } = openCommits({
    db,
    tenantId,
    wake: () => {},
    meta: { method: 'POST', scope: 'write', successStatus: 200, audit: 'account.create', makes: 'accountId' },
    answerHeaders: {},
    claim: null,
    audited: { recordEffect() {} },
  })
  return {
    db,
    tenantId,
    change,
    step,
    target: () => {},
    answerHeaders: {},
    ifMatch: null,
    lastEventId: null,
    gone: () => new AbortController().signal,
    wait: work => work(new AbortController().signal),
    stream: () => new AbortController().signal,
    attempt: { id: newId(), isResumed: false },
    credential: { kind: 'api_key', id: newId(), label: null, scopes: ['write'], accountIds: null },
    requestId: 'test',
    client: 'test',
    cursors: createCursorCodec(randomBytes(32)),
    log: silentLog,
  }
}

describe('maxAccounts', () => {
  test('of a full plan refuses an account before its servers are contacted, until one is deleted', async () => {
    const app = await newTenant()
    await sampleAccount(app.db, app.tenantId, { status: 'paused' })
    await sampleAccount(app.db, app.tenantId, { deleted_at: new Date() })
    await assignPlan(app.db, app.tenantId, await requirePlan(app.db, { maxAccounts: 1 }))

    const refused = await app.post('/v1/imap-accounts', CONNECTION)
    expect(refused).toMatchObject({ status: 403, body: { defined: true, code: 'plan_limit_accounts' } })
    const { body } = await app.get<{ items: Account[] }>('/v1/accounts')
    await app.delete(`/v1/accounts/${body.items[0]?.id}`)
    // It gets as far as the server, whose name does not resolve here.
    expect((await app.post('/v1/imap-accounts', CONNECTION)).body['code']).not.toBe('plan_limit_accounts')
  })

  test('allows one of 200 simultaneous requests to add the last account', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    const tenant = await createTenant(db, 'crowded', await requirePlan(db, { maxAccounts: 3 }))
    const tenantId = tenant?.id ?? ''
    for (let nth = 0; nth < 2; nth += 1) await sampleAccount(db, tenantId)
    const create = (nth: number) =>
      connectImapAccount(
        contextOf(db, tenantId),
        { ...SIGN_IN, requireStorage: () => Promise.resolve() },
        imapAccountInput.parse({ ...CONNECTION, email: `${nth}@example.com` }),
      )

    const outcomes = await Promise.allSettled(Array.from({ length: PARALLEL }, (_, nth) => create(nth)))

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') continue
      expect(outcome.reason).toBeInstanceOf(Refusal)
      expect(outcome.reason).toMatchObject({ reason: 'plan_limit_accounts' })
    }
  })
})

describe('bodyStorageAllowed', () => {
  test('false refuses bodyStorage wherever it is set, and new tenants start with none', async () => {
    const app = await newTenant()
    const plan = await requirePlan(app.db, { bodyStorageAllowed: false })
    const account = await sampleAccount(app.db, app.tenantId)
    await assignPlan(app.db, app.tenantId, plan)

    for (const bodyStorage of ['cache', 'full']) {
      const refused = { status: 403, body: { defined: true, code: 'plan_limit_storage' } }
      const settings = { bodyStorage }
      expect(await app.patch('/v1/settings', settings)).toMatchObject(refused)
      expect(await app.patch(`/v1/accounts/${account.id}`, { settings })).toMatchObject(refused)
      expect(await app.post('/v1/imap-accounts', { ...CONNECTION, settings })).toMatchObject(refused)
    }
    expect((await app.patch('/v1/settings', { bodyStorage: 'none', trackOpens: true })).status).toBe(200)

    const name = newId()
    await createTenant(app.db, name, plan)
    const made = await app.db
      .selectFrom('tenant')
      .select('settings')
      .where('name', '=', name)
      .executeTakeFirstOrThrow()
    expect(made.settings).toMatchObject({ bodyStorage: 'none' })
  })

  test('false turns off storing that another plan allowed, and announces it', async () => {
    const app = await newTenant()
    const inherits = await sampleAccount(app.db, app.tenantId, { settings_override: '{}' })
    const own = await sampleAccount(app.db, app.tenantId, {
      settings_override: JSON.stringify({ bodyStorage: 'full', trackOpens: true }),
    })
    const without = await sampleAccount(app.db, app.tenantId, {
      settings_override: JSON.stringify({ bodyStorage: 'none' }),
    })

    await assignPlan(app.db, app.tenantId, await requirePlan(app.db, { bodyStorageAllowed: false }))

    expect((await app.get('/v1/settings')).body['bodyStorage']).toBe('none')
    for (const { id } of [inherits, own, without]) {
      const { body } = await app.get<Account>(`/v1/accounts/${id}`)
      expect(body.settings.bodyStorage).toBe('none')
    }
    expect((await app.get<Account>(`/v1/accounts/${own.id}`)).body.settingsOverride).toEqual({
      bodyStorage: 'none',
      trackOpens: true,
    })
    const { body } = await app.get<{ items: ChangeEvent[] }>('/v1/changes')
    expect(body.items.map(({ accountId, type }) => [accountId, type]).toSorted()).toEqual(
      [
        [inherits.id, 'account.updated'],
        [own.id, 'account.updated'],
      ].toSorted(),
    )
    await assignPlan(app.db, app.tenantId, null)
    expect((await app.patch('/v1/settings', { bodyStorage: 'full' })).status).toBe(200)
  })

  test('false also turns off what a request is storing at this moment', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const plan = await requirePlan(db, { bodyStorageAllowed: false })
    await app.patch('/v1/settings', { bodyStorage: 'none' })
    const { id } = await sampleAccount(db, tenantId, { settings_override: '{}' })
    const released = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    // While its events are locked, the request has changed the account and cannot commit.
    const holding = db.transaction().execute(async tx => {
      await sql`select pg_advisory_xact_lock(${0x57_41_58}::int, hashtext(${tenantId}))`.execute(tx)
      held.resolve()
      await released.promise
    })
    await held.promise
    const storing = app.patch(`/v1/accounts/${id}`, { settings: { bodyStorage: 'full' } })
    await waitUntil('the request to wait', async () => (await countWaiting(db)) === 1)
    let isAssigned = false
    const assigning = assignPlan(db, tenantId, plan).then(() => void (isAssigned = true))
    await waitUntil('the assignment', async () => isAssigned || (await countWaiting(db)) === 2)
    released.resolve()
    await Promise.all([holding, assigning])

    expect((await storing).status).toBe(200)
    expect((await app.get<Account>(`/v1/accounts/${id}`)).body.settings.bodyStorage).toBe('none')
  })

  test('false leaves a tenant as it is that leaves the plan at this moment', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const plan = await requirePlan(db, {})
    await assignPlan(db, tenantId, plan)
    await app.patch('/v1/settings', { bodyStorage: 'full' })
    const { id } = await sampleAccount(db, tenantId, { settings_override: '{"bodyStorage": "cache"}' })

    const released = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const leaving = db.transaction().execute(async tx => {
      await tx.updateTable('tenant').set({ plan_id: null }).where('id', '=', tenantId).execute()
      left.resolve()
      await released.promise
    })
    await left.promise
    // The change finds the tenant among those of the plan, and waits for it.
    const changing = changePlan(db, plan.id, { bodyStorageAllowed: false })
    await waitUntil('the change to wait', async () => (await countWaiting(db)) === 1)
    released.resolve()
    await Promise.all([leaving, changing])

    expect((await app.get('/v1/settings')).body['bodyStorage']).toBe('full')
    expect((await app.get<Account>(`/v1/accounts/${id}`)).body.settings.bodyStorage).toBe('cache')
    const rows = await db.selectFrom('audit_open').select('id').where('action', '=', 'plan.update').execute()
    expect(rows).toEqual([])
  })

  test('false goes on where it was interrupted, and announces each account once', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const ids: string[] = []
    for (let nth = 0; nth <= PAGE_ACCOUNTS; nth += 1)
      ids.push((await sampleAccount(db, tenantId, { settings_override: '{"bodyStorage": "full"}' })).id)
    const plan = await requirePlan(db, { bodyStorageAllowed: false })
    await sql
      .raw(`alter table account add constraint stuck check (
      id <> '${ids.at(-1)}' or settings_override->>'bodyStorage' = 'full')`)
      .execute(db)

    await expect(assignPlan(db, tenantId, plan)).rejects.toThrow('stuck')
    const countStoring = async () => {
      const { rows } = await sql`
        select from account where settings_override->>'bodyStorage' <> 'none'`.execute(db)
      return rows.length
    }
    expect(await countStoring()).toBe(1)
    await sql`alter table account drop constraint stuck`.execute(db)
    await assignPlan(db, tenantId, plan)

    expect(await countStoring()).toBe(0)
    const { rows } = await sql<{ account_id: string }>`
      select account_id from event where type = 'account.updated' order by account_id`.execute(db)
    expect(rows.map(({ account_id: id }) => id)).toEqual(ids.toSorted())
  })
})

test(
  'a change of a plan leaves a row in the audit log of each of its tenants',
  { tags: ['postgres-16'] },
  async () => {
    const app = await newTenant()
    const { db, tenantId } = app
    const plan = await requirePlan(db, {})
    await assignPlan(db, tenantId, plan)
    await createTenant(db, newId(), null)
    await changePlan(db, plan.id, { maxAccounts: 7 })
    await changePlan(db, plan.id, { bodyStorageAllowed: false })
    const rows = await db
      .selectFrom('audit_open')
      .select(['tenant_id', 'targets'])
      .where('action', '=', 'plan.update')
      .where(sql`targets->>'planId'`, '=', plan.id)
      .execute()
    const row = { tenant_id: tenantId, targets: { tenantId, planId: plan.id } }
    expect(rows).toEqual([row, row])
  },
)

describe('storageBytes', () => {
  test('that are used up refuse only settings that store more', { tags: ['postgres-16'] }, async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, { settings_override: '{}' })
    await app.db.insertInto('tenant_storage').values({ tenant_id: app.tenantId, bytes: 5000 }).execute()
    await assignPlan(app.db, app.tenantId, await requirePlan(app.db, { storageBytes: 5000 }))
    const change = (settings: Record<string, unknown>) => app.patch(`/v1/accounts/${id}`, { settings })
    const refused = { status: 403, body: { defined: true, code: 'plan_limit_storage' } }

    expect(await app.patch('/v1/settings', { bodyStorage: 'full' })).toMatchObject(refused)
    expect(await change({ bodyStorage: 'full' })).toMatchObject(refused)
    expect(
      await app.post('/v1/imap-accounts', { ...CONNECTION, settings: { bodyStorage: 'full' } }),
    ).toMatchObject(refused)
    expect((await app.patch('/v1/settings', { bodyStorage: 'cache', trackOpens: true })).status).toBe(200)
    expect((await change({ bodyStorage: 'cache' })).status).toBe(200)
    expect((await change({ bodyStorage: 'none' })).status).toBe(200)
    expect(await change({ bodyStorage: 'cache' })).toMatchObject(refused)
    expect(await app.patch(`/v1/accounts/${id}`, { resetSettings: ['bodyStorage'] })).toMatchObject(refused)

    await assignPlan(app.db, app.tenantId, await requirePlan(app.db, { storageBytes: 5001 }))
    expect((await change({ bodyStorage: 'full' })).status).toBe(200)
  })
})
