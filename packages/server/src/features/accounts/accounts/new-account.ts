import type { AccountSettingsInput } from '@waxwing/contract/accounts/account-settings.ts'
import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { announceConnected } from '../../../accounts/announce-connected.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys, KeyedAccount } from '../../../accounts/secrets.ts'
import type { SettingsBearer } from '../../../accounts/settings.ts'
import { insertAccount, type NewAccount } from '../../../accounts/store.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import type { AccountKind } from '../../../providers/abilities.ts'
import type { Plan } from '../../tenancy/plans/plan.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import { requireAccountRoom, requireBodyStorage, requireSharedModule } from '../plans/limits.ts'
import { planSettings } from './rules.ts'

/** The settings of a new account: those of its tenant, and its own. */
export interface NewSettings {
  tenant: TenantSettings
  bearer: SettingsBearer
}

/**
 * Plans the settings of a new account. Refuses settings that it cannot have, or that the plan forbids.
 * @param stored the `bodyStorage` of the account, if it may be one that exists
 */
export async function planNewSettings(
  db: Db,
  tenantId: string,
  provider: AccountKind,
  settings: AccountSettingsInput | undefined,
  stored?: TenantSettings['bodyStorage'],
): Promise<NewSettings> {
  const tenant = await findTenantSettings(db, tenantId)
  const before = stored ?? tenant.bodyStorage
  await requireBodyStorage(db, tenantId, { before, after: settings?.bodyStorage })
  await requireSharedModule(db, tenantId, settings)
  const none = { provider, imap: null, settings_override: {} }
  const override = planSettings(tenant, none, settings ? { settings } : {})
  return { tenant, bearer: { ...none, settings_override: override } }
}

export interface NewAccountSteps {
  /** Finds the account that the tenant has already. */
  findExisting: () => Promise<string | null>
  /** Stores the grant of the account, which says what it has besides mail. Absent if it has none of its own. */
  storeGrant?: (account: KeyedAccount) => Promise<void>
}

/**
 * Stores and announces the account of a mailbox that the tenant does not have yet. Refuses if the plan allows no more
 * accounts, or if the tenant has got the mailbox at this very moment.
 * @param plan as `lockTenantPlan` returned it in this transaction
 */
export async function insertNewAccount(
  unit: ChangeUnit,
  { keys, plan }: { keys: AccountKeys; plan: Plan | null },
  row: Omit<NewAccount, 'id' | 'data_key'>,
  { findExisting, storeGrant }: NewAccountSteps,
): Promise<AccountView> {
  await requireAccountRoom(unit.sql, unit.tenantId, plan)
  const id = newId()
  const dataKey = await keys.createDataKey(unit.sql, { id, tenant_id: unit.tenantId })
  const keyed = { id, tenant_id: unit.tenantId, data_key: dataKey }
  const account = await insertAccount(unit, { ...row, id, data_key: dataKey }, async () =>
    storeGrant?.(keyed),
  )
  if (!account) return refuseExisting(await findExisting())
  announceConnected(unit, account, { reauthorized: false })
  unit.wake(id)
  return account
}

export function refuseExisting(id: string | null): never {
  // There is none if it was deleted at this very moment.
  const message = `The mailbox is account ${id} already. Use that one, or delete it first.`
  refuse('account_exists', undefined, id === null ? {} : { message })
}
