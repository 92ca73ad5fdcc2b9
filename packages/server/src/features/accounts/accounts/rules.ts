import type { MailServerInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type {
  AccountSettings,
  AccountSettingsInput,
  AccountSettingsOverride,
} from '@waxwing/contract/accounts/account-settings.ts'
import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { abilitiesOf, signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { type SettingsBearer, inheritedSettings, offersHalf } from '../../../accounts/settings.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { MailServer } from '../../../providers/mail-server.ts'
import type { Identity, OAuthProvider } from '../../../providers/sign-in.ts'

/**
 * Computes the account's own values after a change. Refuses settings that the account cannot have: calendars and
 * contacts on IMAP without DAV and shared mailboxes where the provider has none (`provider_unsupported`), a honeypot without tracked
 * clicks. `sharedMailboxesEnabled` is none of these values: it is kept with the account.
 */
export function planSettings(
  tenant: TenantSettings,
  account: SettingsBearer,
  change: { settings?: AccountSettingsInput; resetSettings?: readonly (keyof AccountSettings)[] },
): AccountSettingsOverride {
  const { sharedMailboxesEnabled, ...settings } = change.settings ?? {}
  const unsupported = DAV_SETTINGS.find(
    ([name, kind]) => settings[name] === true && !offersHalf(account, kind),
  )
  if (unsupported) {
    const [name, kind] = unsupported
    refuse('provider_unsupported', undefined, {
      message: `The account has no ${kind === 'calendar' ? 'calendars' : 'contacts'}, which an IMAP account has only by its DAV settings. Leave ${name} out.`,
    })
  }
  if (sharedMailboxesEnabled && !abilitiesOf(account.provider).hasSharedMailboxes) {
    refuse('provider_unsupported', undefined, {
      message: 'Accounts of this provider open no shared mailboxes. Leave sharedMailboxesEnabled out.',
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

/**
 * Whether a sign-in was to the mailbox of the account. The subject decides; if one side has none, the address that the
 * mailbox itself reports decides.
 */
export function isSameMailbox(
  account: Pick<AccountRow, 'provider' | 'auth_method' | 'subject' | 'email'>,
  provider: OAuthProvider,
  { subject, email }: Pick<Identity, 'subject' | 'email'>,
): boolean {
  if (account.auth_method !== 'oauth' || account.provider !== signInAbilitiesOf(provider).makes) return false
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

const DAV_SETTINGS = [
  ['calendarEnabled', 'calendar'],
  ['contactsEnabled', 'contacts'],
] as const

/** A honeypot is a link that only machines follow, so it needs link tracking. */
export function requireClicksForHoneypot(settings: {
  trackingHoneypot: boolean
  trackClicks: boolean
}): void {
  if (settings.trackingHoneypot && !settings.trackClicks) refuse('honeypot_needs_click_tracking')
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
