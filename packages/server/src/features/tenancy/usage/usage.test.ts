/** @module-tag postgres-16-in-soak */
import { randomBytes } from 'node:crypto'
import type { UsageReport } from '@waxwing/contract/tenancy/usage.ts'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../../../../test/open-app.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { environmentKeyRing } from '../../../kit/key-ring.ts'
import { assignPlan } from '../../accounts/plans/assign.ts'
import { beginLiveWalk, sampleLiveAccounts } from '../../accounts/accounts/sample-live-accounts.ts'
import { MODULES, NO_LIMITS } from '../plans/plan.ts'
import { createPlan } from '../plans/store.ts'
import { setSuspended } from '../tenants/store.ts'
import { countUsage } from './count.ts'
import { deleteOldUsage, foldCounts, KEPT_DAYS, listStoredBytes, listUsageDays } from './store.ts'
import { waitForDay } from '../../../../test/wait-for-day.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const { newTenant } = useTestApp()

beforeEach(waitForDay)

const NEVER = new AbortController().signal
const NONE = { read: 0, write: 0, send: 0, admin: 0 }

/** `YYYY-MM-DD` in UTC. */
function daysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
}

async function readUsage(app: Pick<TestApp, 'get'>, query = ''): Promise<UsageReport> {
  const { status, body } = await app.get<UsageReport>(`/v1/usage${query}`)
  expect(status).toBe(200)
  return body
}

/** Moves the counts of today to an earlier day. */
async function moveBack(db: Db, days: number): Promise<void> {
  for (const table of ['usage_count', 'usage_day'])
    await sql`update ${sql.table(table)} set day = day - ${days}::int where day = (now() at time zone 'UTC')::date`.execute(
      db,
    )
}

async function storeBytes(db: Db, tenantId: string, bytes: number): Promise<void> {
  await sql`
    insert into tenant_storage (tenant_id, bytes) values (${tenantId}, ${bytes})
    on conflict (tenant_id) do update set bytes = excluded.bytes`.execute(db)
}

// Each test has a tenant or a database of its own, and one waits for seconds, so they run at once.
describe.concurrent('GET /v1/usage', () => {
  test('of a tenant without a plan has no limits, every module and no days', async () => {
    const app = await newTenant()
    expect(await readUsage(app)).toEqual({
      plan: {
        id: null,
        name: 'Platform defaults',
        limits: {
          maxAccounts: null,
          sendsPerDay: null,
          webhookEndpoints: null,
          storageBytes: null,
          bodyStorageAllowed: true,
          apiCallsPerMinute: null,
          apiCallsPerMinutePerKey: null,
          modules: MODULES,
          included: null,
          pricing: null,
        },
      },
      current: { accounts: 0, webhookEndpoints: 0, sendsToday: 0, storedBytes: 0 },
      days: [],
    })
  })

  test('shows the plan, and its present use', async () => {
    const app = await newTenant()
    const { db, tenantId } = app
    const limits = {
      ...NO_LIMITS,
      maxAccounts: 5,
      webhookEndpoints: 2,
      storageBytes: 10_000,
      modules: ['tracking'] as const,
    }
    const plan = await createPlan(db, newId(), limits)
    await assignPlan(db, tenantId, plan)
    await sampleAccount(db, tenantId)
    await sampleAccount(db, tenantId, { status: 'paused' })
    await sampleAccount(db, tenantId, { deleted_at: new Date() })
    await storeBytes(db, tenantId, 1234)
    await storeBytes(db, (await app.createTenant()).tenantId, 99)

    const { plan: shown, current } = await readUsage(app)
    expect(shown).toMatchObject({ id: plan?.id, name: plan?.name })
    expect(shown.limits).toEqual({ ...limits, included: null, pricing: null })
    expect(current).toEqual({ accounts: 2, webhookEndpoints: 0, sendsToday: 0, storedBytes: 1234 })
  })

  test('refuses bad days and ranges, and who may not read it', async () => {
    const app = await newTenant()
    const answer = async (query: string, caller: Pick<TestApp, 'get'> = app) => {
      const { status, body } = await caller.get<{
        code: string
        data?: { issues: Array<{ path: unknown }> }
      }>(`/v1/usage${query}`)
      return [status, body.code, ...(body.data?.issues ?? []).map(({ path }) => path)]
    }
    for (const day of ['2026-02-30', '2026-2-1', '2026-02-01T00:00:00Z', 'yesterday', ''])
      expect(await answer(`?from=${day}`)).toEqual([400, 'invalid_input', ['from']])
    expect(await answer('?since=2026-01-01')).toEqual([400, 'invalid_input', ['since']])
    expect(await answer('?from=2026-02-02&to=2026-02-01')).toEqual([400, 'invalid_range'])
    expect(await answer('?from=2024-01-01&to=2025-01-01')).toEqual([400, 'invalid_range'])
    expect(await answer(`?from=${daysAgo(-2)}`)).toEqual([400, 'invalid_range'])
    expect(await answer('?from=0000-01-01&to=0000-01-02')).toEqual([200, undefined])
    const { id } = await sampleAccount(app.db, app.tenantId)
    const bound = await app.createKey({ accountIds: [id] })
    expect(await answer('', app.as(bound.text))).toEqual([403, 'account_scope_forbidden'])
    const sender = await app.createKey({ scopes: ['send'] })
    expect(await answer('', app.as(sender.text))).toEqual([403, 'missing_scope'])
  })
})

