import { oauthProvider } from '@waxwing/contract/shapes.ts'
import type { ConnectFlows } from '../connect-sessions/flows.ts'
import { cookieNameOf } from '../connect-sessions/rules.ts'
import type { FlowCaller } from '../connect-sessions/end.ts'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../../pages/public-route.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { answerEnd, answerPage } from './answers.ts'
import { browserCookie, prefixedName } from '../../../pages/browser-cookie.ts'
import { unknownLinkPage } from './ended-page.ts'
import { ACTIONS } from './flow-view.ts'
import { isFlowOver } from './refusal-texts.ts'
import { showEnd, showFlow } from './show-flow.ts'
import { TAKE } from './take-form.ts'

/** Every field of the form may be as long as its limit, with each byte encoded as three. */
const FORM_BYTES_MAX = 64 * 1024

export interface ConnectPages {
  flows: ConnectFlows
  /** The public URL of the service. */
  baseUrl(): string
}

/** `/connect/{token}`, the pages of a connect flow, and `/connect/callback/{provider}`, to which providers return. */
export function connectRoutes(pages: ConnectPages): PublicRoute[] {
  const unknown = answerPage(404, unknownLinkPage())
  return [
    {
      path: '/connect/{token}',
      isLink: false,
      form: { bytesMax: FORM_BYTES_MAX, origin: () => new URL(pages.baseUrl()).origin },
      unknown,
      serve: request => serveFlow(pages, request),
    },
    {
      path: '/connect/callback/{provider}',
      isLink: false,
      form: null,
      unknown,
      serve: request => serveCallback(pages, request),
    },
  ]
}

async function serveFlow(
  { flows, baseUrl }: ConnectPages,
  request: PublicRequest,
): Promise<PublicAnswer | null> {
  const { token, form } = request
  const flow = await flows.find(token)
  if (!flow) return null
  const end = showEnd(flow)
  if (end) return end
  const opened = { token, flow }
  const action = ACTIONS.find(one => one === form.get('do'))
  if (!action) return showFlow(flows, opened, request.query.get('with'))
  try {
    return await TAKE[action]({ flows, opened, form, caller: callerOf(request), isHttps: isHttps(baseUrl()) })
  } catch (error) {
    if (!(error instanceof Refusal && isFlowOver(error))) throw error
    // Another request ended the flow meanwhile, perhaps with a mailbox.
    const now = await flows.find(token)
    return now && (showEnd(now) ?? showFlow(flows, { token, flow: now }, null))
  }
}

/** Handles the return of a browser from a provider. Unless this browser began the sign-in, nothing changes. */
async function serveCallback(
  { flows, baseUrl }: ConnectPages,
  request: PublicRequest,
): Promise<PublicAnswer | null> {
  const { token: provider, query, method } = request
  if (!oauthProvider.options.some(known => known === provider)) return null
  if (method !== 'GET') return answerEnd({ outcome: 'invalid' })
  const name = cookieNameOf(query.get('state') ?? '')
  const cookie = request.cookie(prefixedName(isHttps(baseUrl()), name))
  const end = await flows.finishCallback({ provider, query, cookie, caller: callerOf(request) })
  const spent = { name, value: '', maxAgeSeconds: 0 }
  return answerEnd(end, { 'set-cookie': browserCookie(isHttps(baseUrl()), spent) })
}

function isHttps(baseUrl: string): boolean {
  return baseUrl.startsWith('https:')
}

function callerOf({ client, userAgent, requestId }: PublicRequest): FlowCaller {
  return { client: client.group, ip: client.address, userAgent, requestId }
}
