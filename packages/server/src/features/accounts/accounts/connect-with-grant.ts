import type { AccountSettingsInput } from '@waxwing/contract/accounts/account-settings.ts'
import type { Db } from '../../../database/pool.ts'
import type { Asked, Grant, Halves, Identity, OAuthProvider } from '../../../providers/sign-in.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Plan } from '../../tenancy/plans/plan.ts'
import { findTenantPlan, lockTenantPlan } from '../../tenancy/plans/store.ts'
import type { OAuthClient } from '../../../accounts/apps/clients.ts'
import { ALL_KINDS } from '../../../accounts/halves/kind.ts'
import { recordReopened } from '../../../accounts/halves/trouble.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import { recordFollowing } from '../../../accounts/shared/follow-delegate.ts'
import { type LockedPage, lockPage } from '../../../accounts/shared/lock.ts'
import { enqueueFollowing } from '../shared-mailboxes/follow-delegate-job.ts'
import { withdrawRevocations } from '../grants/revocation.ts'
import { storeGrant } from '../../../accounts/grants/store.ts'
import { requireAccountRoom, requirePaid } from '../plans/limits.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { announceConnected } from '../../../accounts/announce-connected.ts'
import { insertNewAccount, planNewSettings, refuseExisting } from './new-account.ts'
import { withoutHalves } from '../../../accounts/settings.ts'
import { isRenewable, isSameMailbox } from './rules.ts'
import type { AccountKeys, KeyedAccount } from '../../../accounts/secrets.ts'
import {
  findAccountIdByEmail,
  findAccountIdBySubject,
  findAccountView,
  hasRenewableAccount,
  updateAccount,
} from '../../../accounts/store.ts'

/** The grant of a user, and the OAuth app that received it. */
export interface SignedIn {
  client: OAuthClient
  grant: Grant
  /** The halves that the user was asked to grant. */
  asked: Pick<Asked, keyof Halves>
}

export interface ConnectOptions extends SignedIn {
  /** Absent or null: none is named. */
  externalRef?: string | null | undefined
  settings?: AccountSettingsInput | undefined
  /** Whether the user was asked for shared mailboxes. It is kept for later sign-ins. */
  wantsShared?: boolean
}

/**
 * Refuses all that can be refused before the user signs in: an overdue payment, settings that the plan forbids, and a
 * plan that allows no more accounts, unless one of the tenant's accounts waits for a new grant. Counts only within
 * `connectWithGrant`.
 */
export async function requireRoomForGrant(
  db: Db,
  tenantId: string,
  provider: OAuthProvider,
  settings: AccountSettingsInput | undefined,
): Promise<void> {
  await requirePaid(db, tenantId)
  const { makes } = signInAbilitiesOf(provider)
  await planNewSettings(db, tenantId, makes, settings)
  if (await hasRenewableAccount(db, tenantId, makes)) return
  await requireAccountRoom(db, tenantId, await findTenantPlan(db, tenantId))
}

/**
 * Makes an account of the mailbox that a user signed in to, and announces it. An account of this mailbox that has lost
 * its grant is renewed instead, unless another `externalRef` is named.
 */
export async function connectWithGrant(
  unit: ChangeUnit,
  keys: AccountKeys,
  options: ConnectOptions,
): Promise<AccountView> {
  const plan = await lockTenantPlan(unit)
  await requirePaid(unit.sql, unit.tenantId)
  const { identity } = options.grant
  const existingId = await findAccountIdOf(unit, identity)
  if (existingId === null) return insertConnected(unit, keys, plan, options)
  const { existing, page } = await lockWithShared(unit, existingId)
  if (!existing || !isSameMailbox(existing, options.client.provider, identity)) refuseExisting(existingId)
  if (!isRenewable(existing, options.externalRef ?? null)) refuseExisting(existingId)
  return renew(unit, keys, { account: existing, page }, options)
}

/** Gives an account a new grant of the same mailbox. Refuses `account_mismatch` for another one, or if it is gone. */
export async function reconnectWithGrant(
  unit: ChangeUnit,
  keys: AccountKeys,
  accountId: string,
  signedIn: SignedIn,
): Promise<AccountView> {
  const { identity } = signedIn.grant
  await lockTenantPlan(unit)
  const { existing, page } = await lockWithShared(unit, accountId)
  const account = existing ?? refuse('account_mismatch')
  if (!isSameMailbox(account, signedIn.client.provider, identity)) refuse('account_mismatch')
  const owner = identity.subject && (await findAccountIdBySubject(unit.sql, unit.tenantId, identity.subject))
  if (owner && owner !== accountId) refuse('account_mismatch')
  return renew(unit, keys, { account, page }, signedIn)
}

