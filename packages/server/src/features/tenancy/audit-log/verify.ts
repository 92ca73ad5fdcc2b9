import type { Db } from '../../../database/pool.ts'
import type { Chain, Link } from './chain.ts'
import { readEnds, readRows } from './read-chain.ts'
import { countOpenRows } from './store.ts'

/** Rows that are in memory at a time. */
const PAGE_ROWS = 2000

/** A fault of a chain, at the position of the row concerned. */
export type Finding =
  /** The row is not as it was chained: edited, put in, or moved here from elsewhere. */
  | { kind: 'changed'; position: bigint; id: string }
  /** Rows were removed. The row after them cannot be checked without them. */
  | { kind: 'removed'; from: bigint; to: bigint }
  /** The row lies outside both ends of the chain. */
  | { kind: 'added'; position: bigint; id: string }
  /** The ends of the chain were removed, or are not as they were stored. */
  | { kind: 'ends' }
  /** The service noticed that rows or ends were changed, after this position. */
  | { kind: 'noticed'; position: bigint }

export interface Verification {
  tenantId: string
  rows: number
  /** Rows that are not chained yet. */
  waiting: number
  head: Link
  findings: number
}

/**
 * Walks the chain of a tenant and reports everything that is not as it was written. Only the rows of a page are in
 * memory. The transaction must read one state of the database.
 * @param heads hashes, in hexadecimal, that must be in the chain; the ones that are found are removed from the set
 */
export async function verifyChain(
  tx: Db,
  chain: Chain,
  tenantId: string,
  options: { heads: Set<string>; report: (finding: Finding) => void },
): Promise<Verification> {
  const [found] = await readEnds(tx, [tenantId], chain)
  const { ends, isIntact } = found!
  let findings = 0
  const report = (finding: Finding) => {
    findings += 1
    options.report(finding)
  }
  if (ends.brokenPosition !== null) report({ kind: 'noticed', position: ends.brokenPosition })
  let previous = ends.base
  let rows = 0
  let read = 0n
  if (previous.position > 0n) options.heads.delete(previous.hash.toString('hex'))
  for (let page = await readRows(tx, tenantId, 0n, PAGE_ROWS); page.length > 0;) {
    for (const row of page) {
      rows += 1
      read = row.position
      const { id, position } = row
      const isOutside = position <= ends.base.position || position > ends.head.position
      if (isOutside) report({ kind: 'added', position, id })
      else if (position > previous.position + 1n)
        report({ kind: 'removed', from: previous.position + 1n, to: position - 1n })
      else if (!chain.hashOf(previous, row).equals(row.hash)) report({ kind: 'changed', position, id })
      if (isOutside) continue
      previous = row
      options.heads.delete(row.hash.toString('hex'))
    }
    page = await readRows(tx, tenantId, read, PAGE_ROWS)
  }
  if (previous.position < ends.head.position)
    report({ kind: 'removed', from: previous.position + 1n, to: ends.head.position })
  else if (!isIntact && findings === 0) report({ kind: 'ends' })
  return { tenantId, rows, waiting: await countOpenRows(tx, tenantId), head: ends.head, findings }
}
