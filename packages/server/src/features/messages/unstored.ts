import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { Cursor } from '../../providers/provider.ts'
import type { AccountView } from '../accounts/account.ts'
import { findAccountView } from '../accounts/store.ts'
import type { SourceRow } from './source.ts'
import { STORED_BYTES_MAX } from './stored-source.ts'

/** Octets of messages that are fetched at once: so much of an account is in memory, and again of each batch that is stored. */
export const BATCH_BYTES_MAX = 1024 * 1024
export const BATCH_MESSAGES_MAX = 100
/** One statement walks over so many messages; where nearly all are stored, many statements follow. */
const LOOKED_AT_MAX = 5000

/** A message without stored content, and where the provider has it. */
export interface UnstoredMessage extends SourceRow {
  received_at: Date
  source: string
  cursor: Cursor | null
  key: number
}

/** A walk through the messages of an account, newest first. */
export interface Look {
  /** The id that messages are made with from then on; null: all messages. */
  since: string | null
  /** Goes on below it; null: from the newest on. */
  below: { receivedAt: Date; id: string } | null
}

export interface FullAccount {
  id: string
  tenant_id: string
  /** Changes with the settings of the account. */
  version: string
}

/** Accounts that store every message, can be reached, and whose first sync is complete. `ids`: only of these. */
export async function listFullAccounts(db: Db, ids: readonly string[] | null): Promise<FullAccount[]> {
  const { rows } = await sql<FullAccount>`
    select account.id, account.tenant_id, account.updated_at::text as version
    from account join tenant on tenant.id = account.tenant_id
    where account.deleted_at is null and account.status = 'active' and account.initialized_at is not null
      and tenant.suspended_at is null
      and coalesce(account.settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'full'
      ${ids === null ? sql`` : sql`and account.id = any(${ids}::uuid[])`}
    order by account.id
  `.execute(db)
  return rows
}

/** The account, while it is such a one. */
export async function findFullAccount(db: Db, { id, tenant_id }: FullAccount): Promise<AccountView | null> {
  const [full] = await listFullAccounts(db, [id])
  return full ? findAccountView(db, tenant_id, id) : null
}

/** The next messages of a look; fewer than `BATCH_MESSAGES_MAX` where it goes on at `findLookEnd`. */
export async function listUnstored(db: Db, accountId: string, look: Look): Promise<UnstoredMessage[]> {
  // `offset 0`, since the planner expects more of reading all of the table once than of an index for each message.
  const { rows } = await sql<UnstoredMessage>`
    select looked.id, looked.received_at, found.*
    from (${walk(accountId, look)} limit ${LOOKED_AT_MAX}) as looked
    cross join lateral (
      select is_draft, size::float8 as size, false as is_renumbered,
        mailbox.source, sync_cursor.cursor, held.uid::float8 as key
      from message
      join message_mailbox as held on held.message_id = message.id
      join mailbox on mailbox.id = held.mailbox_id
      left join sync_cursor on sync_cursor.account_id = mailbox.account_id and sync_cursor.source = mailbox.source
      where message.id = looked.id and not is_draft and missing_since is null and size <= ${STORED_BYTES_MAX}
        and held.uid is not null and mailbox.source is not null
      limit 1
    ) as found
    where not exists (select from message_blob where message_id = looked.id offset 0)
    order by looked.received_at desc, looked.id desc limit ${BATCH_MESSAGES_MAX}
  `.execute(db)
  return rows
}

/** The last message that `listUnstored` walks over; null where it comes to the end of the account. */
export async function findLookEnd(db: Db, accountId: string, look: Look): Promise<Look['below']> {
  const { rows } = await sql<{ id: string; received_at: Date }>`
    ${walk(accountId, look)} offset ${LOOKED_AT_MAX - 1} limit 1
  `.execute(db)
  const [last] = rows
  return last ? { receivedAt: last.received_at, id: last.id } : null
}

function walk(accountId: string, { since, below }: Look) {
  return sql`
    select id, received_at from message
    where account_id = ${accountId}
      ${since === null ? sql`` : sql`and id >= ${since}`}
      ${below === null ? sql`` : sql`and (received_at, id) < (${below.receivedAt}, ${below.id}::uuid)`}
    order by received_at desc, id desc`
}

/** As many of the first messages as are fetched at once, within the room that there is; one at least, if that fits. */
export function cutBatch(messages: readonly UnstoredMessage[], room: number): UnstoredMessage[] {
  let bytes = 0
  const end = messages.findIndex((message, index) => {
    bytes += message.size
    return bytes > room || (bytes > BATCH_BYTES_MAX && index > 0)
  })
  return messages.slice(0, end < 0 ? messages.length : end)
}
