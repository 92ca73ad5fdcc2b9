import type { AccessTokens } from '../access-tokens.ts'
import type { ConnectedAccount, Offering } from '../connected-account.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { CloudRow } from '../microsoft/clouds.ts'
import { graphChanging } from './changing/changing.ts'
import { graphSending } from './sending.ts'
import { openGraphApi } from './client.ts'
import { graphContent } from './content.ts'
import type { MailboxQuota } from './governor.ts'
import type { GraphConnection } from './graph-connection.ts'
import { graphMail } from './mail.ts'
import { type GraphObserver, observedApi, observedQuota } from './observed.ts'
import { graphSearch } from './search.ts'
import { emptySeenState } from './seen-state.ts'
import { openSubscribing } from './subscribing.ts'
import { POLLED, type SubscriptionPlan } from './subscription.ts'

const POLL_SECONDS = 30

export interface GraphAccountOptions {
  calls: ProviderCalls
  tokens: AccessTokens
  quota: MailboxQuota
  cloud: CloudRow
  /** The id of the user, or the address of a shared mailbox. */
  mailboxId: string
  /** How the mailbox is subscribed to; by default it is only polled. */
  subscriptionPlan?: SubscriptionPlan | null
  /** Counts the calls; by default nothing does. */
  observer?: GraphObserver | undefined
  /** Ends all requests under way. */
  signal: AbortSignal
  /** Whether the source of each message is to be kept. */
  takesSources?: boolean
  /** Interval of looking at the mailbox. */
  pollSeconds?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

/** A mailbox of Microsoft Graph. It holds no connection of its own, so any number of callers may use it side by side. */
export function graphAccount(
  options: GraphAccountOptions,
): ConnectedAccount & Offering<'mail' | 'content' | 'search' | 'changing' | 'sending'> {
  const { calls, tokens, cloud, mailboxId, signal, observer, now = Date.now } = options
  const closing = new AbortController()
  const quota = observer ? observedQuota(options.quota, observer) : options.quota
  const opened = openGraphApi({ calls, tokens, quota, cloud, mailboxId, now })
  const api = observer ? observedApi(opened, observer) : opened
  const { subscriptionPlan: plan = null } = options
  const connection: GraphConnection = {
    api,
    signal: AbortSignal.any([signal, closing.signal]),
    takesSources: options.takesSources ?? false,
    subscribing: plan ? openSubscribing(api, { mailboxId, plan, tokens }) : POLLED,
    seen: emptySeenState(),
    delegate: null,
  }
  return {
    mail: graphMail(connection, options.pollSeconds ?? POLL_SECONDS),
    content: graphContent(connection),
    search: graphSearch(connection),
    changing: graphChanging(connection),
    sending: graphSending(connection),
    [Symbol.asyncDispose]: async () => closing.abort(),
  }
}
