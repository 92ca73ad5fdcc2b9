import { type RawBuilder, sql } from 'kysely'
import type { KnownMessage, MessageKey } from '../../../providers/mail.ts'

/**
 * The two columns that a message's key is kept in. A number is an IMAP UID, valid within its mailbox: `uid` of
 * `message_mailbox`. A string is the provider's lasting id, unique in the account: `remote_id` of `message`.
 */
export interface KeyColumns {
  uid: number | null
  remote_id: string | null
}

/** @param key null: not known yet */
export function keyColumns(key: MessageKey | null): KeyColumns {
  if (key === null) return { uid: null, remote_id: null }
  return typeof key === 'number' ? { uid: key, remote_id: null } : { uid: null, remote_id: key }
}

/** The key that the columns of a row hold; null where the message has none now. `uid` may be read as text. */
export function keyOf(row: { uid: number | string | null; remote_id: string | null }): MessageKey | null {
  return row.remote_id ?? (row.uid === null ? null : Number(row.uid))
}

/** The keys that are UIDs. */
export function uidsOf(keys: Iterable<MessageKey>): number[] {
  return [...keys].filter(key => typeof key === 'number')
}

/** The keys that are lasting ids. */
export function remoteIdsOf(keys: Iterable<MessageKey>): string[] {
  return [...keys].filter(key => typeof key === 'string')
}

/** What the index knows a row of `message` by. @param isSuspect whether the numbers of its source are under suspicion */
export function knownColumn(isSuspect: RawBuilder<boolean>): RawBuilder<KnownMessage> {
  return sql`json_build_object('internetMessageId', message.internet_message_id, 'identity', message.identity,
    'subject', message.subject, 'sentAtMs', (extract(epoch from message.sent_at) * 1000)::float8, 'isSuspect', ${isSuspect})`
}
