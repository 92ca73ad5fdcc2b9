import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { effectiveSettings } from './rules.ts'
import type { AccountView } from './account.ts'

/** An account as the interface and its events show it. */
export function presentAccount(view: AccountView): Account {
  return {
    id: view.id,
    externalRef: view.external_ref,
    provider: view.provider,
    email: view.email,
    displayName: view.display_name,
    oauthAppId: view.oauth_app_id,
    cloud: view.cloud,
    status: view.status,
    statusReason: view.status_reason,
    settings: effectiveSettings(view.tenant_settings, view),
    settingsOverride: view.settings_override,
    runtime: presentRuntime(view),
    imap: view.imap,
    auth: { method: view.auth_method },
    initializedAt: view.initialized_at?.toISOString() ?? null,
    calendarInitializedAt: view.calendar_initialized_at?.toISOString() ?? null,
    contactsInitializedAt: view.contacts_initialized_at?.toISOString() ?? null,
    createdAt: view.created_at.toISOString(),
    updatedAt: view.updated_at.toISOString(),
  }
}

/** A report is valid only while its owner follows the account. */
function presentRuntime(view: AccountView): Account['runtime'] {
  if (!view.runtime_state || !view.runtime_instance || !view.runtime_updated_at) return null
  return {
    ...currentState(view, view.runtime_state),
    ownerInstanceId: view.runtime_instance,
    updatedAt: view.runtime_updated_at.toISOString(),
  }
}

function currentState(view: AccountView, state: NonNullable<Account['runtime']>['state']) {
  if (view.is_followed) return { state, detail: view.runtime_detail }
  if (view.status !== 'active') return { state: 'stopped' as const, detail: view.status_reason }
  return { state: 'pending' as const, detail: 'no process follows the account at the moment' }
}
