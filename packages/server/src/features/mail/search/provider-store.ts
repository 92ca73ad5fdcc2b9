import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { MailboxRole } from '../../../providers/mailbox-role.ts'
import type { MessageKey } from '../../../providers/mail.ts'
import type { SearchHit, SearchPlace } from '../../../providers/search.ts'
import { keyColumns, keyOf, remoteIdsOf, uidsOf } from '../messages/location.ts'
import { summaryFields } from '../messages/present.ts'
import { type MessageFilters, messageConditions } from '../messages/store.ts'

/** A mailbox of the account that its provider can search, by its id. */
export interface SearchedMailbox extends SearchPlace {
  role: MailboxRole
}

/**
 * The mailboxes that a search at the provider covers: the given one, or all except junk and trash. The inbox comes
 * first and then the fullest: if they fill the page, the provider need not search the others.
 */
export async function listSearched(
  db: Db,
  accountId: string,
  mailboxId: string | undefined,
): Promise<SearchedMailbox[]> {
  const chosen: RawBuilder<boolean> =
    mailboxId === undefined ? sql`role not in ('junk', 'trash')` : sql`mailbox.id = ${mailboxId}`
  const { rows } = await sql<SearchedMailbox>`
    select mailbox.id, mailbox.role, mailbox.source, mailbox.provider_key as "mailboxKey", sync_cursor.cursor, mailbox.total_count as size
    from mailbox
    left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source
    where mailbox.account_id = ${accountId} and mailbox.source is not null and ${chosen}
    order by role = 'inbox' desc, total_count desc nulls last, mailbox.id
  `.execute(db)
  return rows
}

/** The times at which the indexed messages of a mailbox were received. */
export async function findReceived(
  db: Db,
  mailboxId: string,
  keys: readonly MessageKey[],
): Promise<Map<MessageKey, Date>> {
  const { rows } = await sql<{ uid: number | null; remote_id: string | null; received_at: Date }>`
    select uid::float8 as uid, null as remote_id, received_at from message_mailbox
    where mailbox_id = ${mailboxId} and uid = any(${uidsOf(keys)}::bigint[])
    union all
    select null, remote_id, message.received_at
    from message join mailbox on mailbox.account_id = message.account_id
    where mailbox.id = ${mailboxId} and remote_id = any(${remoteIdsOf(keys)}::text[])
  `.execute(db)
  return new Map(rows.map(row => [keyOf(row)!, row.received_at]))
}

const toHit = ({ placeId, key }: SearchHit, index: number) => ({
  nth: index + 1,
  mailbox_id: placeId,
  ...keyColumns(key),
})

/** The summaries of indexed hits that pass the filters, as JSON texts by hit. */
export async function findSummaries(
  db: Db,
  accountId: string,
  hits: readonly SearchHit[],
  filters: MessageFilters,
): Promise<Map<SearchHit, string>> {
  if (hits.length === 0) return new Map()
  const conditions = [sql`message.account_id = ${accountId}`, ...messageConditions(filters)]
  const { rows } = await sql<{ nth: number; json: string }>`
    select hit.nth, (select row_to_json(summary)::text from (select ${summaryFields}) as summary) as json
    from json_to_recordset(${JSON.stringify(hits.map(toHit))}::json)
      as hit (nth int, mailbox_id uuid, uid bigint, remote_id text)
    left join message_mailbox as held on held.mailbox_id = hit.mailbox_id and held.uid = hit.uid
    join message on message.id = held.message_id
      or message.account_id = ${accountId} and message.remote_id = hit.remote_id
    where ${sql.join(conditions, sql` and `)}
  `.execute(db)
  return new Map(rows.flatMap(({ nth, json }) => (hits[nth - 1] ? [[hits[nth - 1]!, json] as const] : [])))
}