describe.concurrent('calls', () => {
  test('count by the scope of their operation once they are within the request limits, and no others', async () => {
    await using database = await openTestDatabase()
    const keyRing = environmentKeyRing(randomBytes(32).toString('base64'))
    let tenantId = ''
    {
      await using app = await openTestApp({ database, keyRing })
      ;({ tenantId } = app)
      const account = await sampleAccount(app.db, tenantId)
      await app.get('/v1/accounts')
      await app.get('/v1/accounts/unknown')
      await app.get('/v1/accounts?limit=many')
      await app.patch('/v1/settings', { undoSendSeconds: 5 })
      await app.patch('/v1/settings', { undoSendSeconds: 'many' })
      await app.patch(`/v1/accounts/${account.id}`, { externalRef: 'a' })
      await app.post(`/v1/accounts/${account.id}/outbox`, { to: [] })
      const reader = await app.createKey({ scopes: ['read'] })
      await app.as(reader.text).patch('/v1/settings', { undoSendSeconds: 6 })
      await app.as('wk_unknown').get('/v1/accounts')
      await app.as(null).get('/v1/accounts')
      await app.get('/v1/nothing')
      await app.get('/health/ready')
    }
    await using app = await openTestApp({ database, keyRing })
    const { days } = await readUsage(app)
    expect(days).toEqual([
      {
        date: daysAgo(0),
        liveAccounts: 0,
        apiCalls: { read: 3, write: 1, send: 1, admin: 2 },
        sends: 0,
        webhookDeliveries: 0,
        aiCalls: 0,
        storedBytes: null,
      },
    ])
  })

  test('beyond the request limits do not count', async () => {
    await using database = await openTestDatabase()
    const keyRing = environmentKeyRing(randomBytes(32).toString('base64'))
    {
      await using app = await openTestApp({ database, keyRing })
      await assignPlan(
        app.db,
        app.tenantId,
        await createPlan(app.db, 'small', { ...NO_LIMITS, apiCallsPerMinute: 3 }),
      )
      const answers = await Promise.all(Array.from({ length: 10 }, () => app.get('/v1/settings')))
      const accepted = answers.filter(({ status }) => status === 200).length
      // Two windows, if a minute ends meanwhile.
      expect([3, 6]).toContain(accepted)
      expect(answers.filter(({ status }) => status === 429)).toHaveLength(10 - accepted)
    }
    await using app = await openTestApp({ database, keyRing })
    await assignPlan(app.db, app.tenantId, null)
    const [today] = (await readUsage(app)).days
    expect([3, 6]).toContain(today?.apiCalls.read)
  })

  test('are written while the service runs', async () => {
    const app = await newTenant()
    await app.get('/v1/accounts')
    await waitUntil('the count', async () => (await readUsage(app)).days.length > 0)
  })
})

