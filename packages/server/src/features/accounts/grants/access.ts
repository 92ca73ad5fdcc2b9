import type {
  AccountSettingsInput,
  AccountSettingsOverride,
} from '@waxwing/contract/accounts/account-settings.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { inheritedSettings } from '../../../accounts/settings.ts'

/** Refuses a change of settings that turns on a half which the account's user has not granted: `scope_missing`. */
export function requireGrantedHalves(
  account: AccountView,
  settings: AccountSettingsInput | undefined,
  override: AccountSettingsOverride | undefined,
): void {
  if (!override) return
  const before = inheritedSettings(account.tenant_settings, account)
  const after = inheritedSettings(account.tenant_settings, { ...account, settings_override: override })
  const isTurnedOn = (name: 'calendarEnabled' | 'contactsEnabled') =>
    settings?.[name] === true || (after[name] && !before[name])
  const isMissing =
    (isTurnedOn('calendarEnabled') && account.granted_calendar === false) ||
    (isTurnedOn('contactsEnabled') && account.granted_contacts === false)
  if (isMissing) refuse('scope_missing')
}
