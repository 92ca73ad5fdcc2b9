import type { AccessTokens } from '../access-tokens.ts'
import type { Capability, Offering } from '../connected-account.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import { GmailApi } from './api.ts'
import { gmailChanging } from './changing/changing.ts'
import { gmailContent } from './content.ts'
import { withListings } from './listings.ts'
import type { UserQuota } from '../google/governor.ts'
import { gmailIdentities } from './identities.ts'
import { gmailMail } from './mail.ts'
import { openPushing, type PushPlan } from './pushing.ts'
import { gmailSearch } from './search.ts'
import { gmailSending } from './sending.ts'

const POLL_SECONDS = 30

export interface GmailAccountOptions {
  calls: ProviderCalls
  tokens: AccessTokens
  quota: UserQuota
  /** Ends all requests under way. */
  signal: AbortSignal
  /** Whether the source of each message is to be kept: then it is fetched once, with the message. */
  takesSources?: boolean
  /** The means by which the mailbox is watched; by default it is only polled. */
  pushPlan?: PushPlan
  /** Whether the user lets the settings of the mailbox be read; by default Gmail decides. */
  readsSettings?: () => Promise<boolean>
  /** Interval of asking whether something happened. */
  pollSeconds?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

/** An account of Gmail. It holds no connection of its own, so any number of callers may use it side by side. */
export function gmailAccount(
  options: GmailAccountOptions,
): Offering<Exclude<Capability, 'sharing' | 'contacts' | 'calendars'>> {
  const { calls, tokens, quota, signal, now = Date.now } = options
  const closing = new AbortController()
  const api = new GmailApi({ calls, tokens, quota, now })
  const connection = withListings({
    api,
    pushing: openPushing(api, options.pushPlan ?? null),
    signal: AbortSignal.any([signal, closing.signal]),
    takesSources: options.takesSources ?? false,
    ignoredLabels: new Set(),
    seenHistoryId: null,
    recordedStates: new Map(),
    behindSince: null,
    counts: new Map(),
    countedAt: null,
  })
  return {
    mail: gmailMail(connection, options.pollSeconds ?? POLL_SECONDS),
    content: gmailContent(connection),
    search: gmailSearch(connection),
    changing: gmailChanging(connection.api),
    sending: gmailSending(connection.api),
    identities: gmailIdentities(connection.api, options.readsSettings ?? (() => Promise.resolve(true))),
    [Symbol.asyncDispose]: async () => closing.abort(),
  }
}
