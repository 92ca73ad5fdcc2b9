import { callbackUrl } from '../oauth-apps/present.ts'
import { type Attempt, findAttempt } from './attempts.ts'
import { findReauthEmail } from './find-reauth-email.ts'
import type { FlowEnd, FlowParts } from './flow-parts.ts'
import type { SessionRow } from './store.ts'

/** The parameter with which a provider sends an administrator back who was asked to approve the app. */
const APPROVAL = 'admin_consent'

/**
 * The page for an administrator who comes back from approving the app, or refusing that; null for any other return. The
 * link to that page has no `state`, and nobody here waits for the answer.
 */
export async function findApproval(
  { db }: Pick<FlowParts, 'db'>,
  { provider, query }: { provider: string; query: URLSearchParams },
): Promise<FlowEnd | null> {
  if (!query.has(APPROVAL)) return null
  const state = query.get('state')
  if (state !== null && (await findAttempt(db, provider, state))) return null
  const isApproved = query.get(APPROVAL)?.toLowerCase() === 'true' && !query.has('error')
  return { outcome: isApproved ? 'approved' : 'not_approved' }
}

/**
 * The URL where an administrator approves the app, with the permissions that the user was asked for; null if the provider
 * has no such page, or the app is gone.
 */
export async function findApprovalUrl(
  parts: FlowParts,
  session: SessionRow,
  attempt: Attempt,
): Promise<string | null> {
  const { provider, scopes, tenantId } = attempt
  const client = await parts.clients.find(parts.db, tenantId, attempt)
  const signIn = parts.signIns.at(attempt)
  if (typeof client === 'string' || !signIn) return null
  const email = (await findReauthEmail(parts, session)) ?? session.loginHint
  return signIn.approvalUrl({
    clientId: client.clientId,
    redirectUri: callbackUrl(parts.baseUrl(), provider),
    scopes,
    domain: email === null ? null : email.slice(email.lastIndexOf('@') + 1),
  })
}
