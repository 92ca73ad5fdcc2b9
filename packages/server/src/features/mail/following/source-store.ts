import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Tables } from '../../../database/tables.ts'
import { requiring } from '../../../database/precondition.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { FollowedSource, PlacedMailbox } from '../messages/rules.ts'
import { roleOf } from '../../../providers/mailbox-role.ts'
import { keyOf, knownColumn, remoteIdsOf, uidsOf } from '../messages/location.ts'
import {
  type Cursor,
  FlagBit,
  type KnownMessage,
  type KnownMessages,
  type MessageKey,
} from '../../../providers/mail.ts'

export async function findCursor(
  db: Kysely<Tables>,
  accountId: string,
  source: string,
): Promise<Cursor | null> {
  const row = await db
    .selectFrom('sync_cursor')
    .select('cursor')
    .where('account_id', '=', accountId)
    .where('source', '=', source)
    .executeTakeFirst()
  // Adapters parse their own cursors; here they are only JSON objects.
  return (row?.cursor ?? null) as Cursor | null
}

/** Stores a cursor if its source is still followed. If that `isRequired`, the transaction fails otherwise: see `isUnmet`. */
export async function storeCursor(
  unit: UnitOfWork,
  { accountId, source, isRequired }: { accountId: string; source: string; isRequired: boolean },
  cursor: Cursor,
): Promise<void> {
  const stored = sql<boolean>`exists (select from stored)`
  const storing = sql`
    with stored as (
      insert into sync_cursor (account_id, source, cursor)
      select ${accountId}::uuid, ${source}, ${JSON.stringify(cursor)}::jsonb
      where exists (select from mailbox where account_id = ${accountId} and mailbox.source = ${source})
      on conflict (account_id, source) do update set cursor = excluded.cursor
      returning true
    )
    select ${isRequired ? requiring(stored) : stored}`
  await executeUnawaited(unit.sql, storing)
}

/** Every cursor of the account, by source. */
export async function listCursors(db: Kysely<Tables>, accountId: string): Promise<Map<string, Cursor>> {
  const rows = await db
    .selectFrom('sync_cursor')
    .select(['source', 'cursor'])
    .where('account_id', '=', accountId)
    .execute()
  return new Map(rows.map(({ source, cursor }) => [source, cursor as Cursor]))
}

export async function dropCursor(unit: UnitOfWork, accountId: string, source: string): Promise<void> {
  await unit.sql
    .deleteFrom('sync_cursor')
    .where('account_id', '=', accountId)
    .where('source', '=', source)
    .execute()
}

/** The sources whose numbers are under suspicion, with when they came under it, as the database writes that. */
export async function listSuspected(db: Kysely<Tables>, accountId: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ source: string; at: string }>`
    select source, suspected_at::text as at from sync_cursor
    where account_id = ${accountId} and suspected_at is not null
  `.execute(db)
  return new Map(rows.map(({ source, at }) => [source, at]))
}

/** Takes a source from under suspicion, unless it came under it again. @param since null: whenever it came under it */
export async function clearSuspicion(
  unit: UnitOfWork,
  accountId: string,
  source: string,
  since: string | null,
): Promise<void> {
  await sql`
    update sync_cursor set suspected_at = null
    where account_id = ${accountId} and source = ${source}
      and suspected_at = coalesce(${since}::timestamptz, suspected_at)
  `.execute(unit.sql)
}

// One row of two arrays: a million messages are two buffers of 4 MB and 1 MB, not a million row objects.
const KNOWN_CHUNK = 20_000

/** Reads the indexed messages of a source whose keys are numbers, ascending by UID. Takes 5 bytes for each message. */
export async function loadKnown(
  db: Kysely<Tables>,
  [mailbox]: readonly PlacedMailbox[],
): Promise<KnownMessages> {
  const keys: Uint32Array[] = []
  const flags: Uint8Array[] = []
  for (let above = 0; ;) {
    const { rows } = await sql<{ uid: string; bits: number }>`
      select uid, is_read::int * ${FlagBit.read}::int + is_flagged::int * ${FlagBit.flagged}::int
        + is_draft::int * ${FlagBit.draft}::int + (categories <> '{}')::int * ${FlagBit.categories}::int as bits
      from message_mailbox as held join message on message.id = held.message_id
      where mailbox_id = ${mailbox?.id ?? null} and uid > ${above} order by uid limit ${KNOWN_CHUNK}
    `.execute(db)
    keys.push(Uint32Array.from(rows, row => Number(row.uid)))
    flags.push(Uint8Array.from(rows, row => row.bits))
    if (rows.length < KNOWN_CHUNK) break
    above = Number(rows.at(-1)?.uid)
  }
  return {
    keys: joined(keys, new Uint32Array(length(keys))),
    flags: joined(flags, new Uint8Array(length(flags))),
  }
}

