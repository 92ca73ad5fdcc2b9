import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { assignPlan } from '../src/features/accounts/plans/assign.ts'
import { changePlan } from '../src/features/accounts/plans/change.ts'
import { NO_LIMITS, type PlanLimits } from '../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../src/features/tenancy/plans/store.ts'
import { newId } from '../src/kit/ids.ts'
import { type Caller } from './caller.ts'
import { openTestApp, type TestApp } from './open-app.ts'
import { sampleAccount } from './sample-rows.ts'
import { connectSender, GRACE, openSendingApp, type SendingApp } from './sending/open-sending.ts'
import { waitForDay } from './wait-for-day.ts'

beforeEach(waitForDay)

const PARALLEL = 200
/** Requests that one key may have in flight. */
const OF_A_KEY = 16
const ROUNDS = 12
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

let sending: SendingApp
/** Two processes of one installation. */
let apps: [TestApp, TestApp]
beforeAll(async () => {
  sending = await openSendingApp({ app: { roles: ['api'] } })
  const { database, keyRing } = sending.app
  const outside = { egressAllow: ['127.0.0.1/32'], allowPlaintext: true }
  apps = [sending.app, await openTestApp({ roles: ['api'], database, keyRing, ...outside })]
})
afterAll(async () => {
  await apps[1][Symbol.asyncDispose]()
  await sending[Symbol.asyncDispose]()
})

interface Tenant extends Caller {
  tenantId: string
  limit(limits: Partial<PlanLimits>): Promise<string>
  /** As many callers as simultaneous requests need, with keys of their own, on both processes in turn. */
  callers(): Promise<Caller[]>
}

async function openTenant(): Promise<Tenant> {
  const [app] = apps
  const { tenantId, ...caller } = await app.createTenant(newId())
  return {
    ...caller,
    tenantId,
    async limit(limits) {
      const plan = await createPlan(app.db, newId(), { ...NO_LIMITS, ...limits })
      await assignPlan(app.db, tenantId, plan)
      return plan?.id ?? ''
    },
    async callers() {
      const keys = await Promise.all(
        Array.from({ length: Math.ceil(PARALLEL / OF_A_KEY) }, () => app.createKey({ tenantId })),
      )
      return Array.from({ length: PARALLEL }, (_, nth) => {
        const key = Math.floor(nth / OF_A_KEY)
        return apps[key % 2]!.as(keys[key]!.text)
      })
    },
  }
}

const countOf = (answers: ReadonlyArray<{ status: number; body: Record<string, unknown> }>) => {
  const kinds = Map.groupBy(answers, ({ status, body }) => `${status} ${String(body['code'] ?? 'ok')}`)
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]))
}

describe('sendsPerDay', () => {
  test(`with one left lets one of ${PARALLEL} simultaneous sends pass, of two processes`, async () => {
    const tenant = await openTenant()
    const accountId = await connectSender(tenant, sending)
    const path = `/v1/accounts/${accountId}`
    const body = { to: [GRACE], text: 'Hello.', sendAt: inAnHour() }
    const entries = [{ to: GRACE }, { to: { address: 'ada@example.org' } }]
    const draft = await tenant.post<{ id: string }>(`${path}/outbox`, body)
    expect(draft.status).toBe(200)
    // Messages that were queued before the plan had a limit count as well.
    await tenant.limit({ sendsPerDay: 2 })

    const callers = await tenant.callers()
    const sends = callers.slice(0, PARALLEL - 20).map(caller => caller.post(`${path}/outbox`, body))
    const merges = callers.slice(PARALLEL - 20).map(caller =>
      caller.post<{ items: Array<{ error: { reason: string } | null }> }>(`${path}/mail-merges`, {
        text: 'Hello.',
        subject: 'Hello',
        sendAt: inAnHour(),
        entries,
      }),
    )
    const sent = countOf(await Promise.all(sends))
    const merged = await Promise.all(merges)
    const errors = merged.flatMap(({ body: { items } }) =>
      (items ?? []).map(item => item.error?.reason ?? 'ok'),
    )

    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from outbox where account_id = ${accountId}`.execute(apps[0].db)
    expect(rows[0]?.count).toBe(2)
    expect((sent['200 ok'] ?? 0) + errors.filter(reason => reason === 'ok').length).toBe(1)
    expect(Object.keys(sent).filter(kind => kind !== '200 ok')).toEqual(['403 plan_limit_sends'])
    expect(new Set(errors)).toEqual(
      new Set(errors.includes('ok') ? ['ok', 'plan_limit_sends'] : ['plan_limit_sends']),
    )
    const usage = await tenant.get<{ current: { sendsToday: number } }>('/v1/usage')
    expect(usage.body.current.sendsToday).toBe(2)
  })
})

describe('bodyStorageAllowed', () => {
  test('that is taken away stays so, whatever settings are changed at the same time', async () => {
    const tenant = await openTenant()
    const [{ db }] = apps
    const ids = await Promise.all(
      Array.from({ length: 4 }, async () => (await sampleAccount(db, tenant.tenantId)).id),
    )
    const callers = await tenant.callers()
    for (let round = 0; round < ROUNDS; round += 1) {
      const planId = await tenant.limit({})
      const store = (nth: number) => {
        const caller = callers[nth * OF_A_KEY]!
        const settings = { bodyStorage: nth % 2 === 0 ? 'full' : 'cache' }
        return nth < 4
          ? caller.patch(`/v1/accounts/${ids[nth]}`, { settings })
          : nth < 8
            ? caller.patch(`/v1/accounts/${ids[nth - 4]}`, { resetSettings: ['bodyStorage'] })
            : caller.patch('/v1/settings', settings)
      }
      const changes = Array.from({ length: 10 }, (_, nth) => store(nth))
      const forbidding =
        round % 2 === 0
          ? changePlan(db, planId, { bodyStorageAllowed: false })
          : tenant.limit({ bodyStorageAllowed: false })
      const [answers] = await Promise.all([Promise.all(changes), forbidding])

      for (const kind of Object.keys(countOf(answers)))
        expect(['200 ok', '403 plan_limit_storage']).toContain(kind)
      expect((await tenant.get('/v1/settings')).body['bodyStorage']).toBe('none')
      const { body } = await tenant.get<{ items: Account[] }>('/v1/accounts')
      expect(body.items.map(({ settings }) => settings.bodyStorage)).toEqual(ids.map(() => 'none'))
    }
  })
})
