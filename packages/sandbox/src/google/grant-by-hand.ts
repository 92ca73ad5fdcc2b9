import { InvalidInput } from '../world/invalid-input.ts'
import type { AuthorizeInput, GrantedTokens, GrantInput } from '../world/provider.ts'
import { requireUser, type Users } from '../world/users.ts'
import type { Accounts } from './accounts.ts'
import { allow, deny, needsConsent, readAuthorization } from './authorization.ts'
import { parseScopes } from './scopes.ts'

/** Grants scopes to a client without the pages. */
export function grantByHand(accounts: Accounts, users: Users, input: GrantInput): GrantedTokens {
  const client = accounts.clients.get(input.clientId)
  if (!client) throw new InvalidInput(`There is no client ${input.clientId}.`)
  if (input.cloud !== null) throw new InvalidInput('cloud: Google has one only.')
  const user = requireUser(users, input.user)
  const scopes = parseScopes(input.scopes.join(' '))
  const { grants } = accounts
  const grant = grants.allow(user, client, scopes)
  const { token: refreshToken } = grants.issueRefreshToken(grant, scopes)
  const { token: accessToken } = grants.issueAccessToken(user, grant, scopes)
  return { accessToken, refreshToken }
}

/** Answers the sign-in pages at a URL in place of a person. */
export function authorizeByHand(
  accounts: Accounts,
  users: Users,
  input: AuthorizeInput,
): { redirectUrl: string } {
  if (input.denies === 'admin_required')
    throw new InvalidInput('deny: Google has no page for administrators here.')
  const user = requireUser(users, input.user)
  const authorization = readAuthorization(accounts, new URL(input.url).searchParams)
  if ('error' in authorization) throw new InvalidInput(`${authorization.error}: ${authorization.message}`)
  const isUnasked = authorization.prompts.has('none') && needsConsent(accounts, authorization, user)
  const chosen = input.scopes ? parseScopes(input.scopes.join(' ')) : authorization.scopes
  const redirectUrl =
    input.denies || isUnasked
      ? deny(authorization, isUnasked ? 'interaction_required' : 'access_denied')
      : allow(accounts, authorization, user, chosen)
  return { redirectUrl }
}
