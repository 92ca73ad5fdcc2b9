import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import { findMailboxClient } from '../../accounts/grants/mailbox-client.ts'
import type { Db } from '../../database/pool.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { graphAccount } from '../../providers/graph/account.ts'
import { CALLS_WINDOW, GraphGovernor } from '../../providers/graph/governor.ts'
import { SlotsOfMailboxes } from '../../providers/graph/slots-of-mailboxes.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { CLOUDS } from '../../providers/microsoft/clouds.ts'
import { mailboxIdOf } from '../../providers/microsoft/subject.ts'
import type { TokensOf } from '../access-tokens.ts'
import type { ConnectionPermit } from '../connections.ts'
import { type PlanOptions, planSubscription } from './graph-push/plan.ts'
import { graphPushReceivers } from './graph-push/receive.ts'
import { type LeasedSharing, slotTable } from './slot-table.ts'
import type { Kind, ReachedFor, Way } from './kind.ts'
import { sharedUse } from './quota-use.ts'

export interface GraphOptions {
  db: Db
  calls: ProviderCalls
  tokensOf: TokensOf
  /** How mailboxes are subscribed to. */
  subscribing: Omit<PlanOptions, 'db'>
  /** The processes that share the quotas and the slots; this one is alone by default. */
  sharing?: LeasedSharing | undefined
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
  const isAlone = () => sharing?.count === 1
  const slots = new SlotsOfMailboxes(
    sharing
      ? {
          table: slotTable(db, column => sharing.isClaimed(column)),
          isAlone,
          instanceId: () => sharing.instanceId,
          onHeldUp: (name, seconds) => governor.holdUp(name, seconds),
        }
      : null,
  )
  sharing?.onChange(() => {
    if (!isAlone()) slots.giveBackIdle()
  })
  return {
    endpoints: { mail: 'graph' },
    waysTo(_, reachedFor) {
      const reach = { db, calls, governor, slots, tokensOf, subscribing, reachedFor, ...pace }
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
  reachedFor: ReachedFor
  tokensOf: TokensOf
  subscribing: Omit<PlanOptions, 'db'>
}

/** Accounts of a cloud share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

function graphConnector(
  { db, calls, governor, slots, reachedFor, tokensOf, subscribing, pollSeconds, now }: GraphReach,
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
      const client = await findMailboxClient(db, account.id)
      if (!client) throw new ProviderFailure('account_deleted', 'The account was deleted.')
      const mailboxId = mailboxOf(account)
      const name = `${client.clientId} ${cloud.cloud} ${mailboxId}`
      const connected = graphAccount({
        calls,
        tokens,
        quota: governor.quotaOf(name, slots.of(name)),
        cloud,
        mailboxId,
        signal,
        subscriptionPlan: planSubscription({ db, ...subscribing }, account),
        takesSources: bodyStorage === 'full',
        ...(pollSeconds !== undefined && { pollSeconds }),
        ...(now && { now }),
      })
      // Of several accounts that are the same mailbox, one alone has the slot of its follower.
      if (reachedFor === 'calls' || !client.isFirst) return connected
      const followed = slots.follow(name)
      return {
        ...connected,
        async [Symbol.asyncDispose]() {
          await connected[Symbol.asyncDispose]()
          await followed[Symbol.asyncDispose]()
        },
      }
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
