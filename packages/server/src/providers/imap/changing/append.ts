import type { AddedMessage, NewLocation, NewMessage } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteFlags } from '../../mail.ts'
import { fetchItems } from '../fetch.ts'
import { type TrackedMailboxes, wireNameOf } from '../follow.ts'
import { keywordOf } from '../translate.ts'
import { readAppendUid } from './copy-uid.ts'
import type { Effect } from './effect.ts'
import { findByMessageId } from './find.ts'
import { locationOf, openForReading } from './open-source.ts'

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

const atom = (value: string) => ({ type: 'ATOM', value })

/** `ChangingProvider.addMessage` on IMAP. */
export async function appendMessage(
  tracked: TrackedMailboxes,
  effect: Effect,
  mailboxKey: string,
  message: NewMessage,
): Promise<AddedMessage> {
  const { connection } = tracked
  const bytesMax = connection.limitOf('APPENDLIMIT')
  if (bytesMax !== null && message.byteLength > bytesMax)
    throw new ProviderFailure('rejected', `The server takes messages of at most ${bytesMax} bytes.`)
  const { attributes } = await effect.run({
    name: 'APPEND',
    arguments: [
      wireNameOf(tracked, mailboxKey),
      flagsOf(message.flags).map(atom),
      ...(message.receivedAt ? [formatDateTime(message.receivedAt)] : []),
    ],
    literal: { byteLength: message.byteLength, open: () => message.open() },
  })
  const appended = readAppendUid(attributes)
  const location = appended
    ? locationOf(mailboxKey, appended.uidValidity, appended.uid)
    : await locateAppended(tracked, mailboxKey, message)
  const threadId = await findThread(tracked, mailboxKey, location)
  return { location, mailboxKeys: [mailboxKey], draftKey: null, threadId, message: null }
}

/** The thread that the server put the message into; null if it keeps no threads, or cannot return it now. */
async function findThread(
  tracked: TrackedMailboxes,
  mailboxKey: string,
  location: NewLocation | null,
): Promise<string | null> {
  const { connection } = tracked
  if (!location || !connection.has('OBJECTID')) return null
  try {
    await openForReading(tracked, mailboxKey)
    let found: string | null = null
    await fetchItems(connection, [Number(location.key)], ['UID', 'THREADID'].map(atom), ({ threadId }) => {
      found = threadId
    })
    return found
  } catch (error) {
    if (error instanceof ProviderFailure) return null
    throw error
  }
}

/** Finds an appended message without UIDPLUS: the newest one with the Message-ID and the size. */
async function locateAppended(tracked: TrackedMailboxes, mailboxKey: string, message: NewMessage) {
  try {
    const found = await findByMessageId(tracked, mailboxKey, message.internetMessageId, [])
    return found.find(({ size }) => size === message.byteLength)?.location ?? null
  } catch (error) {
    // The message is there; where, the next sync finds out.
    if (error instanceof ProviderFailure) return null
    throw error
  }
}

function flagsOf({ isRead, isFlagged, isDraft, categories }: RemoteFlags): string[] {
  return [
    ...(isRead ? ['\\Seen'] : []),
    ...(isFlagged ? ['\\Flagged'] : []),
    ...(isDraft ? ['\\Draft'] : []),
    ...categories.map(keywordOf),
  ]
}

/** date-time of RFC 9051 section 9, in UTC. */
function formatDateTime(date: Date): string {
  const day = String(date.getUTCDate()).padStart(2, ' ')
  const time = date.toISOString().slice(11, 19)
  return `${day}-${MONTHS[date.getUTCMonth()]}-${date.getUTCFullYear()} ${time} +0000`
}
