import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Location } from '../../../providers/content.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { findAccountView } from '../../accounts/accounts/store.ts'
import { type LocationRow, located, locationColumns, toLocation } from '../messages/location.ts'
import type { SourceRow } from './source.ts'
import { STORED_BYTES_MAX } from './stored-source.ts'
import { type Walk, type WalkPlace, walkOn } from './walk.ts'

/**
 * Size of the messages that are fetched at once: that much is in memory for an account, and again for each batch being
 * stored.
 */
export const BATCH_BYTES_MAX = 1024 * 1024
const BATCH_MESSAGES_MAX = 100

/** A message without stored content, and its location at the provider. */
export interface UnstoredMessage extends SourceRow, Location {
  received_at: Date
}

export interface FullAccount {
  id: string
  tenant_id: string
  /** Changes with the settings of the account. */
  version: string
}

/** Accounts that store every message, are reachable, and whose first sync is complete. `ids` selects some of them. */
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

/** The account, if it is still one of those. */
export async function findFullAccount(db: Db, { id, tenant_id }: FullAccount): Promise<AccountView | null> {
  const [full] = await listFullAccounts(db, [id])
  return full ? findAccountView(db, tenant_id, id) : null
}

/** The next messages of a walk that are to be stored, and where to continue; null at the end of the account. */
export async function listUnstored(
  db: Db,
  accountId: string,
  walk: Walk,
): Promise<{ found: UnstoredMessage[]; end: WalkPlace | null }> {
  // `offset 0`, since the planner would rather read all of the table once than use an index for each message.
  const choose = (looked: RawBuilder<unknown>) => sql<Omit<UnstoredMessage, 'key'> & LocationRow>`
    select looked.id, looked.received_at, placed.*
    from ${looked}
    cross join lateral (
      select is_draft, size::float8 as size, false as is_renumbered, false as is_kept, ${locationColumns}
      from message join ${located}
      where message.id = looked.id and not is_draft and missing_look is null and coalesce(size, 0) <= ${STORED_BYTES_MAX}
      limit 1
    ) as placed
    where not exists (select from message_blob where message_id = looked.id offset 0)`
  const { found, end } = await walkOn(db, accountId, { walk, limit: BATCH_MESSAGES_MAX, choose })
  return { found: found.map(row => ({ ...row, ...toLocation(row) })), end }
}

/**
 * The first messages, up to the size that is fetched at once and within the room of the plan. At least one, if that
 * fits.
 */
export function cutBatch(messages: readonly UnstoredMessage[], room: number): UnstoredMessage[] {
  let bytes = 0
  const end = messages.findIndex((message, index) => {
    bytes += message.size ?? 0
    return bytes > room || (bytes > BATCH_BYTES_MAX && index > 0)
  })
  return messages.slice(0, end < 0 ? messages.length : end)
}
