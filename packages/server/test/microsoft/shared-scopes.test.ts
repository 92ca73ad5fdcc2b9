import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { newId } from '../../src/kit/ids.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { sampleAccount } from '../sample-rows.ts'
import { BACK, CLOUD_NAMES, DORA, newIn, useMicrosoft, USERS } from './use-microsoft.ts'

const at = useMicrosoft()

const ON = { settings: { sharedMailboxesEnabled: true } }
const SHARED = ['Mail.ReadWrite.Shared', 'Mail.Send.Shared']
const OWN = ['openid', 'profile', 'email', 'User.Read', 'Mail.ReadWrite', 'Mail.Send']

const named = (cloud: Cloud, scopes: readonly string[]) =>
  scopes.map(scope => (/^[A-Z]/.test(scope) ? `https://${CLOUDS[cloud].graph}/${scope}` : scope))

/** The scopes for mailboxes of others that a link asks for. */
async function askedBy(body: Record<string, unknown>, cloud: Cloud = 'global'): Promise<string[]> {
  const { token } = await at.world.createLink(body)
  const { authorizeUrl } = await at.world.begin(token)
  const scopes = new URL(authorizeUrl).searchParams.get('scope')?.split(' ') ?? []
  return named(cloud, SHARED).filter(scope => scopes.includes(scope))
}

const again = (accountId: string) => ({ redirectUri: BACK, accountId })

/** Connects a user by a link. */
async function connect(options: object, email = USERS.global): Promise<Account> {
  const { token } = await at.world.createLink(newIn('global', { options }))
  const end = await at.world.signIn(token, email)
  if (end.outcome !== 'returned') throw new Error(JSON.stringify(end))
  const id = new URL(end.url).searchParams.get('account_id')
  return (await at.tenant.get<Account>(`/v1/accounts/${id}`)).body
}

async function leaveOutModule(): Promise<void> {
  const plan = await createPlan(at.app.db, newId(), { ...NO_LIMITS, modules: ['calendar'] })
  await assignPlan(at.app.db, at.tenant.tenantId, plan)
}

const UNAVAILABLE = { status: 403, body: { code: 'plan_module_unavailable' } }

describe('the scopes for shared mailboxes', () => {
  test.each(CLOUD_NAMES)('are asked for in the cloud %s if a link says so', async cloud => {
    expect(await askedBy(newIn(cloud), cloud)).toEqual([])
    expect(await askedBy(newIn(cloud, { options: ON }), cloud)).toEqual(named(cloud, SHARED))
  })

  test('are asked for again when the account signs in again, and are shown nowhere', async () => {
    const account = await connect(ON)
    expect(JSON.stringify(account)).not.toContain('sharedMailboxes')
    expect(await askedBy(again(account.id))).toEqual(named('global', SHARED))
    const other = await at.tenant.get<{ items: Account[] }>('/v1/accounts')
    expect(JSON.stringify(other.body)).not.toContain('sharedMailboxes')
  })

  test('are asked for at the next sign-in after a change of the account, which announces nothing', async () => {
    const account = await connect({})
    expect(await askedBy(again(account.id))).toEqual([])
    const events = async () => (await at.tenant.get<{ items: unknown[] }>('/v1/changes')).body.items.length
    const before = await events()
    for (const isOn of [true, false]) {
      const settings = { sharedMailboxesEnabled: isOn }
      const { body } = await at.tenant.patch<Account>(`/v1/accounts/${account.id}`, { settings })
      expect(body.settingsOverride).toEqual(account.settingsOverride)
      expect(await askedBy(again(account.id))).toEqual(isOn ? named('global', SHARED) : [])
    }
    expect(await events()).toBe(before)
  })

  test('connect a personal account, which never has them', async () => {
    const account = await connect(ON, DORA)
    expect(account.status).toBe('active')
    const added = await at.tenant.post(`/v1/accounts/${account.id}/shared-mailboxes`, {
      email: 'desk@office.test',
    })
    expect(added).toMatchObject({ status: 400, body: { code: 'scope_missing' } })
  })

  test('are asked of a refresh token from elsewhere, which connects without them, too', async () => {
    for (const scopes of [[...OWN, ...SHARED], OWN]) {
      const refreshToken = await at.grant('global', named('global', scopes))
      const body = { provider: 'microsoft', microsoftCloud: 'global', refreshToken, ...ON }
      const made = await at.tenant.post<Account>('/v1/accounts', body)
      expect(made.status, JSON.stringify(made.body)).toBe(200)
      expect(await askedBy(again(made.body.id))).toEqual(named('global', SHARED))
      await at.tenant.delete(`/v1/accounts/${made.body.id}`)
    }
  })

  test('need the module when they are turned on', async () => {
    const account = await connect({})
    await leaveOutModule()
    expect(await at.tenant.post('/v1/connect-sessions', newIn('global', { options: ON }))).toMatchObject(
      UNAVAILABLE,
    )
    const flow = { provider: 'microsoft', redirectUri: BACK, options: ON }
    expect(await at.tenant.post('/v1/oauth-authorizations', flow)).toMatchObject(UNAVAILABLE)
    const refreshToken = await at.grant('global', named('global', OWN), USERS.global)
    const body = { provider: 'microsoft', refreshToken, ...ON }
    expect(await at.tenant.post('/v1/accounts', body)).toMatchObject(UNAVAILABLE)
    expect(await at.tenant.patch(`/v1/accounts/${account.id}`, ON)).toMatchObject(UNAVAILABLE)
    expect((await at.tenant.patch(`/v1/accounts/${account.id}`, { settings: {} })).status).toBe(200)
  })

  test('are asked for without the module by accounts that open some already, and by no others', async () => {
    const account = await connect(ON)
    await leaveOutModule()
    expect(await askedBy(again(account.id))).toEqual([])
    await sampleAccount(at.app.db, at.tenant.tenantId, {
      provider: 'graph',
      auth_method: 'delegate',
      delegate_account_id: account.id,
      email: 'desk@office.test',
      imap: null,
    })
    expect(await askedBy(again(account.id))).toEqual(named('global', SHARED))
  })

  test('are ignored by flows of Google, and refused for accounts of others', async () => {
    const app = { provider: 'google', name: 'Ours', clientId: 'ours', clientSecret: 'secret' }
    expect((await at.tenant.post('/v1/oauth-apps', app)).status).toBe(200)
    const flow = { providers: ['google'], redirectUri: BACK, options: ON }
    expect((await at.tenant.post('/v1/connect-sessions', flow)).status).toBe(200)
    const refused = { status: 400, body: { code: 'provider_unsupported' } }
    const passwords = { providers: undefined, options: { ...ON, passwordImap: true } }
    expect((await at.tenant.post('/v1/connect-sessions', passwords)).status).toBe(200)
    const body = { provider: 'google', refreshToken: 'some', ...ON }
    expect(await at.tenant.post('/v1/accounts', body)).toMatchObject(refused)
    const imap = await sampleAccount(at.app.db, at.tenant.tenantId)
    expect(await at.tenant.patch(`/v1/accounts/${imap.id}`, ON)).toMatchObject(refused)
  })
})
