import { type RawBuilder, sql } from 'kysely'
import type { Classification, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import { isAfter, type NewestFirst, rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { ownMailbox } from '../mailboxes/store.ts'
import { type SummaryRow, summaryColumns, summaryFields } from './present.ts'
import { windowStart } from './sync-window.ts'

/** A message with the columns that its summary leaves out. */
export interface FullRow extends SummaryRow {
  bcc: Address[]
  reply_to: Address[]
  /** Bytes, as the provider counts them; null if it reports none. */
  size: number | null
  /** Its mailbox is being read again, so its location is not known yet. */
  is_renumbered: boolean
  /** The provider lost this draft, and a copy of ours is kept for a while. */
  is_kept: boolean
  /** The draft of ours that it is, and which of its contents; null for all other messages. */
  draft_id: string | null
  draft_generation: number | null
  /** The provider's id of the draft; null if it has none that lasts. */
  draft_key: string | null
  /** As of `ContentState`; null if its content cannot change under its key. */
  draft_revision: string | null
  /** Grows with each new content under the same id. */
  content_version: number
  /** The send that an inbound message answers. */
  answered_outbox_id: string | null
  classification: Classification | null
}

/** A message of the account; null if the index has none of this id. */
export async function findMessage(db: Db, accountId: string, id: string): Promise<FullRow | null> {
  const { rows } = await sql<FullRow>`
    select ${summaryColumns}, bcc, reply_to, size::float8 as size,
      coalesce(missing_look = 'infinity', false) as is_renumbered,
      coalesce(kept_until > clock_timestamp(), false) as is_kept, draft_id, draft_generation, draft_key, draft_revision,
      content_version, answered_outbox_id, classification
    from message where id = ${id} and account_id = ${accountId}
  `.execute(db)
  return rows[0] ?? null
}

/** The lasting keys of the contents that the index has of these drafts, by the provider's ids of the drafts. */
export async function listContentKeys(
  db: Db,
  accountId: string,
  draftKeys: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ remote_id: string }>`
    select remote_id from message
    where account_id = ${accountId} and draft_key = any(${[...draftKeys]}::text[]) and remote_id is not null
  `.execute(db)
  return rows.map(row => row.remote_id)
}

/** Lists which of the provider's draft ids the index has. */
export async function listHeldDrafts(
  db: Db,
  accountId: string,
  draftKeys: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ draft_key: string }>`
    select draft_key from message where account_id = ${accountId} and draft_key = any(${[...draftKeys]}::text[])
  `.execute(db)
  return rows.map(row => row.draft_key)
}

/** Whether the account has a message under one of the lasting ids, wherever it is. */
export async function holdsAny(db: Db, accountId: string, remoteIds: readonly string[]): Promise<boolean> {
  const { rows } = await sql<{ holds: boolean }>`
    select exists (
      select from message where account_id = ${accountId} and remote_id = any(${[...remoteIds]}::text[])
    ) as holds
  `.execute(db)
  return rows[0]?.holds ?? false
}

/** Filters of a list of messages. */
export interface MessageFilters {
  mailboxId?: string | undefined
  /** Part of the sender's name or address. */
  from?: string | undefined
  /** Part of a name or address in To, Cc or Bcc. */
  to?: string | undefined
  unread?: boolean | undefined
  flagged?: boolean | undefined
  hasAttachments?: boolean | undefined
  importance?: NonNullable<MessageSummary['importance']> | undefined
  /** Included. */
  after?: Date | undefined
  /** Not included. */
  before?: Date | undefined
}

/**
 * Lists the messages of an account within its sync window, newest first, as the JSON texts of their summaries: at least
 * one more than `limit` if there are more. None if the account is not a live account of the tenant.
 */
export async function listSummaries(
  db: Db,
  account: { tenantId: string; id: string },
  list: { filters: MessageFilters; position: NewestFirst | null; limit: number },
): Promise<string[]> {
  const { filters, position, limit } = list
  const { tenantId, id: accountId } = account
  const walk =
    filters.mailboxId === undefined ? walkAccount(accountId) : walkMailbox(accountId, filters.mailboxId)
  const [time, id] = [sql.ref(walk.time), sql.ref(walk.id)]
  const conditions = [
    walk.where,
    sql`${time} >= ${windowStart(accountId, tenantId)}`,
    isAfter(position, walk),
    ...timeConditions(filters, time),
    ...messageConditions(filters),
  ]
  const { rows } = await sql<{ json: string }>`
    select row_to_json(summary)::text as json from (
      select ${summaryFields} from ${walk.from}
      where ${sql.join(conditions, sql` and `)}
      order by ${time} desc, ${id} desc
      limit ${rowsToRead(limit)}
    ) as summary
  `.execute(db)
  return rows.map(row => row.json)
}

interface Walk {
  from: RawBuilder<unknown>
  where: RawBuilder<unknown>
  time: string
  id: string
}

function walkAccount(accountId: string): Walk {
  return {
    from: sql`message`,
    where: sql`message.account_id = ${accountId}`,
    time: 'message.received_at',
    id: 'message.id',
  }
}

/**
 * OFFSET 0 keeps the walk through the mailbox the outer loop, for any estimate of the filters. A mailbox of another
 * account is not walked at all.
 */
function walkMailbox(accountId: string, mailboxId: string): Walk {
  return {
    from: sql`message_mailbox as held cross join lateral (
      select * from message where message.id = held.message_id and message.account_id = ${accountId} offset 0
    ) as message`,
    where: sql`held.mailbox_id = ${ownMailbox(accountId, mailboxId)}`,
    time: 'held.received_at',
    id: 'held.message_id',
  }
}

export function timeConditions(
  { after, before }: MessageFilters,
  time: RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (after) conditions.push(sql`${time} >= ${after}`)
  if (before) conditions.push(sql`${time} < ${before}`)
  return conditions
}

/**
 * `strpos` needs no escapes, and the planner takes `<> 0` for true of nearly every row. It therefore walks the index in
 * order, and does not gather and sort the whole account as it would for a LIKE that it believes to be rare.
 */
export function messageConditions(filters: MessageFilters): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  const { from, to, unread, flagged, hasAttachments, importance } = filters
  if (from !== undefined) conditions.push(sql`strpos(message.sender_text, ${from.toLowerCase()}) <> 0`)
  if (to !== undefined) conditions.push(sql`strpos(message.recipients_text, ${to.toLowerCase()}) <> 0`)
  if (unread !== undefined) conditions.push(sql`message.is_read = ${!unread}`)
  if (flagged !== undefined) conditions.push(sql`message.is_flagged = ${flagged}`)
  if (hasAttachments !== undefined) conditions.push(sql`message.has_attachments = ${hasAttachments}`)
  if (importance !== undefined) conditions.push(sql`message.importance = ${importance}`)
  return conditions
}
