import type { AccessTokens } from '../access-tokens.ts'
import type { ConnectedAccount, Offering } from '../connected-account.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { CloudRow } from '../microsoft/clouds.ts'
import { graphChanging } from './changing/changing.ts'
import { graphSending } from './sending.ts'
import { openGraphApi } from './client.ts'
import { graphCalendars } from './calendars/calendars.ts'
import { openCalendarsConnection } from './calendars/calendars-connection.ts'
import { graphContacts } from './contacts/contacts.ts'
import { openContactsConnection } from './contacts/contacts-connection.ts'
import { graphContent } from './content.ts'
import type { MailboxQuota } from './governor.ts'
import type { GraphApi } from './api.ts'
import type { GraphConnection } from './graph-connection.ts'
import { graphMail } from './mail.ts'
import { type GraphObserver, observedApi, observedQuota } from './observed.ts'
import { graphSearch } from './search.ts'
import type { SendPace } from './send-pace.ts'
import { emptySeenState } from './seen-state.ts'
import { sharedMailboxApi } from './shared-mailbox.ts'
import { findInbox, graphSharing } from './sharing.ts'
import { openSubscribing } from './subscribing.ts'
import { POLLED, type SubscriptionPlan } from './subscription.ts'

const POLL_SECONDS = 30

export interface GraphAccountOptions {
  calls: ProviderCalls
  tokens: AccessTokens
  /** The quota of a mailbox, by its id or address. */
  quotaOf(mailboxId: string): MailboxQuota
  cloud: CloudRow
  /** The id of the user, or the address of a shared mailbox. */
  mailboxId: string
  /** Set for a shared mailbox, whose tokens are those of its delegate. */
  shared?: SharedMailboxOptions | null
  /** How the mailbox, its contacts and its calendars are subscribed to; by default they are only polled. */
  subscriptionPlan?: SubscriptionPlan | null
  contactsPlan?: SubscriptionPlan | null
  calendarsPlan?: SubscriptionPlan | null
  /** Counts the calls; by default nothing does. */
  observer?: GraphObserver | undefined
  /** By default the mailbox may send any number of messages. */
  sendPace?: SendPace | undefined
  /** Ends all requests under way. */
  signal: AbortSignal
  /** Whether the source of each message is to be kept. */
  takesSources?: boolean
  /** Interval of looking at the mailbox. */
  pollSeconds?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

export interface SharedMailboxOptions {
  /** The id of its inbox. */
  inboxId: string
  /** The id of the delegate's user. */
  delegateId: string
}

type Opening = Pick<
  GraphAccountOptions,
  'calls' | 'tokens' | 'quotaOf' | 'cloud' | 'mailboxId' | 'observer' | 'signal' | 'now'
>

/** Opens mailboxes by their ids or addresses. */
function openerOf({ calls, tokens, quotaOf, cloud, observer, now = Date.now }: Opening) {
  return (mailboxId: string): GraphApi => {
    const quota = observer ? observedQuota(quotaOf(mailboxId), observer) : quotaOf(mailboxId)
    const opened = openGraphApi({ calls, tokens, quota, cloud, mailboxId, now })
    return observer ? observedApi(opened, observer) : opened
  }
}

/** Finds the id of the inbox of a user. Null if they have no mailbox, or may not open it. Throws `ProviderFailure`. */
export async function findGraphInbox(opening: Opening): Promise<string | null> {
  const { mailboxId, signal } = opening
  return (await findInbox(openerOf(opening)(mailboxId), { signal })).id
}

/** A mailbox of Microsoft Graph. It holds no connection of its own, so any number of callers may use it side by side. */
export function graphAccount(
  options: GraphAccountOptions,
): ConnectedAccount &
  Offering<'mail' | 'content' | 'search' | 'changing' | 'sending' | 'contacts' | 'calendars'> {
  const { tokens, mailboxId, shared = null, signal } = options
  const closing = new AbortController()
  const openMailbox = openerOf(options)
  const own = openMailbox(mailboxId)
  const api = shared ? sharedMailboxApi(own, shared.inboxId) : own
  const subscribingTo = (items: 'messages' | 'contacts' | 'events', plan: SubscriptionPlan | null = null) =>
    plan ? openSubscribing(api, { resource: `users/${mailboxId}/${items}`, plan, tokens }) : POLLED
  const connection: GraphConnection = {
    api,
    signal: AbortSignal.any([signal, closing.signal]),
    takesSources: options.takesSources ?? false,
    subscribing: subscribingTo('messages', options.subscriptionPlan),
    seen: emptySeenState(),
    delegate: shared && openMailbox(shared.delegateId),
  }
  const contacts = openContactsConnection({
    api,
    signal: connection.signal,
    subscribing: subscribingTo('contacts', options.contactsPlan),
  })
  const calendars = openCalendarsConnection({
    api,
    signal: connection.signal,
    subscribing: subscribingTo('events', options.calendarsPlan),
    onCustomZone: () => options.observer?.customZone?.(),
  })
  return {
    mail: graphMail(connection, options.pollSeconds ?? POLL_SECONDS),
    content: graphContent(connection),
    search: graphSearch(connection),
    changing: graphChanging(connection),
    sending: graphSending(connection, options.sendPace),
    contacts: graphContacts(contacts),
    calendars: graphCalendars(calendars),
    ...(!shared && { sharing: graphSharing(openMailbox) }),
    [Symbol.asyncDispose]: async () => closing.abort(),
  }
}
