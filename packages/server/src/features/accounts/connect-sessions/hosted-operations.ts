import { implement } from '@orpc/server'
import { hostedConnectSessions } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { RequestContext } from '../../../calls/context.ts'
import type { HostedSessions } from '../../../wing/hosted-session.ts'
import { refuse } from '../../../calls/refuse.ts'
import { findReturnUrl } from './end.ts'
import { findReauthEmail } from './find-reauth-email.ts'
import { endedAs } from './flows.ts'
import { type FlowParts } from './flow-parts.ts'
import { connectByForm, findServersFor } from './imap-form.ts'
import { findByToken, type SessionRow, stateOf } from './store.ts'

const on = implement(hostedConnectSessions).$context<RequestContext>()

/** Operations for the page behind a link. The door has found the session of the token, which may still be used. */
export function hostedConnectOperations(parts: FlowParts) {
  return {
    get: on.get.handler(async ({ input: { params }, context }) => {
      const session = await requireHosted(context, params.token)
      const { tenantName, providers, passwordImap, microsoftCloud, loginHint, expiresAt } = session
      return {
        tenantName,
        providers,
        passwordImap,
        microsoftCloud,
        status: stateOf(session),
        reauthEmail: await findReauthEmail(parts, session),
        loginHint,
        expiresAt: expiresAt.toISOString(),
      }
    }),

    connectImap: on.connectImap.handler(async ({ input: { params, body }, context }) => {
      const session = await requireHosted(context, params.token)
      const { requestId, client } = context
      context.target({ sessionId: session.id })
      return connectByForm(parts, session, body, {
        client,
        requestId,
        step: work => context.step(work),
        finish: work =>
          context.change(async unit => {
            const ending = await work(unit)
            if ('accountId' in ending) context.target({ accountId: ending.accountId })
            const { baseUrl } = parts
            const url = await findReturnUrl({ db: unit.sql, baseUrl }, session, ending, params.token)
            return { redirectUrl: url }
          }),
      })
    }),

    findServers: on.findServers.handler(async ({ input: { params, query }, context }) => {
      const { id } = await requireHosted(context, params.token)
      return findServersFor(parts, query.email, { sessionId: id, step: work => context.change(work) })
    }),
  }
}

async function requireHosted(context: RequestContext, token: string): Promise<SessionRow> {
  return (await findByToken(context.db, token)) ?? refuse('connect_session_not_found')
}

/** Finds the sessions of hosted operations by their tokens. A headless flow has none. */
export function hostedSessionsOf(db: RequestContext['db']): HostedSessions {
  return {
    async find(token) {
      const session = await findByToken(db, token)
      if (session?.kind !== 'hosted') return null
      const { id, tenantId, accountId } = session
      return { id, tenantId, accountIds: accountId === null ? [] : [accountId], ended: endedAs(session) }
    },
  }
}
