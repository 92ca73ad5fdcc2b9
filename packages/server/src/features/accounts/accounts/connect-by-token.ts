import type { AccountInput } from '@waxwing/contract/accounts/account-inputs.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { Secret } from '../../../kit/secret.ts'
import { signInAbilitiesOf } from '../../../providers/abilities.ts'
import type { SignIns } from '../../../providers/sign-in.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuseFailure } from '../../../calls/provider-failure.ts'
import { refuse } from '../../../calls/refuse.ts'
import { openChosenApp, requireNamedApps } from '../oauth-apps/choose-app.ts'
import type { OAuthClients } from '../../../accounts/apps/clients.ts'
import { holdApp } from '../../../accounts/apps/store.ts'
import type { RequireStorage } from '../settings/body-storage.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import { requireHalves } from '../grants/access.ts'
import { connectWithGrant, requireRoomForGrant } from './connect-with-grant.ts'
import { presentAccount } from '../../../accounts/present.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'

/** The time that all calls to the provider may take together. */
const SECONDS_MAX = 50

/** Dependencies of connecting accounts by OAuth besides the database. */
export interface OAuthServices {
  accountKeys: AccountKeys
  clients: OAuthClients
  signIns: SignIns
}

/** Connects the mailbox of a refresh token that the caller has. Nothing is stored unless the provider accepts it. */
export async function connectByToken(
  context: RequestContext,
  { accountKeys, clients, signIns, requireStorage }: OAuthServices & { requireStorage: RequireStorage },
  input: AccountInput,
): Promise<Account> {
  const { db, tenantId } = context
  const { provider, microsoftCloud, oauthAppId, externalRef, settings } = input
  if (signInAbilitiesOf(provider).defaultCloud === null && microsoftCloud !== undefined)
    refuse('not_microsoft')
  await requireRoomForGrant(db, tenantId, provider, settings)
  const named = { tenantId, appIds: oauthAppId === undefined ? {} : { [provider]: oauthAppId } }
  const choosing = { ...named, microsoftCloud: microsoftCloud ?? null, account: null }
  await requireNamedApps(db, choosing)
  const client = await openChosenApp({ clients, db }, provider, choosing)
  if (typeof client === 'string') refuse(client)
  const signIn = (signIns.offers(provider) ? signIns.at(client) : null) ?? refuse('provider_not_configured')
  const { bodyStorage } = await findTenantSettings(db, tenantId)
  await requireStorage({ before: bodyStorage, after: settings?.bodyStorage, field: 'settings.bodyStorage' })
  const signal = AbortSignal.timeout(SECONDS_MAX * 1_000)
  const wantsShared = settings?.sharedMailboxesEnabled ?? false
  // Mail is required; the grant shows what else there is.
  const wanted = { calendar: true, contacts: true, shared: wantsShared }
  const grant = await signIn
    .adopt(client, new Secret(input.refreshToken), client.scopes, wanted, signal)
    .catch((error: unknown) => refuseFailure(error, 'grant'))
  requireHalves(grant.halves, settings)
  return context.change(async unit => {
    // The app may have been deleted during the calls to the provider.
    if (client.appId !== null && !(await holdApp(unit, client.appId)))
      refuse(oauthAppId === undefined ? 'provider_not_configured' : 'unknown_oauth_app')
    const signedIn = { client, grant, asked: { calendar: true, contacts: true } }
    const options = { ...signedIn, externalRef, settings, wantsShared }
    return presentAccount(await connectWithGrant(unit, accountKeys, options))
  })
}
