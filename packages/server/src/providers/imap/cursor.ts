import { z } from 'zod'
import type { Cursor } from '../mail.ts'

const uint32 = z.int().min(0).max(0xffff_ffff)

const schema = z.object({
  version: z.literal(1),
  uidValidity: uint32,
  mailboxId: z.string().nullable(),
  /** Every message below it was yielded or is in the backfill. */
  uidNext: uint32,
  /** Messages with a UID below `uidNext` that were there when the index last matched the mailbox. */
  exists: uint32,
  /** Flags of these messages are known up to here; null without mod-sequences. */
  highestModseq: z.string().nullable(),
  /** Unseen messages when the flags were last compared without mod-sequences. */
  unseen: uint32.nullable(),
  /** The time of that comparison, in milliseconds since 1970. */
  comparedAt: z.int().min(0),
  /** Messages below it are still to come, newest first; null if there are none. */
  backfillBelow: uint32.nullable(),
  /** The start of the window, in milliseconds since 1970; null for all messages. */
  since: z.int().nullable(),
  /** Backfilled messages older than this are in a widened part of the window; null if none are. */
  widenedBefore: z.int().nullable(),
})

/** The state of following one mailbox. */
export type ImapCursor = z.infer<typeof schema>

/**
 * Null if there is none, or none that this version can read: the mailbox is then followed from the beginning.
 */
export function readCursor(cursor: Cursor | null): ImapCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

/** The cursor for a mailbox that was never followed, or was renumbered. */
export function freshCursor(
  mailbox: { uidValidity: number; mailboxId: string | null; exists: number; highestModseq: string | null },
  {
    uidNext,
    unseen,
    since,
    now,
  }: { uidNext: number; unseen: number | null; since: Date | null; now: number },
): ImapCursor {
  return {
    version: 1,
    uidValidity: mailbox.uidValidity,
    mailboxId: mailbox.mailboxId,
    uidNext,
    exists: mailbox.exists,
    highestModseq: mailbox.highestModseq,
    unseen,
    comparedAt: now,
    backfillBelow: mailbox.exists === 0 ? null : uidNext,
    since: since ? since.getTime() : null,
    widenedBefore: null,
  }
}

/** The cursor for a mailbox that was never followed, as of before one of its messages was added. */
export function cursorAt(uidValidity: number, uid: number): ImapCursor {
  const mailbox = { uidValidity, mailboxId: null, exists: 0, highestModseq: null }
  const cursor = freshCursor(mailbox, { uidNext: uid, unseen: null, since: null, now: 0 })
  // How many messages lie below is not known.
  return { ...cursor, backfillBelow: uid }
}

/** Counters of a mailbox, from SELECT or STATUS. */
export interface MailboxCounters {
  uidNext: number | null
  highestModseq: string | null
}

/**
 * Whether a mailbox is as it was before its cursor: neither the next UID (RFC 9051 section 2.3.1.1) nor mod-sequences (RFC
 * 7162 section 3.1.2.2) ever decrease. The server was restored from a backup, has made its index again, or the cursor is wrong.
 */
export function isRewound(cursor: ImapCursor, now: MailboxCounters): boolean {
  return hasLowerUidNext(cursor, now) || hasLowerModseq(cursor, now)
}

export function hasLowerUidNext(cursor: ImapCursor, { uidNext }: MailboxCounters): boolean {
  return uidNext !== null && uidNext < cursor.uidNext
}

function hasLowerModseq(cursor: ImapCursor, { highestModseq }: MailboxCounters): boolean {
  if (cursor.highestModseq === null || highestModseq === null) return false
  return BigInt(highestModseq) < BigInt(cursor.highestModseq)
}

/** The same cursor with a shorter window. */
export function narrowCursor(cursor: ImapCursor, since: Date): ImapCursor {
  const at = since.getTime()
  if (cursor.since !== null && cursor.since >= at) return cursor
  const widenedBefore = cursor.widenedBefore === null ? null : Math.max(cursor.widenedBefore, at)
  return { ...cursor, since: at, widenedBefore }
}

/** Whether the window of a cursor reaches back that far. */
export function reachesBack(cursor: ImapCursor, since: Date | null): boolean {
  return cursor.since === null || (since !== null && cursor.since <= since.getTime())
}
