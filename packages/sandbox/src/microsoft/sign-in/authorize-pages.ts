import type { Context } from 'hono'
import type { HostEnv } from '../../hosting/host-app.ts'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import {
  ADMINISTRATOR_NEEDED,
  allow,
  allowForAll,
  type Answer,
  type Authorization,
  DECLINED,
  readAuthorization,
  refuse,
  urlOf,
} from './authorization.ts'
import { type Endpoint, userProblem } from './endpoint.ts'
import { signInError, type SignInError } from './errors.ts'
import { approvalPage, chooserPage, consentPage, errorPage, formPostPage } from './pages.ts'
import { consentNeeded, permissionsFor } from './permissions.ts'

type HostContext = Context<HostEnv>
type Page = Response | Promise<Response>

/** Shows the first page that a request to the authorization endpoint needs. */
export function showAuthorization(
  context: HostContext,
  ground: MicrosoftGround,
  endpoint: Endpoint,
  request: string,
): Page {
  return resume(context, ground, endpoint, request, authorization => {
    const { loginHint, prompt } = authorization
    const user = loginHint === null ? null : findHinted(ground, loginHint)
    if (prompt === 'none') return answerSilently(context, ground, authorization, user)
    if (!user || prompt === 'select_account') return choose(context, ground, authorization, request)
    return proceed(context, ground, authorization, user, request)
  })
}

/** Answers the form of a page. */
export function answerPage(
  context: HostContext,
  ground: MicrosoftGround,
  endpoint: Endpoint,
  form: URLSearchParams,
): Page {
  const request = form.get('request') ?? ''
  return resume(context, ground, endpoint, request, authorization => {
    const user = ground.users.find(form.get('user') ?? '')
    const answer = form.get('answer')
    if (!user) return choose(context, ground, authorization, request)
    if (answer === null) return proceed(context, ground, authorization, user, request)
    const { back, client, asked } = authorization
    if (answer === 'return')
      return sendBack(context, refuse(ground, { problem: ADMINISTRATOR_NEEDED, back }, 'cancel'))
    if (answer === 'cancel') return sendBack(context, refuse(ground, { problem: DECLINED, back }, 'cancel'))
    const problem = userProblem(ground, user, client, endpoint)
    if (problem) return showError(context, problem)
    if (consentNeeded(ground, user, client, asked) === 'administrator')
      return proceed(context, ground, authorization, user, request)
    const isForAll = form.get('forAll') === '1' && ground.tenants.isAdministrator(user)
    return sendBack(
      context,
      isForAll ? allowForAll(ground, authorization, user) : allow(ground, authorization, user),
    )
  })
}

/** Reads the authorization request again, which each form carries along. */
function resume(
  context: HostContext,
  ground: MicrosoftGround,
  endpoint: Endpoint,
  request: string,
  then: (authorization: Authorization) => Page,
): Page {
  const read = readAuthorization(ground, endpoint, new URLSearchParams(request))
  if ('problem' in read)
    return read.back
      ? sendBack(context, refuse(ground, { problem: read.problem, back: read.back }))
      : showError(context, read.problem)
  context.env.call.clientId = read.client.clientId
  return then(read)
}

function choose(
  context: HostContext,
  ground: MicrosoftGround,
  { client, endpoint }: Authorization,
  request: string,
): Page {
  const users = ground.users.list().filter(user => !userProblem(ground, user, client, endpoint))
  return context.html(chooserPage(client.name, users, { action: actionOf(endpoint), request }))
}

function proceed(
  context: HostContext,
  ground: MicrosoftGround,
  authorization: Authorization,
  user: User,
  request: string,
): Page {
  const { client, endpoint, asked, prompt } = authorization
  context.env.call.user = user.email
  const problem = userProblem(ground, user, client, endpoint)
  if (problem) return showError(context, problem)
  const needed = consentNeeded(ground, user, client, asked)
  const step = { action: actionOf(endpoint), request }
  if (needed === 'administrator') return context.html(approvalPage(client.name, user, step))
  if (needed === 'none' && prompt !== 'consent') return sendBack(context, allow(ground, authorization, user))
  const forAll = ground.tenants.isAdministrator(user) ? 'offered' : 'no'
  const permissions = permissionsFor(user, client, asked)
  return context.html(consentPage({ appName: client.name, user, permissions, forAll }, step))
}

function answerSilently(
  context: HostContext,
  ground: MicrosoftGround,
  authorization: Authorization,
  user: User | null,
): Page {
  const { back, client, endpoint, asked } = authorization
  const problem = user ? userProblem(ground, user, client, endpoint) : NOT_SIGNED_IN
  if (!user || problem) return sendBack(context, refuse(ground, { problem: problem ?? NOT_SIGNED_IN, back }))
  return sendBack(
    context,
    consentNeeded(ground, user, client, asked) === 'none'
      ? allow(ground, authorization, user)
      : refuse(ground, { problem: CONSENT_NEEDED, back }),
  )
}

const NOT_SIGNED_IN = signInError(
  50_058,
  'login_required',
  'A silent sign-in request was sent but no user is signed in.',
)

export const CONSENT_NEEDED = signInError(
  65_001,
  'consent_required',
  'The user or administrator has not consented to use the application. Send an interactive authorization request for this user and resource.',
)

/** Sends the browser back to the client with an answer, in the way that the request asked for. */
export function sendBack(context: HostContext, answer: Answer): Page {
  return answer.back.mode === 'form_post'
    ? context.html(formPostPage(answer))
    : context.redirect(urlOf(answer))
}

export const showError = (context: HostContext, problem: SignInError): Page =>
  context.html(errorPage(problem), problem.error === 'unauthorized_client' ? 401 : 400)

/** Hints are addresses, or ids of users. */
const findHinted = ({ users }: MicrosoftGround, hint: string): User | null =>
  users.find(hint) ?? users.findById(hint)

const actionOf = ({ name }: Endpoint): string => `/${encodeURIComponent(name)}/signin`
