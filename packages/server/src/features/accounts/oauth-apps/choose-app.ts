import {
  type ClientName,
  isOf,
  type ClientProblem,
  type OAuthClient,
  type OAuthClients,
} from '../../../accounts/apps/clients.ts'
import { findApp } from '../../../accounts/apps/store.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { type OAuthProvider, oauthProvider } from '@waxwing/contract/shapes.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { Db } from '../../../database/pool.ts'
import type { AccountRow } from '../../../accounts/row.ts'

/** The apps that a request named, and the cloud in which users of Microsoft sign in. */
export interface NamedApps {
  tenantId: string
  appIds: Partial<Record<OAuthProvider, string>>
  /** Null: the global one. */
  microsoftCloud: Account['cloud']
}

/** Criteria for the app that a user signs in with. */
export interface Choosing extends NamedApps {
  /** The account that signs in again. */
  account: Pick<AccountRow, 'oauth_app_id' | 'cloud'> | null
}

/**
 * The app of a sign-in: the named one, else the account's, else the tenant's oldest of the provider and cloud, else the
 * operator's. Whether its secret can be read is not checked. Null if there is none.
 */
export async function chooseApp(
  { clients, db }: { clients: OAuthClients; db: Db },
  provider: OAuthProvider,
  { tenantId, appIds, microsoftCloud, account }: Choosing,
): Promise<ClientName | null> {
  const cloud = cloudOf(provider, account?.cloud ?? microsoftCloud)
  const named = appIds[provider]
  if (named !== undefined) return { provider, cloud, appId: named }
  if (account?.oauth_app_id != null) return { provider, cloud, appId: account.oauth_app_id }
  if (account && clients.hasOperators({ provider, cloud })) return { provider, cloud, appId: null }
  const chosen = await clients.findDefault(db, tenantId, { provider, cloud })
  return chosen && { provider, cloud, ...chosen }
}

/** The app of a sign-in that is about to begin, with its secret. */
export async function openChosenApp(
  services: { clients: OAuthClients; db: Db },
  provider: OAuthProvider,
  choosing: Choosing,
): Promise<OAuthClient | ClientProblem> {
  const name = await chooseApp(services, provider, choosing)
  return name === null
    ? 'provider_not_configured'
    : services.clients.find(services.db, choosing.tenantId, name)
}

/**
 * Refuses named apps that the tenant does not have, and apps of another provider or cloud than they are named for. On a
 * reconnect that is the cloud of the account, so none but that one may be named.
 */
export async function requireNamedApps(
  db: Db,
  { tenantId, appIds, microsoftCloud, account }: Choosing,
): Promise<void> {
  if (account?.cloud != null && microsoftCloud !== null && microsoftCloud !== account.cloud)
    refuse('oauth_app_mismatch')
  const known = account?.cloud ?? microsoftCloud
  for (const provider of oauthProvider.options) {
    const id = appIds[provider]
    const place = { provider, cloud: cloudOf(provider, known) }
    if (id !== undefined) await requireNamedApp(db, tenantId, { place, isCloudKnown: known !== null }, id)
  }
}

/** The cloud of a sign-in at the provider: the named one, or its default. */
export function cloudOf(provider: OAuthProvider, named: Account['cloud']): Account['cloud'] {
  const { defaultCloud } = signInAbilitiesOf(provider)
  return defaultCloud && (named ?? defaultCloud)
}

async function requireNamedApp(
  db: Db,
  tenantId: string,
  { place, isCloudKnown }: { place: Omit<ClientName, 'appId'>; isCloudKnown: boolean },
  id: string,
): Promise<void> {
  const app = (await findApp(db, tenantId, id)) ?? refuse('unknown_oauth_app')
  if (isOf(app, place)) return
  // Nothing else tells users of a sovereign cloud from those of the global one.
  refuse(app.provider === place.provider && !isCloudKnown ? 'cloud_required' : 'oauth_app_mismatch')
}
