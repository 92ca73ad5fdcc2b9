import type { ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { Refusal, refuse } from '../../../calls/refuse.ts'
import { reasonOfGrant } from '../../../calls/provider-failure.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { connectWithGrant, reconnectWithGrant, type SignedIn } from '../accounts/connect-with-grant.ts'
import { callbackUrl } from '../oauth-apps/present.ts'
import { holdApp } from '../../../accounts/apps/store.ts'
import { findApproval, findApprovalUrl } from './approval.ts'
import { type Attempt, claimAttempt, findAttempt } from './attempts.ts'
import {
  affordableSettings,
  commitStep,
  errorOf,
  failFlow,
  findReturnUrl,
  type FlowCaller,
  recordEndRow,
} from './end.ts'
import type { FlowEnd, FlowParts } from './flow-parts.ts'
import { recordEnd } from './record.ts'
import { authorizationErrorOf, exchangeSecrets, isSameBrowser, needsApproval, readCookie } from './rules.ts'
import { findByToken, lockSession, type SessionRow } from './store.ts'

/** The longest wait for the provider, over all calls. */
const EXCHANGE_SECONDS = 30

const INVALID: FlowEnd = { outcome: 'invalid' }

/** What a provider's authorization endpoint answers (RFC 6749 section 4.1.2, RFC 9207). */
interface Answer {
  state: string
  code: string | null
  error: string | null
  description: string | null
  iss: string | null
}

/**
 * Ends a flow whose user comes back from the provider. Nothing changes unless the `state` is of an attempt under way
 * and the browser is the one that began it; then the attempt is used up, with or without success.
 */
export async function finishCallback(
  parts: FlowParts,
  given: { provider: string; query: URLSearchParams; cookie: string | null; caller: FlowCaller },
): Promise<FlowEnd> {
  const answer = readAnswer(given.query)
  const cookie = given.cookie === null ? null : readCookie(given.cookie)
  const approval = await findApproval(parts, given)
  if (approval) return approval
  if (!answer || !cookie) return INVALID
  const attempt = await findAttempt(parts.db, given.provider, answer.state)
  if (!attempt || !isSameBrowser(cookie.browser, attempt.cookieDigest)) return INVALID
  const session = await findByToken(parts.db, cookie.token)
  if (session?.id !== attempt.sessionId || !(await claimAttempt(parts.db, attempt.id))) return INVALID

  const { token, browser } = cookie
  const { caller } = given
  const fail = async (error: ConnectError): Promise<FlowEnd> => {
    return { outcome: 'returned', url: await failFlow(parts, session, error, { token, caller }) }
  }
  if (session.error === 'session_expired') return fail('session_expired')
  if (answer.error !== null) {
    const said = { error: answer.error, description: answer.description }
    const end = await fail(authorizationErrorOf(said))
    const approvalUrl = needsApproval(said) ? await findApprovalUrl(parts, session, attempt) : null
    if (end.outcome !== 'returned' || approvalUrl === null) return end
    const { provider } = attempt
    return { outcome: 'unapproved', approvalUrl, url: end.url, tenantName: session.tenantName, provider }
  }
  try {
    const signedIn = await redeem(parts, attempt, answer, browser)
    const account = await connect(parts, session, signedIn, caller)
    if (account === null) return await fail('session_used')
    const url = await findReturnUrl(parts, session, { accountId: account.id }, token)
    return { outcome: 'returned', url }
  } catch (error) {
    return fail(errorOf(error, parts, caller.requestId))
  }
}

/** Null unless there is one `state`, and nothing is given twice. */
function readAnswer(query: URLSearchParams): Answer | null {
  const names = ['state', 'code', 'error', 'error_description', 'iss']
  const given = names.map(name => query.getAll(name))
  if (!query.has('state') || given.some(values => values.length > 1)) return null
  const [state = '', code = null, error = null, description = null, iss = null] = given.map(([one]) => one)
  return { state, code, error, description, iss }
}

/** Redeems the code at the provider that the attempt was begun with, and nowhere else. */
async function redeem(
  parts: FlowParts,
  attempt: Attempt,
  { code, iss }: Answer,
  browser: string,
): Promise<SignedIn> {
  const { provider, tenantId } = attempt
  const client = await parts.clients.find(parts.db, tenantId, attempt)
  if (typeof client === 'string') refuse(client)
  const signIn = parts.signIns.at(attempt) ?? refuse('provider_not_configured')
  if (code === null) refuse('token_exchange_failed')
  const { codeVerifier, nonce } = exchangeSecrets(browser, attempt.id)
  const redirectUri = callbackUrl(parts.baseUrl(), provider)
  const { exchangeSeconds = EXCHANGE_SECONDS } = parts
  const signal = AbortSignal.timeout(exchangeSeconds * 1000)
  try {
    // RFC 9207: the answer comes from another provider than the flow was sent to.
    if (iss !== null && !(await signIn.isIssuer(iss, signal))) refuse('token_exchange_failed')
    const exchange = { client, redirectUri, code, codeVerifier, nonce, scopes: attempt.scopes }
    const grant = await signIn.exchange(exchange, signal)
    const { calendar, contacts } = signIn.halvesOf(attempt.scopes)
    const asked = { calendar: calendar !== 'none', contacts: contacts !== 'none' }
    return { client, grant, asked }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    throw new Refusal(reasonOfGrant(error), undefined, { cause: error })
  }
}

/** Stores the account and the end of the session in one commit. Null if the session has ended meanwhile. */
async function connect(
  parts: FlowParts,
  session: SessionRow,
  signedIn: SignedIn,
  caller: FlowCaller,
): Promise<AccountView | null> {
  const { accountKeys } = parts.mail
  return commitStep(parts, session.tenantId, async unit => {
    const now = await lockSession(unit, session.id)
    if (!now || now.endedAt !== null) return null
    const { appId } = signedIn.client
    if (appId !== null && !(await holdApp(unit, appId))) refuse('provider_not_configured')
    const { externalRef, wantsShared } = session
    const settings = await affordableSettings(unit.sql, unit.tenantId, session.settings)
    const account =
      session.isReconnect && session.accountId !== null
        ? await reconnectWithGrant(unit, accountKeys, session.accountId, signedIn)
        : await connectWithGrant(unit, accountKeys, { ...signedIn, externalRef, settings, wantsShared })
    await recordEnd(unit, session.id, { account })
    await recordEndRow(unit, session, { accountId: account.id }, caller)
    return account
  })
}
