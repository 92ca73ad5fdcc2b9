import type { MessageSet } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { KnownMessage } from '../../mail.ts'
import type { TrackedMailboxes } from '../follow.ts'
import type { Selected } from '../open-mailbox.ts'
import { numbered, placeOf, recogniseMessages } from '../same-messages.ts'

/**
 * Separates UIDs under which the open source has other messages than the index. A server that comes back from a backup
 * ends its connections, so a recognised message stays so while the mailbox is open.
 * @param isExact whether each message is checked. Otherwise a recognised message vouches for all with lower UIDs, and
 *   messages that came after the mailbox was opened need no check
 * @returns `unreadableCount`: messages that are left out because the server does not identify them. Pass it to
 *   `requireReadable` once the others are done
 */
export async function withoutOthers(
  tracked: TrackedMailboxes,
  { source, known = new Map() }: Pick<MessageSet, 'source' | 'known'>,
  uids: readonly number[],
  { isExact }: { isExact: boolean },
): Promise<{ uids: number[]; others: number[]; unreadableCount: number }> {
  const opened = tracked.connection.selected
  if (!opened) return { uids: [...uids], others: [], unreadableCount: 0 }
  const wanted = numbered(known)
  const asked = new Map(
    uids.flatMap(uid => {
      const message = wanted.get(uid)
      return message && (isExact || mustAsk(opened, uid, message)) ? [[uid, message] as const] : []
    }),
  )
  if (asked.size === 0) return { uids: [...uids], others: [], unreadableCount: 0 }
  const { same, others, unreadable } = await recogniseMessages(placeOf(tracked, source, opened), asked)
  if (others.length > 0) opened.trusted = null
  else if (opened.trusted) opened.trusted.to = Math.max(opened.trusted.to, ...same)
  const left = new Set([...others, ...unreadable])
  return { uids: uids.filter(uid => !left.has(uid)), others, unreadableCount: unreadable.length }
}

/** Throws if messages were left out of a change because the server does not identify them. */
export function requireReadable(count: number): void {
  if (count > 0)
    throw new ProviderFailure(
      'unavailable',
      `The server does not give ${count} of the messages, so they stay as they are.`,
    )
}

function mustAsk({ trusted }: Selected, uid: number, { isSuspect }: KnownMessage): boolean {
  return isSuspect || trusted === null || (uid > trusted.to && uid < trusted.from)
}
