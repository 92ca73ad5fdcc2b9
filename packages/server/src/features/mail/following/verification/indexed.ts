import { sql } from 'kysely'
import type { Db } from '../../../../database/pool.ts'
import { keyOf, knownColumn, remoteIdsOf, uidsOf } from '../../messages/location.ts'
import type { FollowedSource } from '../../messages/rules.ts'
import type { KnownMessage, MessageKey } from '../../../../providers/mail.ts'
import { FIRST_ID } from '../../../../kit/ids.ts'
import type { Session } from '../session.ts'
import { findCursor } from '../source-store.ts'
import type { Placed } from './differences.ts'

/** A message of the index, with the marks that set it apart from others. */
export interface Indexed extends Placed {
  receivedAt: Date
  size: number | null
  /** Null if its key lasts: then no other message can have it. */
  known: KnownMessage | null
}

interface IndexedRow {
  uid: string | null
  remote_id: string | null
  is_read: boolean
  is_flagged: boolean
  is_draft: boolean
  categories: string[]
  mailbox_ids: string[]
  received_at: Date
  size: number | null
  known: KnownMessage | null
}

const toldBy = sql.raw('message.received_at, size::float8 as size')

/** Finds the indexed messages under keys of a source, without messages that are missing or wait to be recognised. */
export async function findIndexed(
  db: Db,
  accountId: string,
  { source, mailboxes }: FollowedSource,
  keys: readonly MessageKey[],
): Promise<Map<MessageKey, Indexed>> {
  const isSuspect = sql<boolean>`exists (
    select from sync_cursor where account_id = ${accountId} and source = ${source} and suspected_at is not null)`
  const { rows } = await sql<IndexedRow>`
    select held.uid, null as remote_id, is_read, is_flagged, is_draft, categories, array[held.mailbox_id] as mailbox_ids, ${toldBy},
      ${knownColumn(isSuspect)} as known
    from message_mailbox as held join message on message.id = held.message_id
    where held.mailbox_id = any(${mailboxes.map(({ id }) => id)}::uuid[]) and held.uid = any(${uidsOf(keys)}::bigint[])
      and missing_look is null
    union all
    select null, remote_id, is_read, is_flagged, is_draft, categories,
      array(select mailbox_id from message_mailbox where message_id = message.id), ${toldBy}, null
    from message
    where account_id = ${accountId} and remote_id = any(${remoteIdsOf(keys)}::text[]) and missing_look is null
  `.execute(db)
  return new Map(rows.map(row => [keyOf(row)!, indexedOf(row)]))
}

/** Keys among these that last, and whose messages are missing or wait to be recognised: the next pass looks for them. */
export async function findSought(
  db: Db,
  accountId: string,
  keys: readonly MessageKey[],
): Promise<Set<MessageKey>> {
  const remoteIds = remoteIdsOf(keys)
  if (remoteIds.length === 0) return new Set()
  const { rows } = await sql<{ remote_id: string }>`
    select remote_id from message where account_id = ${accountId} and remote_id = any(${remoteIds}::text[])
      and missing_look is not null
  `.execute(db)
  return new Set(rows.map(row => row.remote_id))
}

function indexedOf(row: IndexedRow): Indexed {
  const { is_read: isRead, is_flagged: isFlagged, is_draft: isDraft, categories, size, known } = row
  return {
    flags: { isRead, isFlagged, isDraft, categories },
    mailboxIds: row.mailbox_ids,
    receivedAt: row.received_at,
    size,
    known,
  }
}

/** Finds the indexed messages whose keys belong to other messages at the provider. Lasting keys never do. */
export async function findOthers(
  { db, owned, provider, progressed }: Session,
  { source }: FollowedSource,
  indexed: ReadonlyMap<MessageKey, Pick<Indexed, 'known'>>,
): Promise<Set<MessageKey>> {
  const known = new Map(
    [...indexed].flatMap(([key, here]) => (here.known ? [[key, here.known] as const] : [])),
  )
  if (known.size === 0 || !provider.findOthers) return new Set()
  const cursor = await findCursor(db, owned.id, source)
  const others = await provider.findOthers({ source, cursor }, known)
  progressed()
  return new Set(others)
}

export interface IndexedKey {
  id: string
  key: MessageKey | null
  mailboxId: string
}

/** The last row of a page. */
export interface IndexPosition {
  mailboxId: string
  receivedAt: Date
  messageId: string
}

/** A page of the messages that the index holds in mailboxes, in the order of their rows. */
export async function listIndexedKeys(
  db: Db,
  mailboxIds: readonly string[],
  after: IndexPosition | null,
  limit: number,
): Promise<{ rows: IndexedKey[]; next: IndexPosition | null }> {
  const { rows } = await sql<{
    mailbox_id: string
    received_at: Date
    message_id: string
    uid: string | null
    remote_id: string | null
    is_missing: boolean
  }>`
    select mailbox_id, held.received_at, message_id, uid, remote_id, missing_look is not null as is_missing
    from message_mailbox as held join message on message.id = message_id
    where mailbox_id = any(${mailboxIds}::uuid[])
      and (mailbox_id, held.received_at, message_id) > (
        ${after?.mailboxId ?? FIRST_ID}::uuid, ${after?.receivedAt ?? '-infinity'}::timestamptz,
        ${after?.messageId ?? FIRST_ID}::uuid)
    order by mailbox_id, held.received_at, message_id limit ${limit}
  `.execute(db)
  const last = rows.length === limit ? rows.at(-1) : undefined
  return {
    rows: rows.flatMap(row =>
      row.is_missing ? [] : [{ id: row.message_id, key: keyOf(row), mailboxId: row.mailbox_id }],
    ),
    next: last
      ? { mailboxId: last.mailbox_id, receivedAt: last.received_at, messageId: last.message_id }
      : null,
  }
}
