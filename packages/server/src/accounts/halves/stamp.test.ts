/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import type { TestTenant } from '../../../test/open-app.ts'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { useTestApp } from '../../../test/use-app.ts'
import { inTransaction, type UnitOfWork } from '../../events/unit-of-work.ts'
import { newId } from '../../kit/ids.ts'
import type { AccountView } from '../row.ts'
import { reachedAs } from '../reach.ts'
import { findAccount, lockAccount, updateAccount } from '../store.ts'
import { NO_LIMITS } from '../../features/tenancy/plans/plan.ts'
import { createPlan } from '../../features/tenancy/plans/store.ts'
import { assignPlan } from '../../features/accounts/plans/assign.ts'
import { recordCompared } from './comparison.ts'
import { claimAccounts, releaseAccounts } from './ownership.ts'
import { beginLook, recordInitialized } from './progress.ts'
import { recordSendingSecretChanged } from './reach.ts'
import { recordRuntime } from './report.ts'
import { markCurrent } from './search-version.ts'
import { takeWanted } from './wanted.ts'

const service = useTestApp(() => ({ config: { baseUrl: 'https://mail.example.com' } }))

interface Sampled {
  app: TestTenant
  id: string
  /** The OAuth app of the account. */
  appId: string
}

const changing =
  (work: (unit: UnitOfWork, before: AccountView) => Promise<unknown>) =>
  ({ app, id }: Sampled) =>
    inTransaction(app.db, app.tenantId, async unit => work(unit, (await lockAccount(unit, id))!))

const patching =
  (body: unknown, path = '') =>
  ({ app, id }: Sampled) =>
    answered(app.patch(`/v1/accounts/${id}${path}`, body))

async function answered(answer: Promise<{ status: number; body: unknown }>): Promise<void> {
  const { status, body } = await answer
  expect(status, JSON.stringify(body)).toBeLessThan(300)
}

const owning = (
  act: (app: TestTenant, owned: Awaited<ReturnType<typeof claimAccounts>>[number]) => Promise<unknown>,
) => {
  return async ({ app, id: accountId }: Sampled) => {
    const id = newId()
    const heartbeat_until = new Date(Date.now() + 60_000)
    await app.db.insertInto('instance').values({ id, heartbeat_until }).execute()
    const claimed = await claimAccounts(app.db, id, 100)
    await act(
      app,
      claimed.find(owned => owned.id === accountId)!,
    )
    await releaseAccounts(app.db, claimed)
  }
}

const RAISED_BY: Record<string, (sampled: Sampled) => Promise<unknown>> = {
  'another server': changing((unit, before) => {
    const imap = before.imap!
    return updateAccount(unit, before, {
      imap: { ...imap, imap: { ...imap.imap, host: 'other.example.com' } },
    })
  }),
  'another secret or grant': changing((unit, before) =>
    updateAccount(unit, before, {}, { reachedAnew: ['mail'] }),
  ),
  'another secret of the sending server': changing((unit, { id }) => recordSendingSecretChanged(unit, id)),
  'another window of the account': patching({ settings: { syncWindowDays: 12 } }),
  'another window of the tenant': ({ app }) => answered(app.patch('/v1/settings', { syncWindowDays: 13 })),
  'body storage': patching({ settings: { bodyStorage: 'none' } }),
  'a plan that forbids body storage': async ({ app, id }) => {
    const stored = JSON.stringify({ bodyStorage: 'full' })
    await app.db.updateTable('account').set({ settings_override: stored }).where('id', '=', id).execute()
    const plan = await createPlan(app.db, newId(), { ...NO_LIMITS, bodyStorageAllowed: false })
    await assignPlan(app.db, app.tenantId, plan)
  },
  'pushes of the OAuth app': ({ app, appId }) =>
    answered(
      app.patch(`/v1/oauth-apps/${appId}`, {
        gmailPush: {
          topic: 'projects/p/topics/gmail',
          subscription: 'projects/p/subscriptions/gmail',
          serviceAccount: 'push@p.iam.gserviceaccount.com',
        },
      }),
    ),
}

const LEFT_BY: Record<string, (sampled: Sampled) => Promise<unknown>> = {
  'another external reference': patching({ externalRef: 'crm-1' }),
  'a pause and its end': async sampled => {
    await patching({ status: 'paused' })(sampled)
    await patching({ status: 'active' })(sampled)
  },
  'other settings': patching({ settings: { undoSendSeconds: 7, trackClicks: true } }),
  'other settings of the tenant': ({ app }) => answered(app.patch('/v1/settings', { undoSendSeconds: 9 })),
  'another name of the OAuth app': ({ app, appId }) =>
    answered(app.patch(`/v1/oauth-apps/${appId}`, { name: 'Other' })),
  'mail settings': patching({ signByDefault: true }, '/mail-settings'),
  'a request for a pass': ({ app, id }) => answered(app.post(`/v1/accounts/${id}/sync`, {})),
  'an account token': ({ app, id }) => answered(app.post(`/v1/accounts/${id}/tokens`, { ttlSeconds: 60 })),
  'a problem and its end': changing(async (unit, before) => {
    const problem = { kind: 'mail', problem: 'server_not_allowed' } as const
    const after = await updateAccount(unit, before, {}, { problem })
    expect(after.problem).toBe('server_not_allowed')
    await updateAccount(unit, after, {}, { problem: { ...problem, problem: null } })
  }),
  'a claim and a release': owning(() => Promise.resolve()),
  'a report, a pass and a look': owning(async (app, owned) => {
    await recordRuntime(app.db, owned, 'mail', { state: 'live', detail: 'x', isSuccess: true })
    await takeWanted(app.db, owned, 'mail')
    await beginLook(app.db, owned, 'mail')
  }),
  'the end of the first sync': changing((unit, { id }) => recordInitialized(unit, id, 'mail')),
  'a comparison': changing((unit, { id }) =>
    recordCompared(unit, { accountId: id, kind: 'mail' }, { differs: true, verifiedAt: new Date() }),
  ),
  'documents of this release': ({ app, id }) => markCurrent(app.db, id),
}

async function openSampled(): Promise<Sampled> {
  const app = await service.newTenant()
  const made = await app.post<{ id: string }>('/v1/oauth-apps', {
    provider: 'google',
    name: 'Ours',
    clientId: 'id.apps.googleusercontent.com',
    clientSecret: 'secret',
  })
  expect(made.status).toBe(200)
  const appId = made.body.id
  const { id } = await sampleAccount(app.db, app.tenantId, {
    oauth_app_id: appId,
    settings_override: '{}',
    search_version: 0,
  })
  return { app, id, appId }
}

const versionOf = async ({ app, id }: Sampled) =>
  reachedAs((await findAccount(app.db, app.tenantId, id))!).version

test.each(Object.entries(RAISED_BY))('a connection is not used any more after %s', async (_, act) => {
  const sampled = await openSampled()
  const before = await versionOf(sampled)
  await act(sampled)
  expect(BigInt(await versionOf(sampled))).toBeGreaterThan(BigInt(before))
})

test.each(Object.entries(LEFT_BY))('a connection is used on after %s', async (_, act) => {
  const sampled = await openSampled()
  const before = await versionOf(sampled)
  await act(sampled)
  expect(await versionOf(sampled)).toBe(before)
})
