import { summarize } from '../../kit/mime/summary.ts'
import type { KnownMessage, MessageKey, RemoteMessage, SourceCursor } from '../mail.ts'
import { readCursor } from './cursor.ts'
import { type FetchPlace, fetchItems, fetchMessages, MESSAGES_PER_FETCH } from './fetch.ts'
import { type TrackedMailboxes, isRenumbered, wireNameOf } from './follow.ts'
import type { Selected } from './open-mailbox.ts'

const atom = (value: string) => ({ type: 'ATOM', value })
const ITEMS = [
  atom('UID'),
  { type: 'ATOM', value: 'BODY.PEEK', section: [atom('HEADER.FIELDS'), [atom('MESSAGE-ID')]] },
]

/** The messages of an open mailbox under UIDs of the index. UIDs that are gone are in none of the three. */
export interface Recognised {
  same: number[]
  /** Other messages, under reused UIDs. */
  others: number[]
  /** Messages that the server does not give. */
  unreadable: number[]
}

/**
 * Compares messages of the open mailbox with their marks in the index. An unexpected Message-ID is believed only if our
 * own parser finds it, too: servers find fields in broken headers differently.
 */
export async function recogniseMessages(
  place: FetchPlace,
  known: ReadonlyMap<number, KnownMessage>,
): Promise<Recognised> {
  const recognised: Recognised = { same: [], others: [], unreadable: [] }
  const uids = [...known.keys()].toSorted((a, b) => a - b)
  const unsure = new Set(uids)
  const named = uids.filter(uid => known.get(uid)!.internetMessageId !== null)
  await fetchItems(place.connection, named, ITEMS, ({ uid, source }) => {
    if (!unsure.has(uid) || !source || !hasMessageId(source, known.get(uid)!)) return
    unsure.delete(uid)
    recognised.same.push(uid)
  })
  const asked = [...unsure]
  for (let at = 0; at < asked.length; at += MESSAGES_PER_FETCH) {
    const { messages, unreadable } = await fetchMessages(place, asked.slice(at, at + MESSAGES_PER_FETCH))
    recognised.unreadable.push(...unreadable.map(({ key }) => key))
    for (const message of messages) {
      const uid = Number(message.key)
      recognised[isSame(known.get(uid)!, message) ? 'same' : 'others'].push(uid)
    }
  }
  return recognised
}

/** Whether a header, or the beginning of a message, has the Message-ID of a message of the index. */
export function hasMessageId(source: Buffer, { internetMessageId }: KnownMessage): boolean {
  return internetMessageId !== null && summarize(source).internetMessageId === internetMessageId
}

/**
 * Whether two messages are the same. Without a Message-ID, fields decide that depend neither on the size nor on the
 * parsing of addresses.
 */
function isSame(
  known: KnownMessage,
  { internetMessageId, identity, subject, sentAt }: RemoteMessage,
): boolean {
  if (known.internetMessageId !== null || internetMessageId !== null)
    return internetMessageId === known.internetMessageId
  if (identity === known.identity) return true
  return subject === known.subject && (sentAt?.getTime() ?? null) === known.sentAtMs
}

/** `MailProvider.findOthers` on IMAP. */
export async function findOthers(
  tracked: TrackedMailboxes,
  { source, cursor: stored }: SourceCursor,
  known: ReadonlyMap<MessageKey, KnownMessage>,
): Promise<MessageKey[]> {
  const { connection } = tracked
  const wireName = wireNameOf(tracked, source)
  const opened = connection.findOpen(wireName) ?? (await connection.examine(wireName))
  const cursor = readCursor(stored)
  // Then all of them are gone.
  if (!cursor || isRenumbered(cursor, opened)) return []
  return (await recogniseMessages(placeOf(tracked, source, opened), numbered(known))).others
}

export function placeOf(
  { connection, suspicions, seeksInvitations }: TrackedMailboxes,
  mailboxKey: string,
  { uidValidity }: Selected,
): FetchPlace {
  return { connection, mailboxKey, uidValidity, suspicions, seeksInvitations }
}

export function numbered<T>(known: ReadonlyMap<MessageKey, T>): Map<number, T> {
  return new Map([...known].flatMap(([key, value]) => (typeof key === 'number' ? [[key, value]] : [])))
}
