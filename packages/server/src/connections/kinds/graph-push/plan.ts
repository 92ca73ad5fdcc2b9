import { hash } from 'node:crypto'
import { sql } from 'kysely'
import {
  findSubscription,
  forgetSubscription,
  recordSubscription,
  type SubscribedKind,
} from '../../../accounts/grants/subscriptions.ts'
import { recordPushed } from '../../../accounts/halves/notice.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { Db } from '../../../database/pool.ts'
import type { SubscriptionPlan } from '../../../providers/graph/subscription.ts'
import { type PushBase, pushAddress } from '../push-base.ts'
import { type ClientStates, newNonce } from './client-state.ts'
import { LIFECYCLE_PATH, NOTIFICATION_PATH } from './receive.ts'

export interface PlanOptions {
  db: Db
  states: ClientStates
  base: PushBase
}

/** Characters of a nonce that stand for the address to which its notifications go. */
const MARK_LENGTH = 8

/** How a half of an account is subscribed to. Null: it is only polled, as a shared mailbox or without a public address. */
export function planSubscription(
  { db, states, base }: PlanOptions,
  { id, delegate_account_id: delegateId }: Pick<AccountView, 'id' | 'delegate_account_id'>,
  kind: SubscribedKind = 'mail',
): SubscriptionPlan | null {
  const notificationUrl = pushAddress(base, NOTIFICATION_PATH)
  const lifecycleUrl = pushAddress(base, LIFECYCLE_PATH)
  if (delegateId !== null || notificationUrl === null || lifecycleUrl === null) return null
  const mark = hash('sha256', notificationUrl, 'hex').slice(0, MARK_LENGTH)
  let knownId: string | null = null
  return {
    notificationUrl,
    lifecycleUrl,
    newState() {
      const nonce = mark + newNonce().slice(MARK_LENGTH)
      return { nonce, clientState: states.make({ accountId: id, kind, nonce }) }
    },
    leadsHere: ({ nonce }) => nonce.startsWith(mark),
    async read() {
      const stored = await findSubscription(db, kind, id)
      knownId = stored?.id ?? null
      return stored
    },
    async record(subscription, takenEvent) {
      const isKept = await recordSubscription(db, kind, id, subscription, takenEvent)
      const isNew = subscription.id !== knownId
      knownId = subscription.id
      // Changes since the last look came before there was a subscription, or before it was stored.
      if (isKept && isNew) await recordPushed(db, kind, sql<boolean>`account.id = ${id}`)
      return isKept
    },
    async forget({ nonce }) {
      knownId = null
      await forgetSubscription(db, { accountId: id, kind, nonce })
    },
  }
}