function length(chunks: ReadonlyArray<{ length: number }>): number {
  return chunks.reduce((sum, chunk) => sum + chunk.length, 0)
}

function joined<T extends Uint32Array | Uint8Array>(chunks: readonly T[], into: T): T {
  let at = 0
  for (const chunk of chunks) {
    into.set(chunk, at)
    at += chunk.length
  }
  return into
}

/** A message of the index that an arrival elsewhere equals: either a copy, or it is moving. */
export interface MoveCandidate {
  source: string
  mailbox: PlacedMailbox
  uid: number
  known: KnownMessage
}

interface MoveCandidateRow {
  source: string
  mailbox_id: string
  key: string
  role: string
  uid: string
  known: KnownMessage
}

const known = sql`${knownColumn(sql`false`)} as known`

/**
 * Finds indexed messages that equal one of these, with their locations, except for messages at the location of an
 * arrival.
 */
export function findingMoveCandidates(
  accountId: string,
  mailboxId: string | null,
  arrivals: ReadonlyArray<{ identity: string; uid: number }>,
): RawBuilder<MoveCandidateRow> {
  return sql`
    select mailbox.source, held.mailbox_id, mailbox.provider_key as key, mailbox.role, held.uid, ${known}
    from message
    join message_mailbox as held on held.message_id = message.id
    join mailbox on mailbox.id = held.mailbox_id
    where message.account_id = ${accountId} and identity = any(${arrivals.map(({ identity }) => identity)}::uuid[]) and missing_look is null
      and held.uid is not null
      and not (held.mailbox_id = ${mailboxId} and held.uid = any(${arrivals.map(({ uid }) => uid)}::bigint[])) and mailbox.source is not null`
}

export function toMoveCandidate(row: MoveCandidateRow): MoveCandidate {
  const { source, mailbox_id: id, key, role, uid } = row
  return { source, mailbox: { id, key, role: roleOf(role) }, uid: Number(uid), known: row.known }
}

/** Drafts of a mailbox that arrivals in it may replace: they have the same Message-ID. */
export async function findReplacedDrafts(
  db: Kysely<Tables>,
  { source }: FollowedSource,
  mailbox: PlacedMailbox,
  arrivals: ReadonlyArray<{ uid: number; internetMessageId: string | null }>,
): Promise<MoveCandidate[]> {
  const { rows } = await sql<{ uid: string; known: KnownMessage }>`
    select held.uid, ${known} from message_mailbox as held join message on message.id = held.message_id
    where held.mailbox_id = ${mailbox.id} and held.uid is not null and missing_look is null
      and not held.uid = any(${arrivals.map(({ uid }) => uid)}::bigint[])
      and internet_message_id = any(${arrivals.map(arrival => arrival.internetMessageId)}::text[])
  `.execute(db)
  return rows.map(row => ({ source, mailbox, uid: Number(row.uid), known: row.known }))
}

/** Counts the messages of these mailboxes that have not been recognised since their source was reset. */
export async function countUnrecognised(
  db: Kysely<Tables>,
  accountId: string,
  mailboxIds: readonly string[],
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from message
    where account_id = ${accountId} and missing_look = 'infinity' and mailbox_ids && ${mailboxIds}::uuid[]
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Up to `limit` lasting ids of messages that are missing, without some of them, in a stable order. */
export async function listMissing(
  db: Kysely<Tables>,
  accountId: string,
  without: readonly string[],
  limit: number,
): Promise<string[]> {
  const { rows } = await sql<{ remote_id: string }>`
    select remote_id from message
    where account_id = ${accountId} and missing_look < 'infinity' and remote_id is not null
      and remote_id <> all(${[...without]}::text[])
    order by id limit ${limit}
  `.execute(db)
  return rows.map(row => row.remote_id)
}

/** Counts the messages of these mailboxes, each once. */
export async function countMessages(db: Kysely<Tables>, mailboxIds: readonly string[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(distinct message_id)::int as count from message_mailbox where mailbox_id = any(${mailboxIds}::uuid[])
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** Returns the keys under which the index holds no message. UIDs are those of the mailbox. */
export async function listUnindexed(
  db: Kysely<Tables>,
  accountId: string,
  mailboxes: readonly PlacedMailbox[],
  keys: readonly MessageKey[],
): Promise<MessageKey[]> {
  if (keys.length === 0) return []
  const { rows } = await sql<{ uid: string | null; remote_id: string | null }>`
    select uid, null as remote_id from message_mailbox
    where mailbox_id = any(${mailboxes.map(({ id }) => id)}::uuid[]) and uid = any(${uidsOf(keys)}::bigint[])
    union all
    select null, remote_id from message
    where account_id = ${accountId} and remote_id = any(${remoteIdsOf(keys)}::text[])
  `.execute(db)
  const indexed = new Set(rows.map(keyOf))
  return keys.filter(key => !indexed.has(key))
}
