import type { Located, MessageKey, SourceCursor } from '../mail.ts'
import { uidSets } from './compare.ts'
import { FLAGS_AT_ONCE } from './compare-source.ts'
import { readCursor } from './cursor.ts'
import { type TrackedMailboxes, isRenumbered, toUids, wireNameOf } from './follow.ts'
import { flagsOf, streamFlags } from './stream.ts'

/** `MailProvider.locate` on IMAP. */
export async function locate(
  tracked: TrackedMailboxes,
  at: SourceCursor | null,
  keys: readonly MessageKey[],
): Promise<Located> {
  const found: Located['found'] = new Map()
  const nothing: Located = { found, gone: [...keys], unreadable: [] }
  if (!at) return nothing
  const { connection } = tracked
  const { source, cursor: stored } = at
  const opened = await connection.examine(wireNameOf(tracked, source))
  const cursor = readCursor(stored)
  if (cursor && isRenumbered(cursor, opened)) return nothing
  const asked = new Set(toUids(keys))
  for (const { set } of uidSets(
    [...asked].toSorted((a, b) => a - b),
    FLAGS_AT_ONCE,
  )) {
    for await (const batch of streamFlags(connection, flagsOf(set)))
      for (const { uid, flags } of batch) if (asked.has(uid)) found.set(uid, { flags, mailboxKeys: [source] })
  }
  return { found, gone: keys.filter(key => !found.has(key)), unreadable: [] }
}
