import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { Cursor, ListedMessage, ListedPage, ListOptions, SourceCursor } from '../mail.ts'
import { uidSets } from './compare.ts'
import { FLAGS_AT_ONCE } from './compare-source.ts'
import { readCursor } from './cursor.ts'
import { endOnAbort, type TrackedMailboxes, isRenumbered, rememberChange, wireNameOf } from './follow.ts'
import { SEARCH_CHUNK, searchSequence } from './search.ts'
import { type FetchedFlags, factsOf, streamFlags } from './stream.ts'

const uint32 = z.int().min(0).max(0xffff_ffff)

/** Messages still to be listed have UIDs below `below` and sequence numbers of at most `high`, which only decrease. */
const position = z.object({ below: uint32, high: uint32 })

/** `MailProvider.list` on IMAP: the messages of 10,000 sequence numbers, the newest first. */
export async function listPage(
  tracked: TrackedMailboxes,
  { source, cursor: stored }: SourceCursor,
  { since, after, signal }: ListOptions,
): Promise<ListedPage> {
  using _guard = endOnAbort(tracked, signal)
  const { connection } = tracked
  const wireName = wireNameOf(tracked, source)
  if (!connection.findOpen(wireName)) {
    rememberChange(tracked)
    await connection.examine(wireName)
  }
  const opened = connection.selected
  const cursor = readCursor(stored)
  if (!opened || !cursor || isRenumbered(cursor, opened))
    throw new ProviderFailure('conflict', 'The mailbox was renumbered in the meantime.')

  const at = position.safeParse(after).data ?? { below: cursor.uidNext, high: opened.exists }
  const high = Math.min(at.high, opened.exists)
  if (high === 0 || at.below <= 1) return { messages: [], next: null }
  const low = Math.max(1, high - SEARCH_CHUNK + 1)
  const found = await searchSequence(connection, low, high, { uids: `1:${at.below - 1}`, since })
  const uids = found.filter(uid => uid < at.below)
  const fetched = await fetchFlags(tracked, uids)
  const messages = [...uids].map((uid): ListedMessage => {
    const { flags = null, receivedAt = null, size } = fetched.get(uid) ?? {}
    return { key: uid, flags, mailboxKeys: [source], receivedAt, ...(size !== undefined && { size }) }
  })
  const next: Cursor | null =
    low > 1 ? { below: Math.min(at.below, uids[0] ?? at.below), high: low - 1 } : null
  return { messages: messages.filter(message => isWithin(message, since)), next }
}

async function fetchFlags(
  { connection }: TrackedMailboxes,
  uids: Uint32Array,
): Promise<Map<number, FetchedFlags>> {
  const fetched = new Map<number, FetchedFlags>()
  for (const { set } of uidSets(uids, FLAGS_AT_ONCE)) {
    for await (const batch of streamFlags(connection, factsOf(set)))
      for (const message of batch) fetched.set(message.uid, message)
  }
  return fetched
}

/** SINCE compares only days, so the exact time is checked afterwards. */
function isWithin({ receivedAt }: ListedMessage, since: Date | null): boolean {
  return since === null || receivedAt === null || receivedAt >= since
}
