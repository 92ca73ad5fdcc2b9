import { implement } from '@orpc/server'
import { connectSessions } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type FlowServices, planSession } from './create.ts'
import { presentSession } from './present.ts'
import { recordSession } from './record.ts'
import { pageUrl } from './rules.ts'
import { findSession } from './store.ts'

/** Time for which the link of a headless authorization works. */
const AUTHORIZATION_SECONDS = 3600

const on = implement(connectSessions).$context<RequestContext>()

export function connectSessionOperations({
  baseUrl,
  ...services
}: FlowServices & { /** The address of the service. */ baseUrl(): string }) {
  return {
    create: on.create.handler(async ({ input: { body }, context }) => {
      const { oauthAppIds: appIds = {}, options = {}, ...rest } = body
      const given = { kind: 'hosted' as const, ...rest, ...options, appIds }
      const { session, token } = await planSession(services, context.db, context.tenantId, given)
      return context.change(async unit => {
        const expiresAt = await recordSession(unit, session)
        return { id: session.id, url: pageUrl(baseUrl(), token), expiresAt: expiresAt.toISOString() }
      })
    }),

    get: on.get.handler(async ({ input: { params }, context }) => {
      const session = await findSession(context.db, context.tenantId, params.sessionId)
      return presentSession(session ?? refuse('connect_session_not_found'))
    }),

    authorize: on.authorize.handler(async ({ input: { body }, context }) => {
      const { provider, oauthAppId, options = {}, ...rest } = body
      const { session, token } = await planSession(services, context.db, context.tenantId, {
        kind: 'headless',
        ...rest,
        ...options,
        providers: [provider],
        appIds: { [provider]: oauthAppId },
        ttlSeconds: AUTHORIZATION_SECONDS,
      })
      return context.change(async unit => {
        await recordSession(unit, session)
        context.target({ authorizationId: session.id })
        return { authorizeUrl: pageUrl(baseUrl(), token) }
      })
    }),
  }
}
