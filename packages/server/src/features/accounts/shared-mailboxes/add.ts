import type { SharedMailboxInput } from '@waxwing/contract/accounts/shared-mailboxes.ts'
import { announceConnected } from '../../../accounts/announce-connected.ts'
import { ALL_KINDS } from '../../../accounts/halves/kind.ts'
import { recordReopened } from '../../../accounts/halves/trouble.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import { lockTogether } from '../../../accounts/shared/lock.ts'
import {
  findAccountIdByEmail,
  findAccountIdBySubject,
  findAccountView,
  updateAccount,
} from '../../../accounts/store.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { SharedMailbox } from '../../../providers/sharing.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import { lockTenantPlan } from '../../tenancy/plans/store.ts'
import { insertNewAccount, planNewSettings, refuseExisting } from '../accounts/new-account.ts'
import { planSettings } from '../accounts/rules.ts'
import { requireBodyStorage, requirePaid } from '../plans/limits.ts'
import { requireDelegate } from './access.ts'

/** A mailbox that the delegate could open a moment ago. */
export interface Opened extends SharedMailbox {
  delegateId: string
}

export interface AddServices {
  accountKeys: AccountKeys
  signIns: SignIns
  /** Whether the caller may change the account. */
  isReachable(accountId: string): boolean
}

/** Makes an account of a shared mailbox, or has its account opened by this delegate from now on. */
export async function recordShared(
  unit: ChangeUnit,
  { accountKeys, signIns, isReachable }: AddServices,
  { subject, delegateId }: Opened,
  input: SharedMailboxInput,
): Promise<AccountView> {
  const { tenantId } = unit
  const plan = await lockTenantPlan(unit)
  await requirePaid(unit.sql, tenantId)
  const knownId = await findAccountIdBySubject(unit.sql, tenantId, subject)
  const ownerId = await findAccountIdByEmail(unit.sql, tenantId, input.email)
  // The mailbox is called by its address, so no other account can have that.
  if (ownerId !== null && ownerId !== knownId) refuseExisting(isReachable(ownerId) ? ownerId : null)
  await lockTogether(unit, [delegateId, ...(knownId === null ? [] : [knownId])])
  const delegate = (await findAccountView(unit.sql, tenantId, delegateId)) ?? refuse('account_not_found')
  await requireDelegate(unit.sql, signIns, delegate)
  const known = knownId === null ? null : await findAccountView(unit.sql, tenantId, knownId)
  if (known && !isReachable(known.id)) refuseExisting(null)
  if (known) return point(unit, delegate, known, input)

  const { email, displayName, externalRef, settings } = input
  const { bearer } = await planNewSettings(unit.sql, tenantId, delegate.provider, settings)
  const row = {
    provider: delegate.provider,
    auth_method: 'delegate' as const,
    delegate_account_id: delegate.id,
    subject,
    cloud: delegate.cloud,
    email,
    display_name: displayName ?? null,
    external_ref: externalRef ?? null,
    settings_override: bearer.settings_override,
    imap: null,
  }
  return insertNewAccount(unit, { keys: accountKeys, plan }, row, {
    findExisting: () => findAccountIdByEmail(unit.sql, tenantId, email),
  })
}

/** Has a shared mailbox opened by this delegate from now on. Fields that are sent replace its own. */
async function point(
  unit: ChangeUnit,
  delegate: AccountView,
  account: AccountView,
  { email, displayName, externalRef, settings }: SharedMailboxInput,
): Promise<AccountView> {
  const before = account.settings_override.bodyStorage ?? account.tenant_settings.bodyStorage
  await requireBodyStorage(unit.sql, unit.tenantId, { before, after: settings?.bodyStorage })
  const override = settings && planSettings(account.tenant_settings, account, { settings })
  const change = {
    delegate_account_id: delegate.id,
    cloud: delegate.cloud,
    email,
    ...(displayName !== undefined && { display_name: displayName }),
    ...(externalRef !== undefined && { external_ref: externalRef }),
    ...(override && { settings_override: override }),
    ...(account.status !== 'paused' && { status: 'active' as const, status_reason: null }),
  }
  const after = await updateAccount(unit, account, change, { reachedAnew: ALL_KINDS })
  await recordReopened(unit, account.id)
  announceConnected(unit, after, { reauthorized: true })
  unit.wake(account.id)
  return after
}
