import type { MessageKey } from '../mail.ts'
import type { ImapConnection } from './connection.ts'
import type { Selected } from './open-mailbox.ts'
import { freshCursor, type ImapCursor } from './cursor.ts'
import type { MailboxIds } from './list.ts'
import { encodeMailboxName } from './names.ts'
import type { Notifications } from './notifications.ts'
import { searchSequence } from './search.ts'
import type { Suspicions } from './suspicions.ts'

/**
 * The position of the backfill of a mailbox: the messages below `below` have sequence numbers of at most `high`.
 */
export interface BackfillPosition {
  uidValidity: number
  below: number
  high: number
}

/** Counters of a mailbox that show whether it has changed since it was compared. */
export type Compared = Readonly<Pick<Selected, 'uidValidity' | 'uidNext' | 'exists' | 'highestModseq'>>

/** The state that one connection keeps about the mailboxes of its account. */
export interface TrackedMailboxes {
  connection: ImapConnection
  hasQresync: boolean
  suspicions: Suspicions
  /** Whether somebody reads invitations among new messages. */
  seeksInvitations: boolean
  notifications: Notifications
  /** Names on the wire by mailbox key, from the last list. */
  wireNames: Map<string, string>
  mailboxIds: MailboxIds
  /** Numbers of unseen messages, from the last list. */
  listedUnseen: Map<string, number>
  /** Mailboxes whose flags changed, according to the server, since they were compared. */
  dirty: Set<string>
  /** The state of mailboxes when they were last compared. */
  compared: Map<string, Compared>
  positions: Map<string, BackfillPosition>
  /** The name on the wire of the mailbox that is watched between passes. */
  watched: string | null
  /** The mailbox that was watched until now without news. */
  quiet: Selected | null
  /** Listings in a row for which the open mailbox was not left. */
  stays: number
  now(): number
}

export function wireNameOf(tracked: TrackedMailboxes, source: string): string {
  return tracked.wireNames.get(source) ?? encodeMailboxName(source)
}

export function rememberCompared({ compared }: TrackedMailboxes, source: string, opened: Selected): void {
  const { uidValidity, uidNext, exists, highestModseq } = opened
  compared.set(source, { uidValidity, uidNext, exists, highestModseq })
}

/** Keeps the server's reports about the open mailbox, in case it is left before they are read. */
export function rememberChange(tracked: TrackedMailboxes): void {
  const { connection, wireNames, dirty, notifications } = tracked
  const { selected } = connection
  if (!selected) return
  const { arrived, changed, gone } = connection.takeNotice()
  const isWatched = selected.wireName === tracked.watched
  if (!isWatched && (arrived || changed || gone)) notifications.left(selected.wireName)
  if (!changed) return
  for (const [key, wireName] of wireNames) if (wireName === selected.wireName) dirty.add(key)
}

/** Whether a cursor belongs to another mailbox than the opened one, or to one that was renumbered. */
export function isRenumbered(cursor: ImapCursor, opened: Selected): boolean {
  if (cursor.uidValidity !== opened.uidValidity) return true
  return cursor.mailboxId !== null && opened.mailboxId !== null && cursor.mailboxId !== opened.mailboxId
}

/** A lower bound for the UID of the next message; requested explicitly if the server does not report it. */
async function uidNextOf(connection: ImapConnection, opened: Selected): Promise<number> {
  if (opened.uidNext !== null) return opened.uidNext
  if (opened.exists === 0) return 1
  const [last] = await searchSequence(connection, opened.exists, opened.exists)
  return (last ?? 0) + 1
}

/** The cursor of a mailbox that was never followed, or was renumbered. */
export async function startCursor(
  { connection, listedUnseen, now }: TrackedMailboxes,
  source: string,
  opened: Selected,
  since: Date | null,
): Promise<ImapCursor> {
  const unseen = listedUnseen.get(source) ?? null
  return freshCursor(opened, { uidNext: await uidNextOf(connection, opened), unseen, since, now: now() })
}

/** Ends the connection when the signal aborts: an IMAP command cannot be cancelled. */
export function endOnAbort({ connection }: TrackedMailboxes, signal: AbortSignal): Disposable {
  const close = () => connection.close()
  if (signal.aborted) close()
  else signal.addEventListener('abort', close, { once: true })
  return { [Symbol.dispose]: () => signal.removeEventListener('abort', close) }
}

export function toUids(keys: Iterable<MessageKey>): number[] {
  return [...keys].filter(key => typeof key === 'number')
}
