import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { BACK, newIn, USERS, useMicrosoft } from './use-microsoft.ts'

const at = useMicrosoft()

const GRAPH = 'https://graph.microsoft.com/'
const CONTACTS = `${GRAPH}Contacts.ReadWrite`
const SHARED = `${CONTACTS}.Shared`
const MAIL = ['User.Read', 'Mail.ReadWrite', 'Mail.Send'].map(name => `${GRAPH}${name}`)
const OWN = ['openid', 'profile', 'email', ...MAIL]
const ON = { settings: { contactsEnabled: true } }
const EMAIL = USERS.global

/** The scopes for contacts that a link asks for. */
async function askedBy(body: Record<string, unknown>): Promise<string[]> {
  const { token } = await at.world.createLink(body)
  const { authorizeUrl } = await at.world.begin(token)
  const scopes = new URL(authorizeUrl).searchParams.get('scope')?.split(' ') ?? []
  return [CONTACTS, SHARED].filter(scope => scopes.includes(scope))
}

/** Follows a link to its end. The user grants everything that is asked for, or these scopes. */
async function follow(body: Record<string, unknown>, scopes?: readonly string[]): Promise<Account> {
  const { token } = await at.world.createLink(body)
  const end = await at.world.signIn(token, EMAIL, scopes ? { scopes } : {})
  if (end.outcome !== 'returned') throw new Error(JSON.stringify(end))
  return read(new URL(end.url).searchParams.get('account_id'))
}

async function read(id: string | null): Promise<Account> {
  const { status, body } = await at.tenant.get<Account>(`/v1/accounts/${id}`)
  expect(status).toBe(200)
  return body
}

const again = (accountId: string) => ({ redirectUri: BACK, accountId })

async function changesOf(accountId: string): Promise<string[][]> {
  const { body } = await at.tenant.get<{
    items: Array<{ type: string; accountId: string; data: { changes: string[] } }>
  }>('/v1/changes')
  const updates = body.items.filter(
    ({ type, accountId: id }) => type === 'account.updated' && id === accountId,
  )
  return updates.map(({ data }) => data.changes)
}

test('contacts are asked for where they are on, with those of others for shared mailboxes, and at each new sign-in', async () => {
  expect(await askedBy(newIn('global'))).toEqual([])
  expect(await askedBy(newIn('global', { options: ON }))).toEqual([CONTACTS])
  const both = { settings: { contactsEnabled: true, sharedMailboxesEnabled: true } }
  expect(await askedBy(newIn('global', { options: both }))).toEqual([CONTACTS, SHARED])
  const account = await follow(newIn('global'))
  expect(await askedBy(again(account.id))).toEqual([CONTACTS])
})

test('a user who leaves contacts out is connected with mail, and contacts are switched off', async () => {
  const account = await follow(newIn('global', { options: ON }), OWN)
  expect(account).toMatchObject({
    status: 'active',
    settings: { contactsEnabled: false },
    settingsOverride: { contactsEnabled: false },
  })
  expect(await at.tenant.patch(`/v1/accounts/${account.id}`, ON)).toMatchObject({
    status: 400,
    body: { code: 'scope_missing' },
  })
})

test('an account that was connected without contacts has them from its next sign-in on', async () => {
  const { id } = await follow(newIn('global'))
  await at.tenant.patch('/v1/settings', { contactsEnabled: true })
  expect(await read(id)).toMatchObject({
    settings: { contactsEnabled: false },
    settingsOverride: {},
    status: 'active',
    statusReason: null,
  })
  expect(await changesOf(id)).toEqual([])

  const renewed = await follow(again(id))
  expect(renewed.settings.contactsEnabled).toBe(true)
  expect(await changesOf(id)).toEqual([['settings']])
})

test('a refresh token from elsewhere connects with contacts if it has them, and else with mail', async () => {
  const connect = async (scopes: readonly string[], more: object = {}) => {
    const refreshToken = await at.grant('global', scopes)
    const body = { provider: 'microsoft', microsoftCloud: 'global', refreshToken, ...more }
    return at.tenant.post<Account>('/v1/accounts', body)
  }
  await at.tenant.patch('/v1/settings', { contactsEnabled: true })
  const without = await connect(OWN)
  expect(without).toMatchObject({ status: 200, body: { settings: { contactsEnabled: false } } })
  await at.tenant.delete(`/v1/accounts/${without.body.id}`)
  expect(await connect(OWN, ON)).toMatchObject({ status: 400, body: { code: 'scope_missing' } })
  const withContacts = await connect([...OWN, CONTACTS], ON)
  expect(withContacts).toMatchObject({ status: 200, body: { settings: { contactsEnabled: true } } })
})
