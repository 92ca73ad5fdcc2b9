import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { firstIdAt } from '../../../kit/ids.ts'
import type { Logger } from '../../../kit/log.ts'
import type { Chain, Link } from './chain.ts'
import { type ChainedRow, readRows } from './read-chain.ts'
import { lockEnds, storeEnds } from './record-chain.ts'

/** Days for which a row is kept. */
export const KEPT_DAYS = 400
const BATCH_ROWS = 2000

/**
 * Removes rows from the beginnings of chains, as old as `KEPT_DAYS`. The last one leaves its hash, so that the rest can
 * be verified. A row that was changed is not removed: it and all later rows of its tenant stay as evidence.
 */
export async function trimChains(
  db: Db,
  chain: Chain,
  { now, log, signal }: { now: number; log: Logger; signal: AbortSignal },
): Promise<void> {
  const firstKeptId = firstIdAt(now - KEPT_DAYS * 86_400_000)
  const { rows: due } = await sql<{ tenant_id: string }>`
    select audit_chain.tenant_id from audit_chain join audit_entry as first
      on first.tenant_id = audit_chain.tenant_id and first.position = base_position + 1
    where first.id < ${firstKeptId}
  `.execute(db)
  for (const { tenant_id: tenantId } of due) {
    while (!signal.aborted && (await trimBatch(db, chain, { tenantId, firstKeptId, log })));
  }
}

/** @returns whether more rows may be due */
async function trimBatch(
  db: Db,
  chain: Chain,
  { tenantId, firstKeptId, log }: { tenantId: string; firstKeptId: string; log: Logger },
): Promise<boolean> {
  return db.transaction().execute(async tx => {
    const ends = (await lockEnds(tx, [tenantId], chain, log)).get(tenantId)!
    const old = await readRows(tx, tenantId, ends.base.position, BATCH_ROWS)
    const first = old.findIndex(({ id }) => id >= firstKeptId)
    const due = first === -1 ? old : old.slice(0, first)
    const base = lastIntact(chain, ends.base, due)
    const isWhole = base.position === (due.at(-1)?.position ?? ends.base.position)
    if (!isWhole)
      log.error({ tenantId }, 'An audit log was changed from outside. See: npx waxwing audit verify')
    await tx
      .deleteFrom('audit_entry')
      .where('tenant_id', '=', tenantId)
      .where('position', '<=', base.position.toString())
      .execute()
    await storeEnds(tx, [{ ...ends, base }], chain)
    return isWhole && due.length === BATCH_ROWS
  })
}

/** The last of the rows up to which all of them follow one another. */
function lastIntact(chain: Chain, base: Link, rows: readonly ChainedRow[]): Link {
  let last = base
  for (const row of rows) {
    if (row.position !== last.position + 1n || !chain.hashOf(last, row).equals(row.hash)) break
    last = { position: row.position, hash: row.hash }
  }
  return last
}
