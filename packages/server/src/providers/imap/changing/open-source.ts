import type { NewLocation } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { Cursor, MessageKey, SourceCursor } from '../../mail.ts'
import { cursorAt, isRewound, readCursor } from '../cursor.ts'
import { type TrackedMailboxes, isRenumbered, rememberChange, toUids, wireNameOf } from '../follow.ts'
import type { Selected } from '../open-mailbox.ts'

/**
 * Opens a source for changing it, if it is not open already, and makes sure that it has the numbering of its cursor. A
 * source without a cursor is about to be read from the beginning: the numbering of its keys is unknown.
 * @param isFresh whether news are requested first: a server ignores messages that it has not reported to this session
 *   yet (RFC 9051 section 7.4.1)
 */
export async function openSource(
  tracked: TrackedMailboxes,
  at: SourceCursor,
  { isFresh = true } = {},
): Promise<{ opened: Selected; wasOpen: boolean }> {
  const { connection } = tracked
  const wireName = wireNameOf(tracked, at.source)
  const wasOpen = connection.findOpen(wireName)?.isWritable === true
  if (!wasOpen) {
    rememberChange(tracked)
    await connection.select(wireName)
  } else if (isFresh) {
    await connection.run({ name: 'NOOP' })
    await connection.reopenIfEmptied()
  }
  const opened = connection.selected
  if (!opened?.isWritable)
    throw new ProviderFailure('forbidden', 'The server allows only reading in this mailbox.')
  const cursor = readCursor(at.cursor)
  if (!cursor || isRenumbered(cursor, opened))
    throw new ProviderFailure('unavailable', 'The mailbox is being read again.')
  if (!wasOpen && !isRewound(cursor, opened))
    opened.trusted = { to: 0, from: opened.uidNext ?? Number.POSITIVE_INFINITY }
  return { opened, wasOpen }
}

/** Opens a mailbox for reading, or for changing if it is open for that, with all its messages. */
export async function openForReading(tracked: TrackedMailboxes, mailboxKey: string): Promise<Selected> {
  const { connection } = tracked
  const wireName = wireNameOf(tracked, mailboxKey)
  if (connection.findOpen(wireName)) await connection.run({ name: 'NOOP' })
  const open = connection.findOpen(wireName)
  if (open) return open
  rememberChange(tracked)
  return connection.examine(wireName)
}

/** The key of a message in the numbering of its source. */
export function locationOf(source: string, uidValidity: number, key: number): NewLocation {
  return {
    source,
    key,
    isValidUnder(stored: Cursor | null) {
      const cursor = readCursor(stored)
      return cursor === null || cursor.uidValidity === uidValidity
    },
    firstCursor: cursorAt(uidValidity, key),
  }
}

/** UIDs of keys, ascending, each once. */
export function uidsOf(keys: readonly MessageKey[]): number[] {
  return [...new Set(toUids(keys))].toSorted((a, b) => a - b)
}

export function isKept({ permanentFlags }: Selected, flag: string): boolean {
  if (permanentFlags === null || permanentFlags.has(flag.toLowerCase())) return true
  // RFC 9051 section 7.1: `\*` allows any keyword.
  return !flag.startsWith('\\') && permanentFlags.has('\\*')
}
