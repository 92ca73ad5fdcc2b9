import { z } from 'zod'
import type { Cursor } from '../mail.ts'

const uint32 = z.int().min(0).max(0xffff_ffff)

const schema = z.object({
  version: z.literal(1),
  uidValidity: uint32,
  mailboxId: z.string().nullable(),
  /** Every message below it was handed over or lies in the backfill. */
  uidNext: uint32,
  /** Messages with a UID below `uidNext` that were there when the index last matched the mailbox. */
  exists: uint32,
  /** Of these, flags up to here are known; null without mod-sequences. */
  highestModseq: z.string().nullable(),
  /** Unseen messages when the flags were last compared without mod-sequences. */
  unseen: uint32.nullable(),
  /** When they were, in milliseconds since 1970. */
  comparedAt: z.int().min(0),
  /** Messages below it are still to come, newest first; null: none. */
  backfillBelow: uint32.nullable(),
  /** How far back messages are wanted, in milliseconds since 1970; null: all. */
  since: z.int().nullable(),
  /** Backfilled messages older than that lie in a widened part of the window; null: none do. */
  widenedBefore: z.int().nullable(),
})

/** Where following one mailbox stands. */
export type ImapCursor = z.infer<typeof schema>

/** Null where there is none, or none that this version can read: then the mailbox is followed anew. */
export function readCursor(cursor: Cursor | null): ImapCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

/** A mailbox that was never followed, or was renumbered. */
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

/** A cursor whose window was shortened; it stands where it stood. */
export function narrowCursor(cursor: ImapCursor, since: Date): ImapCursor {
  const at = since.getTime()
  if (cursor.since !== null && cursor.since >= at) return cursor
  const widenedBefore = cursor.widenedBefore === null ? null : Math.max(cursor.widenedBefore, at)
  return { ...cursor, since: at, widenedBefore }
}

/** Whether the window of a cursor reaches back as far as that. */
export function reachesBack(cursor: ImapCursor, since: Date | null): boolean {
  return cursor.since === null || (since !== null && cursor.since <= since.getTime())
}
