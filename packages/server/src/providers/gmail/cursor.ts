import { z } from 'zod'
import type { Cursor } from '../mail.ts'

const schema = z.object({
  version: z.literal(1),
  /** Everything that happened up to here is recorded, or will be found by the listing that is still to come. */
  historyId: z.string().regex(/^\d{1,20}$/),
  /**
   * The listing that is not complete yet. `first`: all messages of the window. `healing`: the same, with the labels of
   * all known messages, because the history had expired. `widened`: the messages that were received before
   * `listedSince`.
   */
  listing: z.enum(['first', 'healing', 'widened']).nullable(),
  /**
   * The start of the window when it was last listed to its end, in milliseconds since 1970; null for all messages. While
   * the first listing goes on, the window that it lists.
   */
  listedSince: z.int().nullable(),
  /**
   * Time at which the labels of all messages were last listed because the history had expired, in milliseconds since
   * 1970.
   */
  healedAt: z.int().nullable(),
  /** Whether a part of the history is missing and is to be made up for by a listing, as soon as one may begin. */
  hasGap: z.boolean(),
  /** Counts the recorded steps of listings, to find out whether a step that was handed over is among them. */
  step: z.int().default(0),
})

/** The state of following the history of an account. */
export type GmailCursor = z.infer<typeof schema>

/** Between two listings of everything. A history that expires at once must not make the account list for ever. */
const HEALING_INTERVAL_MS = 3_600_000

/** Null if there is none, or none that this version can read: the account is then followed from the beginning. */
export function readCursor(cursor: Cursor | null): GmailCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

export function freshCursor(historyId: string, since: Date | null): GmailCursor {
  return {
    version: 1,
    historyId,
    listing: 'first',
    listedSince: since?.getTime() ?? null,
    healedAt: null,
    hasGap: false,
    step: 0,
  }
}

/** Whether everything may be listed again: at most once an hour, and also after a clock was turned back. */
export function mayHeal({ healedAt }: GmailCursor, now: number): boolean {
  return healedAt === null || now - healedAt >= HEALING_INTERVAL_MS || now < healedAt
}

/** Describes the gap for people, with the time until which it lasts; null if there is none. */
export function describeGap({ hasGap, healedAt }: GmailCursor): string | null {
  if (!hasGap) return null
  const at = new Date((healedAt ?? 0) + HEALING_INTERVAL_MS).toISOString().replace(/:\d\d\.\d+Z/, 'Z')
  return `changes are missing, since the history of Gmail had expired; everything is listed again at ${at}`
}

/** Whether the window of a cursor reaches back that far. */
export function reachesBack({ listedSince }: GmailCursor, since: Date | null): boolean {
  return listedSince === null || (since !== null && listedSince <= since.getTime())
}

export function narrowCursor(cursor: GmailCursor, since: Date): GmailCursor {
  const at = since.getTime()
  return cursor.listedSince !== null && cursor.listedSince >= at ? cursor : { ...cursor, listedSince: at }
}
