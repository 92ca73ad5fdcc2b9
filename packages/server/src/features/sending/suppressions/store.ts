import { type RawBuilder, sql } from 'kysely'
import { GLOBAL_LIST, type SuppressionSource } from '@waxwing/contract/sending/suppressions.ts'
import { isAfter, type NewestFirst, rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { listColumns, type ListRow, reviewColumns, type ReviewRow, type StoredEntry } from './present.ts'

/** Maximum number of addresses that a filtered page looks through. */
const SCANNED_ROWS_MAX = 50_000

/**
 * Finds the given addresses that are on the global list, or on the list that a send names. They are returned as
 * addresses are compared.
 */
export async function findSuppressed(
  db: Db,
  tenantId: string,
  listId: string | null,
  addresses: readonly string[],
): Promise<ReadonlySet<string>> {
  const compared = sql`${addresses.map(comparedAddress)}::text[]`
  const { rows } = await sql<{ address: string }>`
    ${suppressedAddresses(tenantId, { listId: sql`${listId}::text`, compared })}
  `.execute(db)
  return new Set(rows.map(({ address }) => address))
}

/**
 * The query of `findSuppressed`, for use within a statement.
 * @param asked expressions: the list, and the addresses as they are compared
 */
export function suppressedAddresses(
  tenantId: string,
  { listId, compared }: { listId: RawBuilder<unknown>; compared: RawBuilder<unknown> },
): RawBuilder<unknown> {
  return sql`
    select entry.address from suppression_list as list
    join suppression_entry as entry on entry.list_key = list.key
    where list.tenant_id = ${tenantId} and list.id in (${GLOBAL_LIST}, ${listId})
      and list.deleted_at is null and entry.address = any(${compared})`
}

/** The list that a send names, and its recipients that are looked for. */
export interface Consulting {
  listId: string | null
  to: readonly string[]
}

/** The query of `findSuppressed` for several sends of a tenant, as a statement. A row names the send by its index. */
export function findingSuppressed(
  tenantId: string,
  sends: readonly Consulting[],
): RawBuilder<{ index: number; address: string }> {
  const asked = sends.flatMap(({ listId, to }, index) =>
    to.map(address => ({ index, listId, address: comparedAddress(address) })),
  )
  return sql`
    select asked.index, asked.address
    from unnest(
      ${asked.map(({ index }) => index)}::int[], ${asked.map(({ listId }) => listId)}::text[],
      ${asked.map(({ address }) => address)}::text[]
    ) as asked (index, list_id, address)
    where exists (
      select from suppression_list as list join suppression_entry as entry on entry.list_key = list.key
      where list.tenant_id = ${tenantId} and list.id in (${GLOBAL_LIST}, asked.list_id) and list.deleted_at is null
        and entry.address = asked.address
    )`
}

/** The lists of a tenant by their ids. The global one is among them once it has had an entry. */
export async function listLists(db: Db, tenantId: string): Promise<ListRow[]> {
  const { rows } = await sql<ListRow>`
    select ${listColumns} from suppression_list where tenant_id = ${tenantId} and deleted_at is null order by id
  `.execute(db)
  return rows
}

export async function findList(db: Db, tenantId: string, id: string): Promise<ListRow | null> {
  const { rows } = await sql<ListRow>`
    select ${listColumns} from suppression_list
    where tenant_id = ${tenantId} and id = ${id} and deleted_at is null
  `.execute(db)
  return rows[0] ?? null
}

export interface LinkNames {
  /** Null for the global list, and for a list without a name. */
  listName: string | null
  /** The name of the sender of the message; the tenant's once the send was deleted. */
  senderName: string
}

/** The names by which an unsubscribe page refers to the list and to the sender. */
export async function findLinkNames(
  db: Db,
  { tenantId, listId, outboxId }: { tenantId: string; listId: string; outboxId: string },
): Promise<LinkNames> {
  const { rows } = await sql<{ listName: string | null; senderName: string | null; tenantName: string }>`
    select tenant.name as "tenantName",
      (
        select list.name from suppression_list as list
        where list.tenant_id = tenant.id and list.id = ${listId} and list.deleted_at is null
          and list.id <> ${GLOBAL_LIST} and list.name <> list.id
      ) as "listName",
      (
        select coalesce(nullif(sent."from"->>'name', ''), sent."from"->>'address') from outbox as sent
        where sent.id = ${outboxId} and sent.tenant_id = tenant.id
      ) as "senderName"
    from tenant where tenant.id = ${tenantId}
  `.execute(db)
  const [found] = rows
  return {
    listName: found?.listName ?? null,
    senderName: found?.senderName ?? found?.tenantName ?? 'this sender',
  }
}

export interface EntriesPage {
  filters: { address?: string | undefined; source?: SuppressionSource | undefined }
  position: NewestFirst | null
  limit: number
}

/**
 * A page of entries and at least one more, newest first. With filters `scannedTo` is where the search stopped, if it
 * stopped before the end of the list.
 */
export async function listEntries(
  db: Db,
  listKey: string,
  { filters, position, limit }: EntriesPage,
): Promise<{ rows: StoredEntry[]; scannedTo: NewestFirst | null }> {
  const columns = sql.raw('id, address, source, reason, created_at')
  const here = sql`list_key = ${listKey} and ${isAfter(position, { time: 'created_at', id: 'id' })}`
  const conditions = conditionsOf(filters)
  if (conditions.length === 0) {
    const { rows } = await sql<StoredEntry>`
      select ${columns} from suppression_entry where ${here}
      order by created_at desc, id desc limit ${rowsToRead(limit)}
    `.execute(db)
    return { rows, scannedTo: null }
  }
  // The last of the addresses that are looked through is read first, by the index alone.
  const last = await sql<{ created_at: Date; id: string }>`
    select created_at, id from suppression_entry where ${here}
    order by created_at desc, id desc offset ${SCANNED_ROWS_MAX - 1} limit 1
  `.execute(db)
  const end = last.rows[0] ?? null
  const { rows } = await sql<StoredEntry>`
    select ${columns} from suppression_entry
    where ${here} and ${sql.join(conditions, sql` and `)}
      and ${end ? sql`(created_at, id) >= (${end.created_at}, ${end.id}::uuid)` : sql`true`}
    order by created_at desc, id desc limit ${rowsToRead(limit)}
  `.execute(db)
  return { rows, scannedTo: end && { time: end.created_at.toISOString(), id: end.id } }
}

function conditionsOf({ address, source }: EntriesPage['filters']): RawBuilder<unknown>[] {
  const conditions: RawBuilder<unknown>[] = []
  if (address !== undefined) conditions.push(sql`position(${address.toLowerCase()} in address) > 0`)
  if (source !== undefined) conditions.push(sql`source = ${source}`)
  return conditions
}

/** A page of reviews and at least one more, newest first. */
export async function listReviews(
  db: Db,
  tenantId: string,
  list: { listId: string | undefined; position: NewestFirst | null; limit: number },
): Promise<ReviewRow[]> {
  const { listId, position, limit } = list
  const { rows } = await sql<ReviewRow>`
    select ${reviewColumns} from suppression_review
    where tenant_id = ${tenantId} and ${listId === undefined ? sql`true` : sql`list_id = ${listId}`}
      and ${isAfter(position, { time: 'created_at', id: 'id' })}
    order by created_at desc, id desc limit ${rowsToRead(limit)}
  `.execute(db)
  return rows
}
