import { isDeepStrictEqual } from 'node:util'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { effectiveSettings } from './settings.ts'
import type { OtherHalf } from './halves/columns.ts'
import type { AccountView } from './row.ts'

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
    statusReason: statusReasonOf(view),
    settings: effectiveSettings(view.tenant_settings, view),
    settingsOverride: view.settings_override,
    runtime: presentRuntime(view),
    imap: view.imap,
    auth: {
      method: view.auth_method,
      ...(view.delegate_account_id !== null && { delegateAccountId: view.delegate_account_id }),
    },
    initializedAt: view.initialized_at?.toISOString() ?? null,
    calendarInitializedAt: initializedAt(view, 'calendar'),
    contactsInitializedAt: initializedAt(view, 'contacts'),
    createdAt: view.created_at.toISOString(),
    updatedAt: view.updated_at.toISOString(),
  }
}

/** Why the account is not active; if it is, the problem of its mail, or else of another half. */
function statusReasonOf({ status, status_reason, problem, other_halves }: AccountView): string | null {
  if (status !== 'active') return status_reason
  return problem ?? other_halves?.find(other => other.problem !== null)?.problem ?? null
}

function initializedAt({ other_halves }: AccountView, kind: OtherHalf['kind']): string | null {
  const initialized = other_halves?.find(other => other.kind === kind)?.initializedAt ?? null
  return initialized && new Date(initialized).toISOString()
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
  if (view.is_followed) return { state, detail: detailOf(view) }
  if (view.status !== 'active') return { state: 'stopped' as const, detail: view.status_reason }
  return { state: 'pending' as const, detail: 'no process follows the account at the moment' }
}

/** The state of the mail is the account's. Another half is named if it is behind or fails. */
function detailOf({ runtime_detail, other_halves }: AccountView): string | null {
  const behind = (other_halves ?? []).filter(({ isBehind, isFailing }) => isBehind || isFailing)
  const named = behind.map(({ kind, detail }) => `${kind}: ${detail ?? 'not caught up yet'}`)
  return [...(runtime_detail === null ? [] : [runtime_detail]), ...named].join('; ') || null
}

/** Names of the fields in which two states of an account differ, as in `account.updated`. */
export function changedFields(before: Account, after: Account): string[] {
  const names = Object.keys(after) as (keyof Account)[]
  return names.filter(name => !UNANNOUNCED.has(name) && !isDeepStrictEqual(before[name], after[name]))
}

const UNANNOUNCED = new Set<keyof Account>(['updatedAt', 'runtime'])
