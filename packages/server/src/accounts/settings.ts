import { isDeepStrictEqual } from 'node:util'
import type { MailServerInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type {
  AccountSettings,
  AccountSettingsInput,
  AccountSettingsOverride,
} from '@waxwing/contract/accounts/account-settings.ts'
import type { Account, SyncKind } from '@waxwing/contract/accounts/accounts.ts'
import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import type { ReachedAccount } from '../connections/connections.ts'
import type { MailServer } from '../providers/mail-server.ts'
import type { Halves, Identity, OAuthProvider } from '../providers/sign-in.ts'
import { refuse } from '../calls/refuse.ts'
import { kindOf } from './grants/rules.ts'
import type { AccountRow, ImapServers } from './row.ts'

/** The properties of an account that affect its settings. */
export interface SettingsBearer {
  provider: Account['provider']
  imap: ImapServers | null
  settings_override: AccountSettingsOverride
  /** False: the account's grant does not allow it. */
  granted_calendar?: boolean | null
  granted_contacts?: boolean | null
}

/** What of an account says how it is reached. */
export type ReachedRow = Pick<AccountRow, 'id' | 'tenant_id' | 'stamp'>

/** The account as `connections` needs it. The version of a connection is the stamp of its half. */
export function reachedAs({ id, tenant_id, stamp }: ReachedRow): ReachedAccount {
  return { id, tenantId: tenant_id, version: stamp }
}

/**
 * The account's own values over its tenant's, as they take effect. IMAP has calendars and contacts only through DAV,
 * an account that signs in by OAuth only with a grant for them, and a honeypot has no effect without tracked clicks, which the tenant may turn off for accounts that have one.
 */
export function effectiveSettings(tenant: TenantSettings, account: SettingsBearer): AccountSettings {
  const settings = inheritedSettings(tenant, account)
  return {
    ...settings,
    calendarEnabled: settings.calendarEnabled && account.granted_calendar !== false,
    contactsEnabled: settings.contactsEnabled && account.granted_contacts !== false,
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
    ...(!hasCalendars(account) && { calendarEnabled: false, contactsEnabled: false }),
  }
}

/**
 * Computes the account's own values after a change. Refuses what the account cannot have: calendars, contacts and
 * shared mailboxes on IMAP without DAV (`provider_unsupported`), a honeypot without tracked clicks.
 */
export function planSettings(
  tenant: TenantSettings,
  account: SettingsBearer,
  change: { settings?: AccountSettingsInput; resetSettings?: readonly (keyof AccountSettings)[] },
): AccountSettingsOverride {
  const { sharedMailboxesEnabled, ...settings } = change.settings ?? {}
  const wanted = Object.entries({ ...settings, sharedMailboxesEnabled })
  const unsupported = wanted.find(([name, value]) => value === true && DAV_SETTINGS.has(name))
  if (unsupported && !hasCalendars(account)) {
    refuse('provider_unsupported', undefined, {
      message: `An IMAP account has no calendars, contacts or shared mailboxes here. Leave ${unsupported[0]} out.`,
    })
  }
  const reset = new Set<string>(change.resetSettings)
  const kept = Object.entries(account.settings_override).filter(([name]) => !reset.has(name))
  const override: AccountSettingsOverride = { ...Object.fromEntries(kept), ...settings }

  const touched = new Set([...Object.keys(settings), ...reset])
  if (touched.has('trackingHoneypot') || touched.has('trackClicks')) {
    requireClicksForHoneypot(inheritedSettings(tenant, { ...account, settings_override: override }))
  }
  return override
}

/** The account's own values, with those halves turned off that are on, and that the user was asked for but left out. */
export function withoutHalves(
  tenant: TenantSettings,
  account: SettingsBearer,
  { asked, granted }: { asked: Halves; granted: Halves },
): AccountSettingsOverride {
  const { calendarEnabled, contactsEnabled } = inheritedSettings(tenant, account)
  return {
    ...account.settings_override,
    ...(calendarEnabled && asked.calendar && !granted.calendar && { calendarEnabled: false }),
    ...(contactsEnabled && asked.contacts && !granted.contacts && { contactsEnabled: false }),
  }
}

/**
 * Whether somebody signed in to the mailbox of the account. The subject decides; the address does only where one of them
 * is not known, and then it is the one that the mailbox itself names.
 */
export function isSameMailbox(
  account: Pick<AccountRow, 'provider' | 'auth_method' | 'subject' | 'email'>,
  provider: OAuthProvider,
  { subject, email }: Pick<Identity, 'subject' | 'email'>,
): boolean {
  if (account.auth_method !== 'oauth' || account.provider !== kindOf(provider)) return false
  if (account.subject !== null && subject !== null) return account.subject === subject
  return account.email.toLowerCase() === email.toLowerCase()
}

/** Whether a sign-in that names no account gives this one a new grant. */
export function isRenewable(
  { status, external_ref }: Pick<AccountRow, 'status' | 'external_ref'>,
  externalRef: string | null,
): boolean {
  const isBroken = status === 'reauth_required' || status === 'disabled'
  return isBroken && (externalRef === null || externalRef === external_ref)
}

const DAV_SETTINGS = new Set(['calendarEnabled', 'contactsEnabled', 'sharedMailboxesEnabled'])

function hasCalendars(account: Pick<SettingsBearer, 'provider' | 'imap'>): boolean {
  return account.provider !== 'imap' || (account.imap?.dav ?? null) !== null
}

/** A honeypot is a link that only machines follow, so it needs link tracking. */
export function requireClicksForHoneypot(settings: {
  trackingHoneypot: boolean
  trackClicks: boolean
}): void {
  if (settings.trackingHoneypot && !settings.trackClicks) refuse('honeypot_needs_click_tracking')
}

/** Names of the fields in which two states of an account differ, as in `account.updated`. */
export function changedFields(before: Account, after: Account): string[] {
  const names = Object.keys(after) as (keyof Account)[]
  return names.filter(name => !UNANNOUNCED.has(name) && !isDeepStrictEqual(before[name], after[name]))
}

const UNANNOUNCED = new Set<keyof Account>(['updatedAt', 'runtime'])

/** The kinds that the account syncs. */
export function enabledKinds(settings: AccountSettings): SyncKind[] {
  const kinds: SyncKind[] = ['mail']
  if (settings.calendarEnabled) kinds.push('calendar')
  if (settings.contactsEnabled) kinds.push('contacts')
  return kinds
}

const IMPLICIT_TLS_PORTS = new Set([993, 465])

/** Fills in the defaults. */
export function completeServer(input: MailServerInput, defaultUser: string): MailServer {
  return {
    host: input.host.trim().toLowerCase(),
    port: input.port,
    security: input.security ?? (IMPLICIT_TLS_PORTS.has(input.port) ? 'tls' : 'starttls'),
    user: input.user ?? defaultUser,
  }
}