describe.concurrent('days', () => {
  test('are listed oldest first, only days with usage, for one tenant, and for 400 days', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const other = await app.createTenant('other')
    const count = (id: string, sends: number) =>
      inTransaction(db, id, unit => countUsage(unit, 'sends', sends))
    for (const [days, sends] of [
      [KEPT_DAYS, 1],
      [KEPT_DAYS - 1, 2],
      [40, 3],
      [29, 4],
      [3, 5],
      [0, 6],
    ] as const) {
      await count(tenantId, sends)
      await count(other.tenantId, 100)
      if (days > 0) await moveBack(db, days)
      // Some are folded, some are not.
      if (days % 2 === 1) await foldCounts(db, NEVER)
    }
    const sends = async (query: string) =>
      (await readUsage(app, query)).days.map(day => [day.date, day.sends])
    const last = [
      [daysAgo(29), 4],
      [daysAgo(3), 5],
      [daysAgo(0), 6],
    ]
    expect(await sends('')).toEqual(last)
    expect(await sends(`?from=${daysAgo(40)}`)).toEqual([[daysAgo(40), 3], ...last])
    expect(await sends(`?to=${daysAgo(29)}`)).toEqual([
      [daysAgo(40), 3],
      [daysAgo(29), 4],
    ])
    expect(await sends(`?from=${daysAgo(3)}&to=${daysAgo(3)}`)).toEqual([[daysAgo(3), 5]])
    expect(await sends(`?from=${daysAgo(500)}&to=${daysAgo(300)}`)).toEqual([[daysAgo(KEPT_DAYS - 1), 2]])

    await foldCounts(db, NEVER)
    await deleteOldUsage(db)
    const kept = await db.selectFrom('usage_day').select('day').where('tenant_id', '=', tenantId).execute()
    expect(kept).toHaveLength(5)
  })

  test('show the most accounts that were live at one time, without accounts of suspended tenants', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const sample = async () => {
      await sampleLiveAccounts(db, beginLiveWalk(), NEVER)
      return (await readUsage(app)).days.map(({ liveAccounts: live }) => live)
    }
    await sampleAccount(db, tenantId, { status: 'paused' })
    await sampleAccount(db, tenantId, { deleted_at: new Date() })
    expect(await sample()).toEqual([])
    const first = await sampleAccount(db, tenantId)
    await sampleAccount(db, tenantId)
    expect(await sample()).toEqual([2])
    await app.patch(`/v1/accounts/${first.id}`, { status: 'paused' })
    expect(await sample()).toEqual([2])
    await app.patch(`/v1/accounts/${first.id}`, { status: 'active' })
    await sampleAccount(db, tenantId)
    const other = await app.createTenant('other')
    await sampleAccount(db, other.tenantId)
    await setSuspended(db, tenantId, true)
    await sampleLiveAccounts(db, beginLiveWalk(), NEVER)
    expect((await readUsage(other)).days.map(({ liveAccounts: live }) => live)).toEqual([1])
    await setSuspended(db, tenantId, false)
    expect((await readUsage(app)).days.map(({ liveAccounts: live }) => live)).toEqual([2])
    expect(await sample()).toEqual([3])
  })

  test('show all live accounts of tenants that have more than one statement reads', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const others = [await app.createTenant('one'), await app.createTenant('two')]
    const insert = (id: string, count: number) =>
      sql`
        insert into account (id, tenant_id, provider, email, auth_method)
        select gen_random_uuid(), ${id}, 'imap', n || '@a.test', 'password' from generate_series(1, ${count}::int) as n
      `.execute(db)
    await insert(tenantId, 450)
    await insert(others[0]!.tenantId, 200)
    await insert(others[1]!.tenantId, 1)
    await sampleLiveAccounts(db, beginLiveWalk(), NEVER)
    const shown = await Promise.all([app, ...others].map(async caller => (await readUsage(caller)).days))
    expect(shown.map(days => days.map(({ liveAccounts: live }) => live))).toEqual([[450], [200], [1]])
  })

  test('have null stored bytes until they were listed, and the bytes of the listing afterwards', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    const stored = async () => (await readUsage(app)).days.map(({ date, storedBytes }) => [date, storedBytes])
    await inTransaction(db, tenantId, unit => countUsage(unit, 'ai_calls', 1))
    await foldCounts(db, NEVER)
    await storeBytes(db, tenantId, 500)
    // Today is not over.
    await moveBack(db, 2)
    await inTransaction(db, tenantId, unit => countUsage(unit, 'ai_calls', 1))
    expect(await stored()).toEqual([
      [daysAgo(2), null],
      [daysAgo(0), null],
    ])

    await listStoredBytes(db)
    // The day before yesterday was missed, since nothing ran at its end.
    expect(await stored()).toEqual([
      [daysAgo(2), 500],
      [daysAgo(1), 500],
      [daysAgo(0), null],
    ])
    await storeBytes(db, tenantId, 700)
    await listStoredBytes(db)
    expect(await stored()).toEqual([
      [daysAgo(2), 500],
      [daysAgo(1), 500],
      [daysAgo(0), null],
    ])
  })

  test('whose first count comes after the listing get their bytes with it', async () => {
    await using app = await openTestApp()
    const { db, tenantId } = app
    await listStoredBytes(db)
    await inTransaction(db, tenantId, unit => countUsage(unit, 'sends', 1))
    await moveBack(db, 1)
    await foldCounts(db, NEVER)
    expect((await readUsage(app)).days).toMatchObject([
      { date: daysAgo(1), sends: 1, storedBytes: 0, apiCalls: NONE },
    ])
  })
})

