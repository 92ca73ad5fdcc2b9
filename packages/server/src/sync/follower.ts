import type { Metric } from 'prom-client'
import type { ConnectionPermit } from '../connections/connections.ts'
import type { Nudge } from '../jobs/nudge.ts'
import type { Logger } from '../kit/log.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import type { OwnedAccount } from './ownership.ts'
import type { RuntimeReport } from './report.ts'
import type { StallWatch } from './stall-watch.ts'
import type { Turns } from './turns.ts'

/** One connection to an owned account, and what it takes to follow the account over it. */
export interface Following {
  owned: OwnedAccount
  connected: ConnectedAccount
  /** Whether the connection serves one step at a time, so that others may wait for it. */
  isOneAtATime: boolean
  /** null: the full history. */
  syncWindowDays: number | null
  stall: StallWatch
  permit: ConnectionPermit
  turns: Turns
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
 * Follows one account until the connection is wanted elsewhere or breaks. What it remembers lasts from one connection
 * to the next.
 * @returns whether older data was still to come when the connection was given up
 */
export type Follow = (following: Following) => Promise<'caught_up' | 'more'>

/** An account while this process owns it. Disposing ends what goes on beside following it, before it is released. */
export interface FollowedAccount extends AsyncDisposable {
  follow: Follow
}

/** Follows one kind of data of accounts, such as mail. There is one of each kind in a process. */
export interface Follower {
  /** Called once for each account that this process owns. */
  begin(owned: OwnedAccount): FollowedAccount
  /** Metrics of processes that follow accounts. */
  metrics: readonly Metric[]
}
