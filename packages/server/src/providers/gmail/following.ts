import type { GmailApi } from './api.ts'
import type { Backfill } from './backfill.ts'
import type { Healing } from './healing.ts'
import type { LabelledIds } from './labelled-ids.ts'
import type { Pushing } from './pushing.ts'

/** What one connection to an account remembers. All of it can be asked for again. */
export interface Following {
  api: GmailApi
  /** Ends everything that is asked over this connection. */
  signal: AbortSignal
  /** The notices that Gmail sends of the mailbox. */
  pushing: Pushing
  /** Whether the sources of arriving messages are wanted with them. */
  takesSources: boolean
  /** Ids of the account's system labels that are no mailboxes. */
  ignoredLabels: Set<string>
  /** The history id that the provider told last. */
  seenHistoryId: string | null
  /**
   * Messages of the page of the history at hand whose states were asked for, or which were fetched, and recorded, with the
   * id of the last record that this answers.
   */
  recordedStates: Map<string, string>
  /** Since when the provider tells only ids below that of the cursor, in milliseconds since 1970. */
  behindSince: number | null
  /** Total and unread messages of labels. */
  counts: Map<string, { total: number; unread: number }>
  /** The history id at which the counts were asked for. */
  countedAt: string | null
  /** A listing of messages that the index lacks, and what was fetched of it. */
  backfill: Backfill | null
  /** A listing of all messages with their labels, for the index. */
  healing: Healing | null
  /** The same for a comparison. */
  listed: LabelledIds | null
}

/** The last step that a listing handed over. It is recorded if the stored cursor has its number. */
export interface Handed {
  step: number
  ids: readonly string[]
}

/** Says that something happened to these messages: what was read of them before is no longer true. */
export function noteTouched({ backfill, healing, listed }: Following, ids: Iterable<string>): void {
  for (const id of ids) {
    backfill?.touch(id)
    healing?.touched.add(id)
    listed?.touched.add(id)
  }
}
