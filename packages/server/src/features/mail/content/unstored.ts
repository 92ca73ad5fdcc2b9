import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Location } from '../../../providers/content.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { type LocationRow, located, locationColumns, toLocation } from '../messages/location.ts'
import type { SourceRow } from './source.ts'
import { STORED_BYTES_MAX } from './stored-source.ts'
import { type WalkPlace, walkOn } from './walk.ts'

/**
 * Size of the messages that are fetched at once: that much is in memory for an account, and again for each batch being
 * stored.
 */
export const BATCH_BYTES_MAX = 1024 * 1024
export const BATCH_MESSAGES_MAX = 100

/** A message without stored content, and its location at the provider. */
export interface UnstoredMessage extends SourceRow, Location {
  received_at: Date
}

/** An account as the process that follows it owns it. */
export interface Owned {
  id: string
  tenantId: string
  instanceId: string
  /** Grows with each change of the owner. */
  epoch: string
}

export interface FullAccount {
  id: string
  /** Changes with the settings by which its mail is reached, including whether bodies are stored. */
  version: string
  /** Whether the first sync is complete. */
  isInitialized: boolean
}

/** The accounts that still have this owner, store every message, and are reachable. */
export async function listFullAccounts(db: Db, owned: readonly Owned[]): Promise<FullAccount[]> {
  const { rows } = await sql<FullAccount>`
    select account.id, stamp::text as version, initialized_at is not null as "isInitialized"
    from unnest(
      ${owned.map(({ id }) => id)}::uuid[], ${owned.map(({ instanceId }) => instanceId)}::uuid[],
      ${owned.map(({ epoch }) => epoch)}::bigint[]
    ) as held (id, instance_id, epoch)
    join account_half on account_id = held.id and kind = 'mail' and owner_instance = instance_id and owner_epoch = epoch
    join account on account.id = account_id join tenant on tenant.id = account.tenant_id
    where tenant.suspended_at is null
      and coalesce(account.settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'full'
  `.execute(db)
  return rows
}

/** The account, if it still meets these conditions. */
export async function findFullAccount(
  db: Db,
  owned: Owned,
): Promise<{ account: AccountView; isInitialized: boolean } | null> {
  const [full] = await listFullAccounts(db, [owned])
  const account = full ? await findAccountView(db, owned.tenantId, owned.id) : null
  return full && account ? { account, isInitialized: full.isInitialized } : null
}

/**
 * The next messages of a walk, newest first, that are to be stored, and where to continue; null at the end of the
 * account.
 * @param below continues below this message; null starts at the newest
 */
export async function listUnstored(
  db: Db,
  accountId: string,
  below: WalkPlace | null,
): Promise<{ found: UnstoredMessage[]; end: WalkPlace | null }> {
  const { found, end } = await walkOn(db, accountId, {
    below,
    limit: BATCH_MESSAGES_MAX,
    choose: chooseUnstored,
  })
  return { found: found.map(toUnstored), end }
}

/** The messages that are to be stored, in the order of the ids. */
export async function listUnstoredOf(
  db: Db,
  accountId: string,
  messageIds: readonly string[],
): Promise<UnstoredMessage[]> {
  const { rows } = await sql<UnstoredRow>`
    ${chooseUnstored(sql`(
      select message.id, received_at, nth
      from unnest(${[...messageIds]}::uuid[]) with ordinality as told (id, nth) join message on message.id = told.id
      where account_id = ${accountId}
    ) as looked`)}
    order by nth
  `.execute(db)
  return rows.map(toUnstored)
}

type UnstoredRow = Omit<UnstoredMessage, 'key'> & LocationRow

const toUnstored = (row: UnstoredRow): UnstoredMessage => ({ ...row, ...toLocation(row) })

/** `offset 0`, since the planner would rather read all of the table once than use an index for each message. */
function chooseUnstored(looked: RawBuilder<unknown>): RawBuilder<UnstoredRow> {
  return sql<UnstoredRow>`
    select looked.id, looked.received_at, placed.*
    from ${looked}
    cross join lateral (
      select is_draft, size::float8 as size, false as is_renumbered, false as is_kept, ${locationColumns}
      from message join ${located}
      where message.id = looked.id and not is_draft and missing_look is null and coalesce(size, 0) <= ${STORED_BYTES_MAX}
      limit 1
    ) as placed
    where not exists (select from message_blob where message_id = looked.id offset 0)`
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
