import type { ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import { isUuid, newId } from '../../../kit/ids.ts'
import type { Asked, Halves, SignIn } from '../../../providers/sign-in.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import { findTenantSettings } from '../../tenancy/settings/store.ts'
import { requireRoomForGrant } from '../accounts/connect-with-grant.ts'
import { effectiveSettings } from '../../../accounts/settings.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { hasShared } from '../../../accounts/shared/lock.ts'
import { findAccount } from '../../../accounts/store.ts'
import { abilitiesOf, signInAbilitiesOf } from '../../../providers/abilities.ts'
import { openChosenApp } from '../oauth-apps/choose-app.ts'
import type { OAuthClient } from '../../../accounts/apps/clients.ts'
import { callbackUrl } from '../oauth-apps/present.ts'
import { ATTEMPT_SECONDS, recordAttempt } from './attempts.ts'
import { affordableSettings, commitStep, errorOf, failFlow, type FlowCaller } from './end.ts'
import type { FlowEnd, FlowParts } from './flow-parts.ts'
import { cookieNameOf, cookieOf, digestSecret, exchangeSecrets, newSecret } from './rules.ts'
import { findByToken, lockSession, type SessionRow, stateOf } from './store.ts'

/** One showing of the Continue page. */
export interface Showing {
  outcome: 'shown'
  /** For the form: each works once. */
  nonce: string
  /** The permissions that the user will be asked to grant. */
  scopes: readonly string[]
}

export type Begun =
  | {
      outcome: 'begun'
      authorizeUrl: string
      /** Set on our own origin, HttpOnly. `name` lacks the prefix `__Host-`. */
      cookie: { name: string; value: string; maxAgeSeconds: number }
    }
  | { outcome: 'ended'; end: FlowEnd }
  /** The form was sent before, or the flow has ended: the page is to be shown again. */
  | { outcome: 'stale' }
  /** The flow has begun as many sign-ins as it can. */
  | { outcome: 'spent' }

/** A provider that the flow offers, with the app and the permissions that will be asked for. */
interface Ready {
  signIn: SignIn
  client: OAuthClient
  scopes: readonly string[]
  /** The address of the account that signs in again. */
  reauthEmail: string | null
}

/**
 * Contents of the page before the user continues. Looking at it changes nothing: a flow that cannot go on ends when the
 * user continues.
 */
export async function openShowing(parts: FlowParts, session: SessionRow, provider: string): Promise<Showing> {
  const ready = await prepare(parts, session, provider)
  return { outcome: 'shown', nonce: newId(), scopes: typeof ready === 'string' ? [] : ready.scopes }
}

/** Begins a sign-in. Reasons that would make it fail are found before the browser leaves. */
export async function beginAttempt(
  parts: FlowParts,
  token: string,
  given: { provider: string; nonce: string; loginHint: string | null; caller: FlowCaller },
): Promise<Begun> {
  const { nonce: showing, caller } = given
  const session = await findByToken(parts.db, token)
  if (!session || stateOf(session) !== 'pending' || !isUuid(showing)) return { outcome: 'stale' }
  const ready = await requireRoom(parts, session, given).then(
    problem => problem ?? prepare(parts, session, given.provider),
  )
  if (typeof ready === 'string') {
    const url = await failFlow(parts, session, ready, { token, caller })
    return { outcome: 'ended', end: { outcome: 'returned', url } }
  }

  const { signIn, client, scopes, reauthEmail } = ready
  const { provider, cloud, appId, clientId } = client
  const [id, state, browser] = [newId(), newSecret(), newSecret()]
  const problem = await commitStep(parts, session.tenantId, async unit => {
    const now = await lockSession(unit, session.id)
    if (!now || stateOf(now) !== 'pending') return 'stale'
    const [stateDigest, cookieDigest] = [digestOf(state), digestOf(browser)]
    const name = { provider, cloud, appId }
    return recordAttempt(unit, {
      id,
      sessionId: session.id,
      showing,
      ...name,
      scopes,
      stateDigest,
      cookieDigest,
    })
  })
  if (problem !== null) return { outcome: problem }
  const { codeChallenge, nonce } = exchangeSecrets(browser, id)
  const redirectUri = callbackUrl(parts.baseUrl(), provider)
  const loginHint = reauthEmail ?? given.loginHint ?? session.loginHint
  const cookie = {
    name: cookieNameOf(state),
    value: cookieOf(browser, token),
    maxAgeSeconds: ATTEMPT_SECONDS,
  }
  const request = { clientId, redirectUri, scopes, state, nonce, codeChallenge, loginHint }
  return { outcome: 'begun', authorizeUrl: signIn.authorizeUrl(request), cookie }
}

function digestOf(secret: string): Buffer {
  const digest = digestSecret(secret)
  if (!digest) throw new Error('A secret of ours does not have the form of one')
  return digest
}

/** The reason why the tenant can have no account from this flow, or null. A reconnect does not count against the plan's accounts. */
async function requireRoom(
  parts: FlowParts,
  session: SessionRow,
  { provider: asked, caller }: { provider: string; caller: FlowCaller },
): Promise<ConnectError | null> {
  const provider = session.providers.find(one => one === asked)
  if (session.isReconnect || !provider) return null
  try {
    const settings = await affordableSettings(parts.db, session.tenantId, session.settings)
    await requireRoomForGrant(parts.db, session.tenantId, provider, settings)
    return null
  } catch (error) {
    return errorOf(error, parts, caller.requestId)
  }
}

async function prepare(parts: FlowParts, session: SessionRow, asked: string): Promise<Ready | ConnectError> {
  const { db, clients, signIns } = parts
  const provider = session.providers.find(one => one === asked)
  if (!provider || !signIns.offers(provider)) return 'provider_not_configured'
  const { accountId, isReconnect, tenantId } = session
  const account = isReconnect && accountId !== null ? await findAccount(db, tenantId, accountId) : null
  if (isReconnect && !account) return 'account_mismatch'
  const client = await openChosenApp({ clients, db }, provider, { ...session, account })
  if (typeof client === 'string') return client
  const signIn = signIns.at(client)
  if (!signIn) return 'provider_not_configured'
  const halves = await findHalves(parts, session, provider)
  const shared = await asksForShared(parts, session, { provider, account })
  return {
    signIn,
    client,
    scopes: signIn.scopesFor(client.scopes, { ...halves, shared }),
    reauthEmail: account?.email ?? null,
  }
}

/**
 * Whether calendars and contacts are asked for: if the plan includes them, and a new account will have them on. A user
 * who signs in again is asked for both, since only a new grant can give the account the permissions that it lacks.
 */
async function findHalves(
  { db }: Pick<FlowParts, 'db'>,
  { tenantId, isReconnect, settings: own }: SessionRow,
  provider: OAuthProvider,
): Promise<Pick<Asked, keyof Halves>> {
  const bearer = { provider: signInAbilitiesOf(provider).makes, imap: null, settings_override: own }
  const settings = effectiveSettings(await findTenantSettings(db, tenantId), bearer)
  return {
    calendar: (isReconnect || settings.calendarEnabled) && (await findModule(db, tenantId, 'calendar')),
    contacts: (isReconnect || settings.contactsEnabled) && (await findModule(db, tenantId, 'contacts')),
  }
}

/**
 * Whether mailboxes of others are asked for. Accounts that open some already would lose them without that, whatever the
 * plan includes by now.
 */
async function asksForShared(
  { db }: Pick<FlowParts, 'db'>,
  { tenantId, wantsShared }: SessionRow,
  { provider, account }: { provider: OAuthProvider; account: AccountRow | null },
): Promise<boolean> {
  if (!abilitiesOf(signInAbilitiesOf(provider).makes).hasSharedMailboxes) return false
  if (account && (await hasShared(db, account.id))) return true
  return (account?.wants_shared ?? wantsShared) && findModule(db, tenantId, 'sharedMailboxes')
}
