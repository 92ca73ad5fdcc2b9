import type { ConnectFlows } from '../connect-sessions/flows.ts'
import type { FlowCaller } from '../connect-sessions/end.ts'
import { emailInput } from '@waxwing/contract/shapes.ts'
import type { FoundServers } from '../../../providers/discovery.ts'
import type { PublicAnswer } from '../../../pages/public-route.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { answerEnd, answerForm, answerPage, answerRefused, redirect } from './answers.ts'
import { browserCookie } from '../../../pages/browser-cookie.ts'
import { choicePage } from './choice-page.ts'
import { spentPage } from './ended-page.ts'
import type { Action } from './flow-view.ts'
import { checkImapFields, fieldsOf, type ImapFields, readImapFields } from './imap-form.ts'
import { imapPage } from './imap-page.ts'
import { describeRefusal, isFlowOver } from './refusal-texts.ts'
import { type OpenedFlow, showContinue, showFlow } from './show-flow.ts'

export interface TakenForm {
  flows: ConnectFlows
  opened: OpenedFlow
  form: URLSearchParams
  caller: FlowCaller
  /** Whether people reach the pages by https. */
  isHttps: boolean
}

type Take = (taken: TakenForm) => Promise<PublicAnswer>

/** The function that handles each form of the pages. */
export const TAKE: Readonly<Record<Action, Take>> = {
  find: findProvider,
  continue: beginSignIn,
  connect: connectImap,
  async cancel({ flows, opened: { token }, caller }) {
    return answerEnd(await flows.cancel(token, caller))
  },
}

async function beginSignIn({ flows, opened, form, caller, isHttps }: TakenForm): Promise<PublicAnswer> {
  const { token, flow } = opened
  const provider = flow.providers.find(one => one === form.get('provider'))
  if (!provider) return showFlow(flows, opened, null)
  const typedEmail = emailInput.safeParse(form.get('email')).data ?? null
  const nonce = form.get('nonce') ?? ''
  const begun = await flows.begin(token, { provider, nonce, loginHint: typedEmail, caller })
  if (begun.outcome === 'stale') return showContinue(flows, opened, { provider, typedEmail, isStale: true })
  if (begun.outcome === 'spent') return answerPage(429, spentPage(flow.tenantName))
  if (begun.outcome === 'ended') return answerEnd(begun.end)
  return redirect(begun.authorizeUrl, { 'set-cookie': browserCookie(isHttps, begun.cookie) })
}

/** Finds the provider of an address, and goes on with the way to connect it. */
async function findProvider({ flows, opened, form }: TakenForm): Promise<PublicAnswer> {
  const { token, flow } = opened
  const typed = (form.get('email') ?? '').trim()
  const askAgain = (error: string) => answerForm(422, choicePage(flow, { email: typed, error }))
  if (flow.reauthEmail !== null) return showFlow(flows, opened, null)
  const email = emailInput.safeParse(typed)
  if (!email.success) return askAgain('Enter a full email address, such as ada@example.com.')
  const found = await findServers(flows, token, email.data)
  if (found instanceof Refusal) {
    const isLimited = found.reason === 'rate_limited'
    const error = isLimited ? SEARCHES_SPENT : describeRefusal(found).text
    return answerRefused(found, choicePage(flow, { email: typed, error }))
  }
  const provider = form.get('with') === 'password' ? null : (found?.oauth ?? null)
  if (provider && flow.providers.includes(provider))
    return showContinue(flows, opened, { provider, typedEmail: email.data, isStale: false })
  if (!flow.passwordImap)
    return askAgain('This address cannot be connected with this link. Use another address, or choose below.')
  const message = found
    ? null
    : { text: 'The servers of this address were not found. Enter them below.', isError: false }
  const page = { fields: fieldsOf(email.data, found), errors: {}, message, isOpen: !found }
  return answerForm(200, imapPage(flow, page))
}

const SEARCHES_SPENT = 'Too many addresses were looked up with this link. Ask for a new one.'

/** The servers of an address, null if there are none to be found, or why they cannot be searched for. */
async function findServers(
  flows: ConnectFlows,
  token: string,
  email: string,
): Promise<FoundServers | Refusal | null> {
  try {
    return await flows.findServers(token, email)
  } catch (error) {
    if (!(error instanceof Refusal) || isFlowOver(error)) throw error
    return error.reason === 'autodiscovery_failed' ? null : error
  }
}

async function connectImap({ flows, opened, form, caller }: TakenForm): Promise<PublicAnswer> {
  const { token, flow } = opened
  if (!flow.passwordImap && flow.reauthEmail === null) return showFlow(flows, opened, null)
  const fields: ImapFields = {
    ...readImapFields(form),
    ...(flow.reauthEmail !== null && { email: flow.reauthEmail }),
  }
  const checked = checkImapFields(fields)
  if (checked.outcome === 'invalid')
    return answerForm(422, imapPage(flow, { fields, errors: checked.errors, message: null, isOpen: false }))
  try {
    return answerEnd(await flows.finishImap(token, checked.input, caller))
  } catch (error) {
    if (!(error instanceof Refusal) || isFlowOver(error)) throw error
    const { text, field } = describeRefusal(error)
    const errors = field ? { [field]: text } : {}
    const message = field ? null : { text, isError: true }
    // The words may be the same for every error, so the servers are shown, too.
    return answerRefused(error, imapPage(flow, { fields, errors, message, isOpen: true }))
  }
}