/** Locks an account together with the first shared mailboxes that its grant opens. */
async function lockWithShared(unit: ChangeUnit, accountId: string) {
  const page = await lockPage(unit, accountId)
  return { existing: await findAccountView(unit.sql, unit.tenantId, accountId), page }
}

/** Finds the account by the subjects that its mailbox has for its user and as a shared one, or else by its address. */
async function findAccountIdOf(
  unit: ChangeUnit,
  { subject, sharedSubject, email }: Identity,
): Promise<string | null> {
  for (const one of [subject, sharedSubject]) {
    const known = one && (await findAccountIdBySubject(unit.sql, unit.tenantId, one))
    if (known) return known
  }
  return findAccountIdByEmail(unit.sql, unit.tenantId, email)
}

async function insertConnected(
  unit: ChangeUnit,
  keys: AccountKeys,
  plan: Plan | null,
  { client, grant, asked, externalRef, settings, wantsShared = false }: ConnectOptions,
): Promise<AccountView> {
  const provider = signInAbilitiesOf(client.provider).makes
  const { tenant, bearer } = await planNewSettings(unit.sql, unit.tenantId, provider, settings)
  const { email, subject, displayName } = grant.identity
  const row = {
    provider,
    auth_method: 'oauth' as const,
    subject,
    oauth_app_id: client.appId,
    cloud: client.cloud,
    email,
    display_name: displayName,
    external_ref: externalRef ?? null,
    wants_shared: wantsShared,
    settings_override: withoutHalves(tenant, bearer, { asked, granted: grant.halves }),
    imap: null,
  }
  return insertNewAccount(unit, { keys, plan }, row, {
    findExisting: () => findAccountIdOf(unit, grant.identity),
    storeGrant: account => storeNewGrant(unit, keys, account, { client, grant }),
  })
}

async function renew(
  unit: ChangeUnit,
  keys: AccountKeys,
  { account, page }: { account: AccountView; page: LockedPage },
  { client, grant, asked, wantsShared = false }: ConnectOptions,
): Promise<AccountView> {
  const { identity, halves } = grant
  await storeNewGrant(unit, keys, account, { client, grant })
  const owner = await findAccountIdByEmail(unit.sql, unit.tenantId, identity.email)
  const isFree = owner === null || owner === account.id
  const after = await updateAccount(
    unit,
    account,
    {
      ...(isFree && { email: identity.email }),
      subject: identity.subject ?? account.subject,
      display_name: account.display_name ?? identity.displayName,
      oauth_app_id: client.appId,
      cloud: client.cloud,
      ...(wantsShared && { wants_shared: true }),
      granted_scopes: [...grant.scopes],
      settings_override: withoutHalves(account.tenant_settings, account, { asked, granted: halves }),
      ...(account.status !== 'paused' && { status: 'active', status_reason: null }),
    },
    { reachedAnew: ALL_KINDS },
  )
  await recordReopened(unit, account.id)
  announceConnected(unit, after, { reauthorized: true })
  unit.wake(account.id)
  await renewShared(unit, page)
  return after
}

/** Brings the shared mailboxes back that a renewed grant opens: the first ones now, and the others in a job. */
async function renewShared(unit: ChangeUnit, { delegateId, sharedIds, nextId }: LockedPage): Promise<void> {
  await recordFollowing(unit, delegateId, sharedIds)
  for (const id of sharedIds) unit.wake(id)
  if (nextId !== null) await enqueueFollowing(unit, delegateId, nextId)
}

async function storeNewGrant(
  unit: ChangeUnit,
  keys: AccountKeys,
  account: KeyedAccount,
  { client, grant }: Pick<SignedIn, 'client' | 'grant'>,
): Promise<void> {
  const { provider, clientId } = client
  const { subject, email } = grant.identity
  await withdrawRevocations(unit, { provider, clientId, subject, email })
  await storeGrant(unit.sql, keys, account, { client, grant })
}
