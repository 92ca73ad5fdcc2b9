import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import type { Selectable } from 'kysely'
import type { AccountTable } from '../database/tables.ts'
import type { MailHalf, OtherHalf } from './halves/columns.ts'

/** The servers of an IMAP account as they are stored and shown, without secrets. */
export type ImapServers = NonNullable<Account['imap']>

export interface AccountRow
  extends Omit<Selectable<AccountTable>, 'settings_override' | 'imap' | 'cloud'>, MailHalf {
  settings_override: AccountSettingsOverride
  imap: ImapServers | null
  cloud: Account['cloud']
  /** The scopes of the grant that opens the account, which may be its delegate's. Null if there is none. */
  granted_scopes: string[] | null
}

/** An account with everything else needed to show it. */
export interface AccountView extends AccountRow {
  tenant_settings: TenantSettings
  other_halves: OtherHalf[] | null
  /** Whether the instance that made the last report still owns the account and sends heartbeats. */
  is_followed: boolean
}
