import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import { findGranted } from '../../accounts/grants/store.ts'
import type { Db } from '../../database/pool.ts'
import type { Sharing } from '../../kit/share.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { graphAccount } from '../../providers/graph/account.ts'
import type { GraphObserver } from '../../providers/graph/observed.ts'
import { graphDeleteSubscription } from '../../providers/graph/delete-subscription.ts'
import { CALLS_WINDOW, GraphGovernor } from '../../providers/graph/governor.ts'
import { SLOTS_MAX, SlotsOfMailboxes } from '../../providers/graph/slots.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { CLOUDS } from '../../providers/microsoft/clouds.ts'
import { mailboxIdOf } from '../../providers/microsoft/subject.ts'
import type { TokensOf } from '../access-tokens.ts'
import type { ConnectionPermit } from '../connections.ts'
import { type PlanOptions, planSubscription } from './graph-push/plan.ts'
import { graphMetrics } from './graph-metrics.ts'
import { graphPushReceivers } from './graph-push/receive.ts'
import type { Kind, Way } from './kind.ts'
import { sharedUse } from './quota-use.ts'

export interface GraphOptions {
  db: Db
  calls: ProviderCalls
  tokensOf: TokensOf
  /** How mailboxes are subscribed to. */
  subscribing: Omit<PlanOptions, 'db'>
  /** The processes that share the quotas; this one is alone by default. */
  sharing?: Sharing | undefined
  pace?: GraphPace | undefined
}

/** Times of following accounts of Microsoft Graph. Tests use shorter ones. */
export interface GraphPace {
  /** Interval of looking at the mailbox. */
  pollSeconds?: number
  /** Milliseconds since 1970. */
  now?: () => number
}

/** Accounts that are read by Microsoft Graph, with a grant of their user. */
export function graphKind({ db, calls, tokensOf, subscribing, sharing, pace = {} }: GraphOptions): Kind {
  const governor = new GraphGovernor({
    sharing: sharing ? { countProcesses: () => sharing.count, use: sharedUse(db, CALLS_WINDOW) } : null,
  })
  const slots = new SlotsOfMailboxes(() => Math.max(1, Math.floor(SLOTS_MAX / (sharing?.count ?? 1))))
  const { all: metrics, observer, countNotification } = graphMetrics()
  return {
    endpoints: { mail: 'graph' },
    metrics,
    waysTo() {
      const reach = { db, calls, governor, slots, observer, tokensOf, subscribing, ...pace }
      return {
        read: account => graphConnector(reach, account),
        send: account => graphConnector(reach, account),
      }
    },
    deleteSubscription: graphDeleteSubscription(calls),
    openPushes: ({ waker, log }) =>
      graphPushReceivers({ db, waker, log, states: subscribing.states, countNotification }),
  }
}

interface GraphReach extends GraphPace {
  db: Db
  calls: ProviderCalls
  governor: GraphGovernor
  slots: SlotsOfMailboxes
  observer: GraphObserver
  tokensOf: TokensOf
  subscribing: Omit<PlanOptions, 'db'>
}

/** Accounts of a cloud share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

function graphConnector(
  { db, calls, governor, slots, observer, tokensOf, subscribing, pollSeconds, now }: GraphReach,
  account: AccountView,
): Way {
  const { syncWindowDays, bodyStorage } = effectiveSettings(account.tenant_settings, account)
  const cloud = CLOUDS[account.cloud ?? 'global']
  const { id, tenant_id: tenantId, delegate_account_id: delegateAccountId } = account
  const tokens = tokensOf({ id, tenantId, delegateAccountId })
  return {
    host: cloud.graph,
    syncWindowDays,
    isOneAtATime: false,
    acquire: () => Promise.resolve(FREE),
    async connect(signal) {
      // Shows that the grant and the OAuth app are good.
      await tokens.get(signal)
      const granted = await findGranted(db, account.id)
      if (!granted) throw new ProviderFailure('account_deleted', 'The account was deleted.')
      const mailboxId = mailboxOf(account)
      const name = `${granted.clientId} ${cloud.cloud} ${mailboxId}`
      return graphAccount({
        calls,
        tokens,
        quota: governor.quotaOf(name, slots.of(name)),
        observer,
        cloud,
        mailboxId,
        signal,
        subscriptionPlan: planSubscription({ db, ...subscribing }, account),
        takesSources: bodyStorage === 'full',
        ...(pollSeconds !== undefined && { pollSeconds }),
        ...(now && { now }),
      })
    },
  }
}

/** The id of the user, or the address of a shared mailbox. */
function mailboxOf({ subject, email, delegate_account_id: delegateId }: AccountView): string {
  if (delegateId !== null) return email
  try {
    return mailboxIdOf(subject ?? '')
  } catch (cause) {
    throw new ProviderFailure('misconfigured', 'The account names no mailbox.', { cause })
  }
}
