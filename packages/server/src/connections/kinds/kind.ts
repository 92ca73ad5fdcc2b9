import type { Metric } from 'prom-client'
import type { HalfKind } from '../../accounts/halves/kind.ts'
import type { ReachedAccount } from '../../accounts/reach.ts'
import type { AccountView } from '../../accounts/row.ts'
import type { Waker } from '../../database/wake.ts'
import type { Logger } from '../../kit/log.ts'
import type { PushReceiver } from '../../kit/push-receiver.ts'
import type { DeleteSubscription } from '../../providers/kept-subscription.ts'
import type { Connector } from '../connections.ts'

/** A connector as a provider makes it: its version is that of the half. */
export type Way = Omit<Connector, 'version'>

/**
 * The reason for which an account is reached: to follow it, which one process does at a time, or for any other calls.
 * Providers limit the calls of all processes together.
 */
export type ReachedFor = 'following' | 'calls'

/** The ways to one account, made for each runner and each shared line. They last over all connections of that one. */
export interface Ways {
  /** Leads to what the account holds of one kind. Throws `ProviderFailure` if its row names no way. */
  read(account: AccountView, half: HalfKind): Way
  /** Leads to what the account sends by; as `read`. */
  send(account: AccountView): Way
}

/** Dependencies of receiving pushes. */
export interface PushTaking {
  waker: Waker
  log: Logger
  /** The address of the service. */
  baseUrl(): string
}

/** A kind of account: how it is reached, how it sends, and which pushes it takes. */
export interface Kind {
  /** Names what each kind of data is read from. Kinds of one name share a connection; those that it lacks are absent. */
  endpoints: Readonly<Partial<Record<HalfKind, string>>>
  /** Counts of its calls and pushes in this process. */
  metrics?: readonly Metric[]
  /** Called once for an account, before its first connection. */
  waysTo(account: Pick<ReachedAccount, 'id' | 'tenantId'>, reachedFor: ReachedFor): Ways
  /** Deletes subscriptions of accounts that are no longer followed. Absent if its accounts have none. */
  deleteSubscription?: DeleteSubscription
  /** Absent if its provider pushes nothing. */
  openPushes?(taking: PushTaking): readonly PushReceiver[]
}
