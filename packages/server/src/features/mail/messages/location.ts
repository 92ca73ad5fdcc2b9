import { type RawBuilder, sql } from 'kysely'
import { isOneOf } from '../../../database/one-of.ts'
import type { Db } from '../../../database/pool.ts'
import type { Location } from '../../../providers/content.ts'
import type { Cursor, KnownMessage, MessageKey } from '../../../providers/mail.ts'

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

/** The key that the columns of a row hold; null if the message has none now. `uid` may be read as text. */
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

/** The columns of a message's location at the provider; select them with `locationColumns` from `located`. */
export interface LocationRow {
  source: string
  cursor: Cursor | null
  uid: number | null
  remote_id: string | null
  known: KnownMessage
}

export const locationColumns = sql`
  mailbox.source, sync_cursor.cursor, held.uid::float8 as uid, message.remote_id,
  ${knownColumn(sql`sync_cursor.suspected_at is not null`)} as known`

/** A join to `message`: a row for each mailbox in which the provider has it. */
export const located = sql.raw(
  `message_mailbox as held
     on held.message_id = message.id and (held.uid is not null or message.remote_id is not null)
   join mailbox on mailbox.id = held.mailbox_id and mailbox.source is not null
   left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source`,
)

/** A location of a message, and the mailbox that it is in there. */
export interface MessageLocation extends Location {
  messageId: string
  mailboxId: string
}

/**
 * Lists the locations of messages at the provider: one for each mailbox of each message. A message whose location is
 * unknown at the moment has none.
 */
export async function listMessageLocations(
  db: Db,
  accountId: string,
  messageIds: readonly string[],
): Promise<MessageLocation[]> {
  const { rows } = await sql<LocationRow & { message_id: string; mailbox_id: string }>`
    select message.id as message_id, held.mailbox_id, ${locationColumns} from message join ${located}
    where message.account_id = ${accountId} and ${isOneOf('message.id', messageIds)}
    order by message.id, mailbox.path
  `.execute(db)
  return rows.map(({ message_id: messageId, mailbox_id: mailboxId, ...row }) => ({
    messageId,
    mailboxId,
    ...toLocation(row),
  }))
}

/**
 * The locations of messages with the mark of a draft, except one: copies that other clients made of the draft, which
 * are messages of their own.
 */
export async function listDraftCopies(
  db: Db,
  accountId: string,
  { draftId, exceptId }: { draftId: string | null; exceptId: string | null },
): Promise<Location[]> {
  if (draftId === null) return []
  const { rows } = await sql<LocationRow>`
    select ${locationColumns} from message join ${located}
    where message.account_id = ${accountId} and draft_id = ${draftId}
      and message.id is distinct from ${exceptId}::uuid
  `.execute(db)
  return rows.map(toLocation)
}

export function toLocation({ source, cursor, uid, remote_id, known }: LocationRow): Location {
  return { source, cursor, key: keyOf({ uid, remote_id })!, known: remote_id === null ? known : null }
}

/** The marks by which the index recognises the messages of one source, by key. */
export function knownOf(locations: readonly Location[]): Map<MessageKey, KnownMessage> {
  return new Map(locations.flatMap(({ key, known }) => (known ? [[key, known]] : [])))
}

/** The location of a message at the provider; null while it is unknown. */
export async function findLocation(db: Db, accountId: string, messageId: string): Promise<Location | null> {
  const { rows } = await sql<LocationRow>`
    select ${locationColumns} from message join ${located}
    where message.account_id = ${accountId} and message.id = ${messageId} limit 1
  `.execute(db)
  const [row] = rows
  return row ? toLocation(row) : null
}

/** Whether numbers of a source may have been given again. */
export async function isUnderSuspicion(db: Db, accountId: string, source: string): Promise<boolean> {
  const { rows } = await sql`
    select from sync_cursor
    where account_id = ${accountId} and source = ${source} and suspected_at is not null
  `.execute(db)
  return rows.length > 0
}

/**
 * A column with the marks by which the index recognises a row of `message`. @param isSuspect whether the numbers of its
 * source are under suspicion
 */
export function knownColumn(isSuspect: RawBuilder<boolean>): RawBuilder<KnownMessage> {
  return sql`json_build_object('internetMessageId', message.internet_message_id, 'identity', message.identity,
    'subject', message.subject, 'sentAtMs', (extract(epoch from message.sent_at) * 1000)::float8, 'isSuspect', ${isSuspect})`
}
