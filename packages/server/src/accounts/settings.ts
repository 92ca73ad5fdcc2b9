import type { AccountSettings, AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import type { Account, SyncKind } from '@waxwing/contract/accounts/accounts.ts'
import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { abilitiesOf } from '../providers/abilities.ts'
import { halvesOfScopes } from '../providers/granted-halves.ts'
import type { Asked, Halves } from '../providers/sign-in.ts'
import type { AccountRow, ImapServers } from './row.ts'

/**
 * The properties of an account that affect its settings. The fields by which the scopes of its grant are read are absent for
 * an account that does not exist yet.
 */
export interface SettingsBearer extends Partial<
  Pick<AccountRow, 'auth_method' | 'cloud' | 'granted_scopes'>
> {
  provider: Account['provider']
  imap: Pick<ImapServers, 'dav'> | null
  settings_override: AccountSettingsOverride
}

const EVERYTHING: Halves = { calendar: 'writes', contacts: 'writes' }

/** Reads what the grant that opens an account allows besides mail: everything if the account has no grant. */
export function grantedHalves({
  provider,
  auth_method: authMethod,
  cloud = null,
  granted_scopes: scopes = null,
}: Pick<SettingsBearer, 'provider' | 'auth_method' | 'cloud' | 'granted_scopes'>): Halves {
  const { signInAt } = abilitiesOf(provider)
  if (scopes === null || signInAt === null) return EVERYTHING
  return halvesOfScopes({ provider: signInAt, cloud }, scopes, authMethod === 'delegate')
}

/**
 * The account's own values over its tenant's, as they take effect. IMAP has calendars and contacts only through DAV, an
 * account that signs in by OAuth only with a grant for them, and a honeypot has no effect without tracked clicks, which the
 * tenant may turn off for accounts that have one.
 */
export function effectiveSettings(tenant: TenantSettings, account: SettingsBearer): AccountSettings {
  const settings = inheritedSettings(tenant, account)
  const { calendar, contacts } = grantedHalves(account)
  return {
    ...settings,
    calendarEnabled: settings.calendarEnabled && calendar !== 'none',
    contactsEnabled: settings.contactsEnabled && contacts !== 'none',
    trackingHoneypot: settings.trackingHoneypot && settings.trackClicks,
  }
}

/** The account's own values over its tenant's, whatever its grant allows. */
export function inheritedSettings(tenant: TenantSettings, account: SettingsBearer): AccountSettings {
  return {
    bodyStorage: tenant.bodyStorage,
    syncWindowDays: tenant.syncWindowDays,
    calendarEnabled: tenant.calendarEnabled,
    contactsEnabled: tenant.contactsEnabled,
    undoSendSeconds: tenant.undoSendSeconds,
    trackOpens: tenant.trackOpens,
    trackClicks: tenant.trackClicks,
    trackingHoneypot: tenant.trackingHoneypot,
    ...account.settings_override,
    ...(!offersHalf(account, 'calendar') && { calendarEnabled: false }),
    ...(!offersHalf(account, 'contacts') && { contactsEnabled: false }),
  }
}

/** The account's own values, with those halves turned off that are on, and that the user was asked for but left out. */
export function withoutHalves(
  tenant: TenantSettings,
  account: SettingsBearer,
  { asked, granted }: { asked: Pick<Asked, keyof Halves>; granted: Halves },
): AccountSettingsOverride {
  const { calendarEnabled, contactsEnabled } = inheritedSettings(tenant, account)
  return {
    ...account.settings_override,
    ...(calendarEnabled && asked.calendar && granted.calendar === 'none' && { calendarEnabled: false }),
    ...(contactsEnabled && asked.contacts && granted.contacts === 'none' && { contactsEnabled: false }),
  }
}

/** Whether the account has such data at its provider. An IMAP account has what its DAV settings name. */
export function offersHalf(
  { provider, imap }: Pick<SettingsBearer, 'provider' | 'imap'>,
  kind: keyof Halves,
): boolean {
  if (abilitiesOf(provider).hasCalendars) return true
  const { calendarUrl = null, contactsUrl = null } = imap?.dav ?? {}
  return (kind === 'calendar' ? calendarUrl : contactsUrl) !== null
}

/** The kinds that the account syncs. */
export function enabledKinds(settings: AccountSettings): SyncKind[] {
  const kinds: SyncKind[] = ['mail']
  if (settings.calendarEnabled) kinds.push('calendar')
  if (settings.contactsEnabled) kinds.push('contacts')
  return kinds
}
