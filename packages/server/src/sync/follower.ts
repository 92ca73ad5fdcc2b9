import type { RawBuilder } from 'kysely'
import type { Metric } from 'prom-client'
import type { ConnectionPermit } from '../connections/connections.ts'
import type { Nudge } from '../processes/nudge.ts'
import type { Logger } from '../kit/log.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import type { FailureReason } from '../providers/failure.ts'
import type { OwnedAccount } from '../accounts/halves/ownership.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { Renewal } from './renewal.ts'
import type { RuntimeReport } from './report.ts'
import type { StallWatch } from './stall-watch.ts'
import type { BulkPermits } from './bulk-permits.ts'

/** One connection to an owned account, and what it takes to follow a half of the account over it. */
export interface FollowedConnection {
  owned: OwnedAccount
  connected: ConnectedAccount
  /** Whether the connection serves one step at a time, so that others may wait for it. */
  isOneAtATime: boolean
  /** null: the full history. */
  syncWindowDays: number | null
  stall: StallWatch
  permit: ConnectionPermit
  /** Says when another connection is to take the place of this one; null if none ever is. */
  renewal: Renewal | null
  bulkPermits: BulkPermits
  nudge: Nudge
  /** Fired when the provider has pushed that something changed. */
  notice: Nudge
  report: RuntimeReport
  pollSeconds: number
  log: Logger
  /** Called when the account is caught up or has come further: the next failure is the first of a row. */
  onProgress(): void
}

/**
 * Follows one half of an account until the connection is wanted elsewhere, is to be renewed, or breaks. Its memory lasts
 * from one connection to the next.
 * @returns whether older data was still to come when the connection was given up. `renewal_due` only between two passes,
 *   if nothing is under way
 */
export type Follow = (connection: FollowedConnection) => Promise<'caught_up' | 'more' | 'renewal_due'>

/** Why a half is not followed for now. */
export interface Rest {
  /** For people. */
  reason: string
  /** When it is looked at again; null: once the account changes. */
  seconds: number | null
  /** The problem of the half for which somebody must change the account. Absent if it is to rest. */
  problem?: FailureReason | 'scope_missing'
}

/** A half of an account that this process owns. Disposing ends what goes on beside following it, before it is released. */
export interface FollowedHalf extends AsyncDisposable {
  follow: Follow
}

/** Follows one kind of data of accounts, such as mail. A process has at most one of each kind. */
export interface Follower {
  /** The half that it follows. */
  kind: HalfKind
  /** Called once for each half of its kind that this process owns. */
  begin(owned: OwnedAccount): FollowedHalf
  /** Called before each connection. Null if the half is to be followed, as halves always are if this is absent. */
  findRest?(owned: OwnedAccount): Promise<Rest | null>
  /** The work that a row of `account` makes, in SQL: 1 of its mail if it has nothing to follow. */
  weight: RawBuilder<number>
  /** Metrics of processes that follow accounts. */
  metrics: readonly Metric[]
}
