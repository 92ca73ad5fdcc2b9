import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { Secret } from '../../src/kit/secret.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import type { Caller } from '../caller.ts'
import type { SandboxServer } from '../servers/sandbox.ts'

const CLIENT_ID = 'sandbox'
const secret = new Secret('sandbox-secret')
/** Settings of the operator's apps, for the client that the sandbox has in each cloud. */
export const SANDBOX_APPS = {
  microsoftClientId: CLIENT_ID,
  microsoftClientSecret: secret,
  microsoftGccHighClientId: CLIENT_ID,
  microsoftGccHighClientSecret: secret,
  microsoftDodClientId: CLIENT_ID,
  microsoftDodClientSecret: secret,
  microsoftChinaClientId: CLIENT_ID,
  microsoftChinaClientSecret: secret,
}

const SIGN_IN = ['openid', 'profile', 'email']
export const OWN_SCOPES = ['User.Read', 'Mail.ReadWrite', 'Mail.Send']
export const SHARED_SCOPES = [...OWN_SCOPES, 'Mail.ReadWrite.Shared', 'Mail.Send.Shared']

interface GivenGrant {
  scopes?: readonly string[]
  clientId?: string
  cloud?: Cloud
}

/** A refresh token that another program has obtained from a user of the sandbox. */
export async function refreshTokenOf(
  sandbox: SandboxServer,
  email: string,
  { scopes = SHARED_SCOPES, clientId = CLIENT_ID, cloud = 'global' }: GivenGrant = {},
): Promise<string> {
  const { graph } = CLOUDS[cloud]
  const asked = [...SIGN_IN, ...scopes.map(scope => `https://${graph}/${scope}`)]
  const granted = await sandbox.grant(email, asked, clientId, { provider: 'microsoft', cloud })
  return granted.refreshToken
}

let users = 0

/** Adds a user of Microsoft. @returns the address */
export async function addOfficeUser(
  sandbox: SandboxServer,
  { name = 'user', messages = 0, delegates = [] as readonly string[], cloud = 'global' as Cloud } = {},
): Promise<string> {
  const domain = cloud === 'global' ? 'office.test' : `${cloud}.test`
  const email = `${name}-${++users}@${domain}`
  await sandbox.addUser(email, { messages, provider: 'microsoft', cloud, delegates })
  return email
}

/** Connects a user by a refresh token, through the interface. By default it may open mailboxes of others. */
export async function connectUser(
  caller: Caller,
  sandbox: SandboxServer,
  email: string,
  { settings = {}, oauthAppId, ...given }: GivenGrant & { settings?: object; oauthAppId?: string } = {},
): Promise<Account> {
  const { status, body } = await caller.post<Account>('/v1/accounts', {
    provider: 'microsoft',
    ...(given.cloud !== undefined && { microsoftCloud: given.cloud }),
    ...(oauthAppId !== undefined && { oauthAppId }),
    refreshToken: await refreshTokenOf(sandbox, email, given),
    settings: { syncWindowDays: null, sharedMailboxesEnabled: true, ...settings },
  })
  if (status !== 200) throw new Error(`could not connect ${email}: ${JSON.stringify(body)}`)
  return body
}

/** Asks for a shared mailbox to be added. */
export function askToAdd(
  caller: Caller,
  delegateId: string,
  email: string,
  more: object = {},
): ReturnType<typeof caller.post<Account & { code?: string }>> {
  return caller.post(`/v1/accounts/${delegateId}/shared-mailboxes`, {
    email,
    settings: { syncWindowDays: null },
    ...more,
  })
}

/** Adds a shared mailbox. */
export async function addShared(
  caller: Caller,
  delegateId: string,
  email: string,
  more: object = {},
): Promise<Account> {
  const { status, body } = await askToAdd(caller, delegateId, email, more)
  if (status !== 200) throw new Error(`could not add ${email}: ${JSON.stringify(body)}`)
  return body
}

/** Deletes all accounts of a tenant, which would be polled until the end of the file. */
export async function deleteAccounts(caller: Caller): Promise<void> {
  const { body } = await caller.get<{ items: Account[] }>('/v1/accounts?limit=200')
  for (const { id } of body.items) await caller.delete(`/v1/accounts/${id}`)
}
