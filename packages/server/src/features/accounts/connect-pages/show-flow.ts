import type { ConnectFlows, ShownFlow } from '../connect-sessions/flows.ts'
import type { OAuthProvider } from '@waxwing/contract/shapes.ts'
import type { PublicAnswer } from '../../../pages/public-route.ts'
import { answerEnd, answerForm, answerPage } from './answers.ts'
import { choicePage } from './choice-page.ts'
import { continuePage } from './continue-page.ts'
import { connectedPage, failedPage } from './ended-page.ts'
import { hasChoice } from './flow-view.ts'
import { fieldsOf } from './imap-form.ts'
import { imapPage } from './imap-page.ts'

/** A flow with the token of its link. */
export interface OpenedFlow {
  token: string
  flow: ShownFlow
}

/** Shows a flow that has ended; null if it goes on. */
export function showEnd({ state, error, tenantName }: ShownFlow): PublicAnswer | null {
  if (state === 'pending') return null
  return state === 'completed'
    ? answerPage(200, connectedPage(tenantName))
    : answerPage(410, failedPage(error ?? 'session_used', tenantName))
}

/** Shows the first page of a flow, or the page that the person chose. */
export async function showFlow(
  flows: ConnectFlows,
  { token, flow }: OpenedFlow,
  chosen: string | null,
): Promise<PublicAnswer> {
  const provider = flow.providers.find(one => one === chosen) ?? onlyProvider(flow)
  if (provider) return showContinue(flows, { token, flow }, { provider, typedEmail: null, isStale: false })
  if (flow.reauthEmail === null)
    return answerForm(200, choicePage(flow, { email: flow.loginHint ?? '', error: null }))
  const page = { fields: fieldsOf(flow.reauthEmail, null), errors: {}, message: null, isOpen: false }
  return answerForm(200, imapPage(flow, page))
}

/** Shows the page that leads to a provider. */
export async function showContinue(
  flows: ConnectFlows,
  { token, flow }: OpenedFlow,
  shown: { provider: OAuthProvider; typedEmail: string | null; isStale: boolean },
): Promise<PublicAnswer> {
  const showing = await flows.showContinue(token, shown.provider)
  if (showing.outcome === 'ended') return answerEnd(showing.end)
  return answerForm(shown.isStale ? 409 : 200, continuePage(flow, { ...shown, ...showing }))
}

function onlyProvider(flow: ShownFlow): OAuthProvider | null {
  return hasChoice(flow) ? null : (flow.providers[0] ?? null)
}
