import { type RawBuilder, sql } from 'kysely'
import { isLive, type Lease } from './lease.ts'

/*
 * Rows that a process claims for its work, by its id in a column of theirs. A claim holds as long as the lease of the
 * process is valid; after that another process may take the row over.
 */

/** Whether the process that claimed a row still has its lease. */
export function isClaimed(column: string): RawBuilder<boolean> {
  return sql<boolean>`exists (select from instance where instance.id = ${sql.ref(column)} and ${isLive})`
}

/** Whether the process that claimed a row has lost its lease. It is true of an unclaimed row, too. */
export function isUnheld(column: string): RawBuilder<boolean> {
  return sql<boolean>`not ${isClaimed(column)}`
}

/**
 * Whether this process may claim a row: one that nobody has claimed, that a process claimed which has lost its lease, or
 * that the table assigns to this process.
 * @param isLeft whether this process has left a row that is assigned to it; default: it always has
 */
export function isFree(
  column: string,
  lease: Pick<Lease, 'id'>,
  isLeft: RawBuilder<boolean> = sql<boolean>`true`,
): RawBuilder<boolean> {
  const claimedBy = sql.ref(column)
  return sql<boolean>`(
    ${claimedBy} is null or (${claimedBy} = ${lease.id} and ${isLeft}) or ${isUnheld(column)}
  )`
}
