import { DatabaseError } from 'pg'
import { type RawBuilder, sql } from 'kysely'

const DIVISION_BY_ZERO = '22012'

/**
 * An expression for `select` that fails unless the condition holds, so that what goes with a statement that nobody waits
 * for is committed only then. The condition must depend on rows.
 */
export function requiring(condition: RawBuilder<boolean>): RawBuilder<number> {
  return sql<number>`1 / (${condition})::int`
}

/** Whether a transaction failed because a condition of `requiring` did not hold. */
export function isUnmet(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === DIVISION_BY_ZERO
}
