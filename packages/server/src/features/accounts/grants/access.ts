import type {
  AccountSettingsInput,
  AccountSettingsOverride,
} from '@waxwing/contract/accounts/account-settings.ts'
import type { Halves } from '../../../providers/sign-in.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { grantedHalves, inheritedSettings } from '../../../accounts/settings.ts'

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
  const { calendar, contacts } = grantedHalves(account)
  const isMissing =
    (isTurnedOn('calendarEnabled') && calendar === 'none') ||
    (isTurnedOn('contactsEnabled') && contacts === 'none')
  if (isMissing) refuse('scope_missing')
}

/**
 * Refuses settings of a new account that turn on a half which its grant does not allow: `scope_missing`. A half that only
 * the tenant's settings turn on is left off.
 */
export function requireHalves(
  { calendar, contacts }: Halves,
  settings: AccountSettingsInput | undefined,
): void {
  const isMissing =
    (settings?.calendarEnabled && calendar === 'none') || (settings?.contactsEnabled && contacts === 'none')
  if (isMissing) refuse('scope_missing')
}
