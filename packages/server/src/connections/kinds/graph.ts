import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import { findGranted } from '../../accounts/grants/store.ts'
import type { Db } from '../../database/pool.ts'
import type { Sharing } from '../../kit/share.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { graphAccount, type SharedMailboxOptions } from '../../providers/graph/account.ts'
import { CALLS_WINDOW, GraphGovernor } from '../../providers/graph/governor.ts'
import { SLOTS_MAX, SlotsOfMailboxes } from '../../providers/graph/slots.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { CLOUDS } from '../../providers/microsoft/clouds.ts'
import { inboxIdOf, mailboxIdOf } from '../../providers/microsoft/subject.ts'
import type { TokensOf } from '../access-tokens.ts'
import type { ConnectionPermit } from '../connections.ts'
import { type PlanOptions, planSubscription } from './graph-push/plan.ts'
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
  return {
    endpoints: { mail: 'graph' },
    waysTo() {
      const reach = { db, calls, governor, slots, tokensOf, subscribing, ...pace }
      return {
        read: account => graphConnector(reach, account),
        send: account => graphConnector(reach, account),
      }
    },
    openPushes: ({ waker, log }) => graphPushReceivers({ db, waker, log, states: subscribing.states }),
  }
}

interface GraphReach extends GraphPace {
  db: Db
  calls: ProviderCalls
  governor: GraphGovernor
  slots: SlotsOfMailboxes
  tokensOf: TokensOf
  subscribing: Omit<PlanOptions, 'db'>
}

/** Accounts of a cloud share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

function graphConnector(
  { db, calls, governor, slots, tokensOf, subscribing, pollSeconds, now }: GraphReach,
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
      return graphAccount({
        calls,
        tokens,
        quotaOf(mailboxId) {
          const name = `${granted.clientId} ${cloud.cloud} ${mailboxId.toLowerCase()}`
          return governor.quotaOf(name, slots.of(name))
        },
        cloud,
        ...mailboxOf(account, granted.subject),
        signal,
        subscriptionPlan: planSubscription({ db, ...subscribing }, account),
        takesSources: bodyStorage === 'full',
        ...(pollSeconds !== undefined && { pollSeconds }),
        ...(now && { now }),
      })
    },
  }
}

/** The mailbox by its user, or a shared one by its address. */
function mailboxOf(
  { subject, email, delegate_account_id: delegateId }: AccountView,
  grantedBy: string | null,
): { mailboxId: string; shared: SharedMailboxOptions | null } {
  try {
    const userId = mailboxIdOf(grantedBy ?? '')
    if (delegateId === null) return { mailboxId: userId, shared: null }
    return { mailboxId: email, shared: { inboxId: inboxIdOf(subject ?? ''), delegateId: userId } }
  } catch (cause) {
    throw new ProviderFailure('misconfigured', 'The account names no mailbox.', { cause })
  }
}
