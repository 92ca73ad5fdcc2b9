import type { FlowEnd, FlowOptions, FlowParts } from './flow-parts.ts'
import type { ConnectError, HostedImapInput } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import type { FoundServers } from '../../../providers/discovery.ts'
import { refuse } from '../../../calls/refuse.ts'
import { beginAttempt, type Begun, openShowing, type Showing } from './begin.ts'
import { finishCallback } from './callback.ts'
import { findReauthEmail } from './find-reauth-email.ts'
import { type FlowCaller, commitStep, failFlow, findReturnUrl, recordEndRow } from './end.ts'
import { connectByForm, findServersFor } from './imap-form.ts'
import { createLoginWindow } from './login-window.ts'
import { pageUrl } from './rules.ts'
import { findByToken, type SessionRow, stateOf } from './store.ts'

/** A flow as its page shows it. */
export interface ShownFlow {
  id: string
  kind: 'hosted' | 'headless'
  state: 'pending' | 'completed' | 'failed'
  error: ConnectError | null
  tenantName: string
  /** In the order of the buttons. */
  providers: readonly OAuthProvider[]
  /** Whether an IMAP mailbox can be connected with a password. */
  passwordImap: boolean
  /** The address of the account that signs in again. */
  reauthEmail: string | null
  loginHint: string | null
  expiresAt: Date
}

/** Connect flows as their pages use them. The token is the last part of the link. */
export interface ConnectFlows {
  /** Null if the token is unknown. A flow that has ended is found, too. */
  find(token: string): Promise<ShownFlow | null>
  /** Contents of the Continue page: its form works once, by its nonce. */
  showContinue(token: string, provider: string): Promise<Showing | { outcome: 'ended'; end: FlowEnd }>
  /** Continue was pressed. */
  begin(
    token: string,
    given: { provider: string; nonce: string; loginHint: string | null; caller: FlowCaller },
  ): Promise<Begun>
  /** A browser came back from a provider. */
  finishCallback(given: {
    provider: string
    query: URLSearchParams
    cookie: string | null
    caller: FlowCaller
  }): Promise<FlowEnd>
  /** The person gave up. */
  cancel(token: string, caller: FlowCaller): Promise<FlowEnd>
  /** The form for an IMAP mailbox. Throws `Refusal`, after which the flow goes on. */
  finishImap(token: string, input: HostedImapInput, caller: FlowCaller): Promise<FlowEnd>
  /** Throws `Refusal`. */
  findServers(token: string, email: string): Promise<FoundServers>
}

export function openConnectFlows(options: FlowOptions): ConnectFlows & { parts: FlowParts } {
  const parts: FlowParts = { ...options, logins: createLoginWindow(options.limits.openWindows) }
  const { db } = parts

  async function requirePending(token: string): Promise<SessionRow> {
    const session = (await findByToken(db, token)) ?? refuse('connect_session_not_found')
    const ended = endedAs(session)
    return ended === null ? session : refuse(ended)
  }

  return {
    parts,
    async find(token) {
      const session = await findByToken(db, token)
      return session && showFlow(parts, session)
    },

    async showContinue(token, provider) {
      const session = await findByToken(db, token)
      if (session && stateOf(session) === 'pending') return openShowing(parts, session, provider)
      return { outcome: 'ended', end: { outcome: 'returned', url: pageUrl(parts.baseUrl(), token) } }
    },

    begin: (token, given) => beginAttempt(parts, token, given),
    finishCallback: given => finishCallback(parts, given),

    async cancel(token, caller) {
      const session = await findByToken(db, token)
      if (!session) return { outcome: 'invalid' }
      return { outcome: 'returned', url: await failFlow(parts, session, 'cancelled', { token, caller }) }
    },

    async finishImap(token, input, caller) {
      const session = await requirePending(token)
      const { client, requestId } = caller
      const answer = await connectByForm(parts, session, input, {
        client,
        requestId,
        step: work => commitStep(parts, session.tenantId, work),
        finish: work =>
          commitStep(parts, session.tenantId, async unit => {
            const ending = await work(unit)
            await recordEndRow(unit, session, ending, caller)
            const { baseUrl } = parts
            return { redirectUrl: await findReturnUrl({ db: unit.sql, baseUrl }, session, ending, token) }
          }),
      })
      return { outcome: 'returned', url: answer.redirectUrl }
    },

    async findServers(token, email) {
      const { id, tenantId } = await requirePending(token)
      return findServersFor(parts, email, { sessionId: id, step: work => commitStep(parts, tenantId, work) })
    },
  }
}

/** The reason why a session can no longer be used, or null. */
export function endedAs(session: SessionRow): 'session_expired' | 'session_used' | null {
  if (stateOf(session) === 'pending') return null
  return session.error === 'session_expired' ? 'session_expired' : 'session_used'
}

async function showFlow({ db }: FlowParts, session: SessionRow): Promise<ShownFlow> {
  const { id, kind, error, tenantName, providers, passwordImap, loginHint, expiresAt } = session
  return {
    id,
    kind,
    state: stateOf(session),
    error,
    tenantName,
    providers,
    passwordImap,
    reauthEmail: await findReauthEmail({ db }, session),
    loginHint,
    expiresAt,
  }
}