describe.concurrent('counts', () => {
  test.each([1, 2, 3])(
    'are those of the transactions that committed, while others count, fold and read at the same time (seed %i)',
    async seed => {
      await using database = await openTestDatabase()
      const { db } = database
      const tenants = [(await sampleTenant(db)).id, (await sampleTenant(db)).id]
      const random = seeded(seed)
      /** Counts that were begun and committed, by tenant. */
      const journal = new Map(tenants.map(id => [id, { begun: 0, committed: 0 }]))
      const total = async (id: string) => {
        const days = await listUsageDays(db, id, { from: daysAgo(1), to: daysAgo(-1) })
        return days.reduce((sum, day) => sum + day.sends + day.webhook_deliveries, 0)
      }

      const count = async (draws: Random) => {
        const id = draws.pick(tenants)
        const known = journal.get(id)!
        const [what, number] = [draws.pick(['sends', 'webhook_deliveries'] as const), draws.between(1, 9)]
        if (draws.chance(0.3)) {
          const failing = inTransaction(db, id, async unit => {
            await countUsage(unit, what, number)
            throw new Error('rolled back')
          })
          return expect(failing).rejects.toThrow('rolled back')
        }
        known.begun += number
        await inTransaction(db, id, unit => countUsage(unit, what, number))
        known.committed += number
      }
      const read = async (draws: Random) => {
        const id = draws.pick(tenants)
        const known = journal.get(id)!
        const least = known.committed
        const found = await total(id)
        expect(found).toBeGreaterThanOrEqual(least)
        expect(found).toBeLessThanOrEqual(known.begun)
      }
      const actor = async (draws: Random) => {
        for (let acts = 0; acts < 30; acts += 1)
          await draws.pick([count, count, count, read, () => foldCounts(db, NEVER)])(draws)
      }
      await Promise.all(Array.from({ length: 8 }, (_, nth) => actor(random.fork(`actor ${nth}`))))

      for (const [id, { committed }] of journal) expect(await total(id)).toBe(committed)
      await foldCounts(db, NEVER)
      expect(await db.selectFrom('usage_count').select('day').execute()).toEqual([])
      for (const [id, { committed }] of journal) expect(await total(id)).toBe(committed)
    },
  )
})
