import type { GmailApi } from './api.ts'
import type { Pushing } from './pushing.ts'

/** State of one connection to an account. All of it can be requested again. */
export interface GmailConnection {
  api: GmailApi
  /** Ends all requests over this connection. */
  signal: AbortSignal
  /** The notices that Gmail sends of the mailbox. */
  pushing: Pushing
  /** Whether the sources of arriving messages are wanted with them. */
  takesSources: boolean
  /** Ids of the account's system labels that are no mailboxes. */
  ignoredLabels: Set<string>
  /** The history id that the provider last reported. */
  seenHistoryId: string | null
  /**
   * Messages of the present page of the history whose states were looked up, or which were fetched, and recorded, with
   * the id of the last record that is covered by this.
   */
  recordedStates: Map<string, string>
  /** Time since which the provider reports only ids below the cursor's, in milliseconds since 1970. */
  behindSince: number | null
  /** Total and unread messages of labels. */
  counts: Map<string, { total: number; unread: number }>
  /** The history id at which the counts were read. */
  countedAt: string | null
  /** Marks messages as touched: listings under way do not rely on their earlier reading of them. */
  noteTouched(ids: Iterable<string>): void
  /** Ends the listings that bring messages to the index: they begin again. */
  forgetArrivals(): void
}

/** The last step that a listing handed over. It is recorded if the stored cursor has its number. */
export interface Handed {
  step: number
  ids: readonly string[]
}
