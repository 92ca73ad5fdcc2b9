import { InvalidInput } from '../world/invalid-input.ts'
import type { AuthorizeInput, GrantedTokens, GrantInput } from '../world/provider.ts'
import { requireUser, type User } from '../world/users.ts'
import { CLOUDS, cloudOf } from './clouds.ts'
import type { MicrosoftGround } from './ground.ts'
import { issueAccessToken } from './sign-in/access-token.ts'
import { adminProblem, approve, decline, readAdminConsent } from './sign-in/admin-consent.ts'
import {
  ADMINISTRATOR_NEEDED,
  allow,
  type Answer,
  DECLINED,
  readAuthorization,
  refuse,
  urlOf,
} from './sign-in/authorization.ts'
import { CONSENT_NEEDED } from './sign-in/authorize-pages.ts'
import { type Endpoint, readEndpoint, userProblem } from './sign-in/endpoint.ts'
import type { SignInError } from './sign-in/errors.ts'
import {
  cloudProblem,
  consentNeeded,
  grantedPermissions,
  permissionsFor,
  readAsked,
} from './sign-in/permissions.ts'

/** Grants scopes to a client without the pages. A refresh token comes in any case. */
export async function grantByHand(ground: MicrosoftGround, input: GrantInput): Promise<GrantedTokens> {
  const user = requireUser(ground.users, input.user)
  const { loginHost, name } = cloudOf(user)
  if (input.cloud !== null && input.cloud !== name)
    throw new InvalidInput(`cloud: ${user.email} is a user of ${name}.`)
  const client = ground.clients.find(loginHost, input.clientId)
  if (!client) throw new InvalidInput(`There is no client ${input.clientId} in ${name}.`)
  const tenant = ground.tenants.of(user)
  const asked = requireGood(readAsked([...input.scopes, 'offline_access'].join(' '), client))
  const problem = cloudProblem(asked, tenant)
  if (problem) throw new InvalidInput(textOf(problem))
  ground.grants.allow(user, client, permissionsFor(user, client, asked))
  const { token: refreshToken } = ground.grants.issueRefreshToken(user, client, asked)
  const scopes = grantedPermissions(ground, user, client, asked)
  const { token: accessToken } = await issueAccessToken(ground, { user, client, tenant, scopes, roles: [] })
  return { accessToken, refreshToken }
}

/** Answers the sign-in pages at a URL in place of a person: of the authorization endpoint, or an administrator's. */
export function authorizeByHand(ground: MicrosoftGround, input: AuthorizeInput): { redirectUrl: string } {
  const user = requireUser(ground.users, input.user)
  const url = new URL(input.url)
  const [, name = '', ...path] = url.pathname.split('/')
  const endpoint = requireGood(readEndpoint(ground, loginHostOf(ground, url), decodeURIComponent(name)))
  const answer = path.at(-1) === 'adminconsent' ? answerConsent : answerAuthorization
  return { redirectUrl: urlOf(answer(ground, endpoint, url.searchParams, user, input)) }
}

function answerConsent(
  ground: MicrosoftGround,
  endpoint: Endpoint,
  query: URLSearchParams,
  user: User,
  { denies }: AuthorizeInput,
): Answer {
  const read = requireGood(readAdminConsent(ground, endpoint, query))
  const problem = adminProblem(ground, user, read.client, endpoint)
  if (problem) throw new InvalidInput(textOf(problem))
  return denies ? decline(ground, read, user) : approve(ground, read, user)
}

function answerAuthorization(
  ground: MicrosoftGround,
  endpoint: Endpoint,
  query: URLSearchParams,
  user: User,
  { scopes, denies }: AuthorizeInput,
): Answer {
  const read = readAuthorization(ground, endpoint, query)
  if ('problem' in read) {
    const { problem, back } = read
    if (!back) throw new InvalidInput(textOf(problem))
    return refuse(ground, { problem, back })
  }
  const { back, client, asked, prompt } = read
  const problem = userProblem(ground, user, client, endpoint)
  if (problem) throw new InvalidInput(textOf(problem))
  const needed = consentNeeded(ground, user, client, asked)
  if (denies === 'admin_required' || (denies === null && needed === 'administrator'))
    return refuse(ground, { problem: ADMINISTRATOR_NEEDED, back }, 'cancel')
  if (denies === 'refused') return refuse(ground, { problem: DECLINED, back }, 'cancel')
  if (prompt === 'none' && needed !== 'none') return refuse(ground, { problem: CONSENT_NEEDED, back })
  const chosen = scopes === null ? null : requireGood(readAsked(scopes.join(' '), client)).permissions
  return allow(ground, read, user, chosen)
}

/** The host of a sign-in page, whether the URL has its name or its origin here. */
function loginHostOf({ origins }: MicrosoftGround, { hostname, origin }: URL): string {
  const [name] = Object.entries(origins).find(([, own]) => own === origin) ?? [hostname]
  if (!Object.values(CLOUDS).some(({ loginHost }) => loginHost === name))
    throw new InvalidInput(`url: nobody signs in at ${name}.`)
  return name
}

function requireGood<T extends object>(read: T | SignInError): T {
  if (isProblem(read)) throw new InvalidInput(textOf(read))
  return read
}

const isProblem = (read: object): read is SignInError => 'code' in read && 'message' in read

const textOf = ({ code, error, message }: SignInError) => `${error}: AADSTS${code}: ${message}`
