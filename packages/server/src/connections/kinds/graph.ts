import type { HalfKind } from '../../accounts/halves/kind.ts'
import type { AccountView } from '../../accounts/row.ts'
import { effectiveSettings } from '../../accounts/settings.ts'
import { findMailboxClient, isFirstOfMailbox } from '../../accounts/grants/mailbox-client.ts'
import type { Db } from '../../database/pool.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { findGraphInbox, graphAccount, type SharedMailboxOptions } from '../../providers/graph/account.ts'
import type { GraphObserver } from '../../providers/graph/observed.ts'
import { graphDeleteSubscription } from '../../providers/graph/delete-subscription.ts'
import { CALLS_WINDOW, GraphGovernor } from '../../providers/graph/governor.ts'
import { SlotsOfMailboxes } from '../../providers/graph/slots-of-mailboxes.ts'
import { type SendPace, SENDS_WINDOW, sendPaceOf } from '../../providers/graph/send-pace.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { CLOUDS } from '../../providers/microsoft/clouds.ts'
import { inboxIdOf, mailboxIdOf, sharedSubjectOf } from '../../providers/microsoft/subject.ts'
import type { TokensOf } from '../access-tokens.ts'
import type { ConnectionPermit } from '../connections.ts'
import { type PlanOptions, planSubscription } from './graph-push/plan.ts'
import { graphMetrics } from './graph-metrics.ts'
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
  const sends = sharedUse(db, SENDS_WINDOW)
  const paceOf = (mailbox: string) => sendPaceOf(mailbox, sends)
  const { all: metrics, observer, countNotification } = graphMetrics()
  return {
    endpoints: { mail: 'graph', calendar: 'graph', contacts: 'graph' },
    metrics,
    waysTo(_, reachedFor) {
      const reach = {
        db,
        calls,
        governor,
        slots,
        paceOf,
        observer,
        tokensOf,
        subscribing,
        reachedFor,
        ...pace,
      }
      return {
        read: (account, half) => graphConnector(reach, account, half),
        send: account => graphConnector(reach, account, 'mail'),
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
  paceOf(mailbox: string): SendPace
  observer: GraphObserver
  reachedFor: ReachedFor
  tokensOf: TokensOf
  subscribing: Omit<PlanOptions, 'db'>
}

/** Accounts of a cloud share the connections to its host, so none of them needs a permit. */
const FREE: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

function graphConnector(
  {
    db,
    calls,
    governor,
    slots,
    paceOf,
    observer,
    reachedFor,
    tokensOf,
    subscribing,
    pollSeconds,
    now,
  }: GraphReach,
  account: AccountView,
  half: HalfKind,
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
      const { mailboxId, shared } = mailboxOf(account, client.subject)
      const ofClient = (name: string) => `${client.clientId} ${cloud.cloud} ${name}`
      const quotaOf = (name: string) => governor.quotaOf(ofClient(name), slots.of(ofClient(name)))
      const opening = { calls, tokens, observer, cloud, mailboxId, signal, ...(now && { now }) }
      const inboxId = shared?.inboxId ?? client.inboxId ?? (await findGraphInbox({ ...opening, quotaOf }))
      const name = inboxId ?? mailboxId
      // A mailbox has one name for everyone who opens it, so that all share its quota and slots.
      const names = new Map([
        ...(shared && client.inboxId !== null ? [[shared.delegateId, client.inboxId] as const] : []),
        [mailboxId, name] as const,
      ])
      // Only the follower of a half keeps its subscription.
      const planOf = (kind: 'calendar' | 'contacts') =>
        half === kind && reachedFor === 'following'
          ? planSubscription({ db, ...subscribing }, account, kind)
          : null
      const connected = graphAccount({
        ...opening,
        quotaOf: opened => quotaOf(names.get(opened) ?? opened.toLowerCase()),
        sendPace: paceOf(`${cloud.cloud} ${name}`),
        shared,
        subscriptionPlan: planSubscription({ db, ...subscribing }, account),
        contactsPlan: planOf('contacts'),
        calendarsPlan: planOf('calendar'),
        takesSources: bodyStorage === 'full',
        ...(pollSeconds !== undefined && { pollSeconds }),
      })
      if (reachedFor === 'calls') return connected
      // Several accounts may be the same mailbox. Only the follower of the oldest one has a slot without borrowing it.
      const inbox = inboxId === null ? null : { id: inboxId, sharedSubject: sharedSubjectOf(inboxId) }
      if (!(await isFirstOfMailbox(db, account.id, inbox))) return connected
      const followed = slots.follow(ofClient(name))
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
