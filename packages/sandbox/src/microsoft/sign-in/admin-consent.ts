import type { Context } from 'hono'
import type { HostEnv } from '../../hosting/host-app.ts'
import { isRedirectAllowed } from '../../sign-in/redirect-uris.ts'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import { type Answer, DECLINED, refuse, type ReturnPlace, wrongRedirect } from './authorization.ts'
import { sendBack, showError } from './authorize-pages.ts'
import { missing } from './client-authentication.ts'
import type { Client } from './clients.ts'
import { clientProblem, type Endpoint, notInDirectory, userProblem } from './endpoint.ts'
import { signInError, type SignInError } from './errors.ts'
import { chooserPage, consentPage } from './pages.ts'
import { permissionsFor, readAsked } from './permissions.ts'
import { type AskedScopes, presentScopes } from './scopes.ts'
import { CLOUDS } from '../clouds.ts'

type Page = Response | Promise<Response>

/** A request to the page on which an administrator allows an app for a tenant. */
export interface AdminConsent {
  readonly endpoint: Endpoint
  readonly client: Client
  readonly back: ReturnPlace
  readonly asked: AskedScopes
  /** Whether the request named scopes, which the answer then names, too. */
  readonly namesScopes: boolean
}

/** Reads the request; otherwise what the page shows. Without scopes it means all that are registered. */
export function readAdminConsent(
  { clients }: MicrosoftGround,
  endpoint: Endpoint,
  query: URLSearchParams,
): AdminConsent | SignInError {
  const clientId = query.get('client_id')
  if (!clientId) return missing('client_id')
  const client = clients.find(endpoint.loginHost, clientId)
  if (!client) return notInDirectory(clientId, endpoint.name)
  const redirectUri = query.get('redirect_uri')
  if (!redirectUri) return missing('redirect_uri')
  if (!isRedirectAllowed(client, redirectUri)) return wrongRedirect(redirectUri, clientId)
  const problem = clientProblem(client, endpoint)
  if (problem) return problem
  const scope = query.get('scope')
  const asked = readAsked(scope ?? '.default', client)
  if ('code' in asked) return asked
  const back: ReturnPlace = { redirectUri, state: query.get('state'), mode: 'query' }
  return { endpoint, client, back, asked, namesScopes: scope !== null }
}

/** Shows the choice of a user. */
export function showAdminConsent(
  context: Context<HostEnv>,
  ground: MicrosoftGround,
  endpoint: Endpoint,
  request: string,
): Page {
  const read = readAdminConsent(ground, endpoint, new URLSearchParams(request))
  if ('code' in read) return showError(context, read)
  context.env.call.clientId = read.client.clientId
  const users = ground.users
    .list()
    .filter(user => user.organization !== null && !userProblem(ground, user, read.client, endpoint))
  return context.html(chooserPage(read.client.name, users, { action: actionOf(endpoint), request }))
}

/** Answers a form of these pages. */
export function answerAdminConsent(
  context: Context<HostEnv>,
  ground: MicrosoftGround,
  endpoint: Endpoint,
  form: URLSearchParams,
): Page {
  const request = form.get('request') ?? ''
  const read = readAdminConsent(ground, endpoint, new URLSearchParams(request))
  if ('code' in read) return showError(context, read)
  const { client, asked } = read
  const user = ground.users.find(form.get('user') ?? '')
  if (!user) return showAdminConsent(context, ground, endpoint, request)
  context.env.call.clientId = client.clientId
  context.env.call.user = user.email
  const problem = adminProblem(ground, user, client, endpoint)
  if (problem) return showError(context, problem)
  const answer = form.get('answer')
  if (answer === null) {
    const permissions = [...permissionsFor(user, client, asked), ...client.applicationPermissions]
    return context.html(
      consentPage(
        { appName: client.name, user, permissions, forAll: 'only' },
        { action: actionOf(endpoint), request },
      ),
    )
  }
  return sendBack(context, answer === 'accept' ? approve(ground, read, user) : decline(ground, read, user))
}

/** Finds the reason why a user may not allow an app for a tenant; null if there is none. */
export function adminProblem(
  ground: MicrosoftGround,
  user: User,
  client: Client,
  endpoint: Endpoint,
): SignInError | null {
  const problem = userProblem(ground, user, client, endpoint)
  if (problem || ground.tenants.isAdministrator(user)) return problem
  return signInError(
    90_093,
    'access_denied',
    'This operation can only be performed by an administrator. Sign out and sign in as an administrator or contact one of your organization’s administrators.',
  )
}

/** Allows the app for the tenant of this administrator. */
export function approve(ground: MicrosoftGround, read: AdminConsent, user: User): Answer {
  const { client, asked, back, namesScopes } = read
  const tenant = ground.tenants.of(user)
  const permissions = permissionsFor(user, client, asked)
  ground.grants.allowForAll(tenant, client, permissions, client.applicationPermissions)
  return {
    back,
    parameters: {
      admin_consent: 'True',
      tenant: tenant.id,
      ...(namesScopes && { scope: presentScopes(permissions, asked, CLOUDS[tenant.cloud]) }),
    },
  }
}

export function decline(ground: MicrosoftGround, { back }: AdminConsent, user: User): Answer {
  const refused = refuse(ground, { problem: DECLINED, back }, 'cancel')
  const { id } = ground.tenants.of(user)
  return { ...refused, parameters: { ...refused.parameters, admin_consent: 'True', tenant: id } }
}

const actionOf = ({ name }: Endpoint): string => `/${encodeURIComponent(name)}/adminconsent/answer`
