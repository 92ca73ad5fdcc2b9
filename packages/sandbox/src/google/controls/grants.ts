import { Hono } from 'hono'
import { z } from 'zod'
import { readJson } from '../../control/read-json.ts'
import type { ControlApp } from '../../control/routes.ts'
import { InvalidInput, parseInput } from '../../world/invalid-input.ts'
import { requireUser, type Users } from '../../world/users.ts'
import type { Accounts } from '../accounts.ts'
import { allow, deny, needsConsent, readAuthorization } from '../authorization.ts'
import { parseScopes } from '../scopes.ts'

const GrantInput = z.strictObject({
  user: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()).min(1),
})

const AuthorizationInput = z.strictObject({
  /** The URL of the authorization endpoint that a person would be sent to, at Google or here. */
  url: z.url(),
  user: z.string(),
  /** The boxes that stay ticked; by default all. */
  scopes: z.array(z.string()).optional(),
  deny: z.boolean().optional(),
})

/** Grants without pages, and pages without a person. */
export function grantRoutes(accounts: Accounts, users: Users): ControlApp {
  const app: ControlApp = new Hono()
  app.post('/grants', async context => {
    const input = parseInput(GrantInput, await readJson(context))
    const client = accounts.clients.get(input.clientId)
    if (!client) throw new InvalidInput(`There is no client ${input.clientId}.`)
    const user = requireUser(users, input.user)
    const scopes = parseScopes(input.scopes.join(' '))
    const { grants } = accounts
    const grant = grants.allow(user, client, scopes)
    const { token: refreshToken } = grants.issueRefreshToken(grant, scopes)
    const { token: accessToken } = grants.issueAccessToken(user, grant, scopes)
    return context.json({ accessToken, refreshToken }, 201)
  })
  app.post('/authorizations', async context => {
    const input = parseInput(AuthorizationInput, await readJson(context))
    const user = requireUser(users, input.user)
    const authorization = readAuthorization(accounts, new URL(input.url).searchParams)
    if ('error' in authorization) throw new InvalidInput(`${authorization.error}: ${authorization.message}`)
    const isUnasked = authorization.prompts.has('none') && needsConsent(accounts, authorization, user)
    const chosen = input.scopes ? parseScopes(input.scopes.join(' ')) : authorization.scopes
    const redirectUrl =
      input.deny || isUnasked
        ? deny(authorization, isUnasked ? 'interaction_required' : 'access_denied')
        : allow(accounts, authorization, user, chosen)
    return context.json({ redirectUrl }, 201)
  })
  return app
}
