import { type Transaction, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import type { Logger } from '../../../kit/log.ts'
import type { Chain, Ends, Link } from './chain.ts'
import { columns, type StoredRow } from './entry.ts'
import { readEnds } from './read-chain.ts'

/** Rows that one transaction chains. */
const BATCH_ROWS = 1000
/** Chains grow in one process at a time: the key of an advisory lock. */
const CHAIN_LOCK = 0x57_41_58_4c

/**
 * Moves rows to the ends of their chains. A chain follows the order in which rows are found here, so one whose commit
 * took long is never passed over: it comes later. Returns whether more rows may be waiting.
 */
export async function chainOpenRows(db: Db, chain: Chain, log: Logger): Promise<boolean> {
  return db.transaction().execute(async tx => {
    const { rows: locks } = await sql<{ isOurs: boolean }>`
      select pg_try_advisory_xact_lock(${CHAIN_LOCK}) as "isOurs"
    `.execute(tx)
    if (!locks[0]?.isOurs) return false
    const open = await readOpenRows(tx)
    if (open.length === 0) return false
    const fresh = open.filter(({ is_chained: isChained }) => !isChained)
    const links = new Map<string, Link>()
    const ends = await lockEnds(tx, [...new Set(fresh.map(row => row.tenant_id))], chain, log)
    for (const row of fresh) {
      const of = ends.get(row.tenant_id)!
      of.head = { position: of.head.position + 1n, hash: chain.hashOf(of.head, row) }
      links.set(row.id, of.head)
    }
    await moveRows(tx, open, links)
    await storeEnds(tx, [...ends.values()], chain)
    return open.length === BATCH_ROWS
  })
}

async function readOpenRows(tx: Transaction<Tables>) {
  const { rows } = await sql<StoredRow & { is_chained: boolean }>`
    select ${columns}, exists (
      select from audit_entry as entry where entry.tenant_id = open.tenant_id and entry.id = open.id
    ) as is_chained
    from audit_open as open order by id limit ${BATCH_ROWS}
  `.execute(tx)
  return rows
}

/** Deletes the rows, and chains the ones that have a link. */
async function moveRows(
  tx: Transaction<Tables>,
  open: readonly StoredRow[],
  links: ReadonlyMap<string, Link>,
): Promise<void> {
  await sql`
    with link as (
      select * from unnest(
        ${open.map(({ id }) => id)}::uuid[],
        ${open.map(({ id }) => links.get(id)?.position.toString() ?? null)}::bigint[],
        ${open.map(({ id }) => links.get(id)?.hash ?? null)}::bytea[]
      ) as link (row_id, position, hash)
    ), moved as (
      delete from audit_open using link where id = row_id returning audit_open.*, position, hash
    )
    insert into audit_entry (${columns}, position, hash)
    select ${columns}, position, hash from moved where position is not null
  `.execute(tx)
}

/**
 * The ends of chains, locked until the transaction ends. A tenant without a chain gets one. If rows or ends were
 * changed from outside, the chain goes on behind the last row, marked as broken.
 */
export async function lockEnds(
  tx: Transaction<Tables>,
  tenantIds: readonly string[],
  chain: Chain,
  log: Logger,
): Promise<Map<string, Ends>> {
  await sql`
    select from audit_chain where tenant_id = any(${tenantIds}) order by tenant_id for update
  `.execute(tx)
  const all = await readEnds(tx, tenantIds, chain)
  for (const { ends, last, isIntact } of all) {
    if (isIntact) continue
    const { tenantId } = ends
    log.error({ tenantId }, 'An audit log was changed from outside. See: npx waxwing audit verify')
    if (last && last.position > ends.head.position) ends.head = last
    ends.brokenPosition ??= ends.head.position
  }
  return new Map(all.map(({ ends }) => [ends.tenantId, ends]))
}

/** Stores the ends of chains, sealed. */
export async function storeEnds(tx: Transaction<Tables>, all: readonly Ends[], chain: Chain): Promise<void> {
  await sql`
    insert into audit_chain
      (tenant_id, base_position, base_hash, head_position, head_hash, broken_position, seal)
    select * from unnest(
      ${all.map(({ tenantId }) => tenantId)}::uuid[],
      ${all.map(({ base }) => base.position.toString())}::bigint[],
      ${all.map(({ base }) => base.hash)}::bytea[],
      ${all.map(({ head }) => head.position.toString())}::bigint[],
      ${all.map(({ head }) => head.hash)}::bytea[],
      ${all.map(({ brokenPosition }) => brokenPosition?.toString() ?? null)}::bigint[],
      ${all.map(ends => chain.sealOf(ends))}::bytea[]
    )
    on conflict (tenant_id) do update set
      base_position = excluded.base_position, base_hash = excluded.base_hash,
      head_position = excluded.head_position, head_hash = excluded.head_hash,
      broken_position = excluded.broken_position, seal = excluded.seal
  `.execute(tx)
}
