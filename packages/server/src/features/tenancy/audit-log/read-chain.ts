import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { type Chain, emptyChain, type Ends, type Link } from './chain.ts'
import { columns, type StoredRow } from './entry.ts'

interface EndsRow {
  tenant_id: string
  /** The ends as stored; null without any. */
  base_position: string | null
  base_hash: Buffer
  head_position: string
  head_hash: Buffer
  broken_position: string | null
  seal: Buffer
  /** The position of the last row; null if there is no row. */
  position: string | null
  hash: Buffer
}

export interface FoundEnds {
  ends: Ends
  /** The last row, or null. */
  last: Link | null
  /** Whether the ends are as they were stored, and the last row is the head. */
  isIntact: boolean
}

/** The ends of the chains of these tenants, in their order. */
export async function readEnds(db: Db, tenantIds: readonly string[], chain: Chain): Promise<FoundEnds[]> {
  const { rows } = await sql<EndsRow>`
    select tenant.id as tenant_id, base_position, base_hash, head_position, head_hash, broken_position, seal,
      last.position, last.hash
    from unnest(${tenantIds}::uuid[]) with ordinality as tenant (id, nth)
    left join audit_chain on tenant_id = tenant.id
    left join lateral (
      select position, hash from audit_entry where tenant_id = tenant.id order by position desc limit 1
    ) as last on true
    order by nth
  `.execute(db)
  return rows.map(row => foundEnds(row, chain))
}

function foundEnds(row: EndsRow, chain: Chain): FoundEnds {
  const last = row.position === null ? null : { position: BigInt(row.position), hash: row.hash }
  if (row.base_position === null) {
    const empty = emptyChain(row.tenant_id)
    return { ends: { ...empty, head: last ?? empty.head }, last, isIntact: last === null }
  }
  const ends = {
    tenantId: row.tenant_id,
    base: { position: BigInt(row.base_position), hash: row.base_hash },
    head: { position: BigInt(row.head_position), hash: row.head_hash },
    brokenPosition: row.broken_position === null ? null : BigInt(row.broken_position),
  }
  const isIntact = chain.isSealed(ends, row.seal) && isSame(last ?? ends.base, ends.head)
  return { ends, last, isIntact }
}

export function isSame(a: Link, b: Link): boolean {
  return a.position === b.position && a.hash.equals(b.hash)
}

/** A row of a chain. */
export type ChainedRow = StoredRow & Link

/** The next rows of a tenant after a position, in the order of the chain. */
export async function readRows(
  db: Db,
  tenantId: string,
  afterPosition: bigint,
  limit: number,
): Promise<ChainedRow[]> {
  const { rows } = await sql<StoredRow & { position: string; hash: Buffer }>`
    select ${columns}, position, hash from audit_entry
    where tenant_id = ${tenantId} and position > ${afterPosition.toString()} order by position limit ${limit}
  `.execute(db)
  return rows.map(row => ({ ...row, position: BigInt(row.position) }))
}
