import { appendFileSync, closeSync, openSync } from 'node:fs'

/** `ok` took effect, `refused` did nothing, `unknown` may have done either. */
export type Outcome = 'ok' | 'refused' | 'unknown'

/** Times are milliseconds since the epoch, of this machine. `from` is when something began, `at` when it ended. */
interface Timed {
  from: number
  at: number
}

/** A request to the API, once for each time that it was sent. */
export interface RequestEntry extends Timed {
  type: 'request'
  actor: string
  requestId: string
  method: string
  path: string
  /** The status of the answer; null if there was none. */
  status: number | null
  outcome: Outcome
  /** The code of a refusal. */
  code: string | null
  key: string | null
  isReplay: boolean
  /** The id of what was made, if the answer has one. */
  madeId: string | null
  window: WindowCount | null
  mark: Mark | null
  contact: ContactMark | null
  event: EventMark | null
}

/** Headers of an answer about its window of requests. */
export interface WindowCount {
  limit: number
  remaining: number
  resetSeconds: number
}

/** A change to one field of a message that only this actor changes. */
export interface Mark {
  accountId: string
  subject: string
  field: 'isRead' | 'isFlagged'
  value: boolean
}

/** A contact that a request makes or deletes. Only this actor does. */
export interface ContactMark {
  accountId: string
  name: string
}

/** An event of a calendar that a request makes or deletes. Only this actor does. */
export interface EventMark {
  accountId: string
  subject: string
}

/** Events that a reader of the feed was given, from the beginning of the feed on. */
export interface PageEntry extends Timed {
  type: 'page'
  reader: string
  ids: string[]
}

/** A webhook that arrived. The status is null if it was not answered. */
export interface WebhookEntry extends Timed {
  type: 'webhook'
  endpoint: string
  webhookId: string
  eventId: string
  digest: string
  status: number | null
}

/** A connection over which a process followed an account, from its first IDLE until the process closed it. */
export interface SessionEntry extends Timed {
  type: 'session'
  process: string
  user: string
}

/** A stored message that was downloaded, and the digest of what was sent to the mailbox. */
export interface BodyEntry extends Timed {
  type: 'body'
  accountId: string
  subject: string
  digest: string
  sentDigest: string
}

/** An account whose deletion and purge was acknowledged. */
export interface DeletionEntry extends Timed {
  type: 'deletion'
  accountId: string
}

/** Something that the nemesis did. `process` is the one that it was done to. */
export interface FaultEntry extends Timed {
  type: 'fault'
  kind: string
  process: string | null
  about: string
}

export type HistoryEntry =
  | RequestEntry
  | PageEntry
  | WebhookEntry
  | SessionEntry
  | BodyEntry
  | DeletionEntry
  | FaultEntry

/** Everything that happened, in the order in which it ended. */
export interface History extends Disposable {
  readonly entries: readonly HistoryEntry[]
  add(entry: HistoryEntry): void
}

/** Keeps a history in memory and in a file, one line for each entry. */
export function openHistory(file: string): History {
  const entries: HistoryEntry[] = []
  const descriptor = openSync(file, 'a')
  let isOpen = true
  return {
    entries,
    add(entry) {
      // A call that ends while everything is closed does not belong to the run any more.
      if (!isOpen) return
      entries.push(entry)
      appendFileSync(descriptor, `${JSON.stringify(entry)}\n`)
    },
    [Symbol.dispose]() {
      isOpen = false
      closeSync(descriptor)
    },
  }
}

/** The entries of one type. */
export function entriesOf<Type extends HistoryEntry['type']>(
  entries: readonly HistoryEntry[],
  type: Type,
): Array<Extract<HistoryEntry, { type: Type }>> {
  return entries.filter((entry): entry is Extract<HistoryEntry, { type: Type }> => entry.type === type)
}
