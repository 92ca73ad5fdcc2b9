import { type RawBuilder, sql } from 'kysely'
import type { OtherKind } from './kind.ts'

/** Work of a half that is looked at once a second; the mail of an account makes 1. */
const WEIGHT_OF_ONE_A_SECOND = 30

/**
 * The work that the half of a row of `account` makes, of a kind that is looked at in this interval: none if it was never
 * switched on.
 */
export function weightOfLooks(kind: OtherKind, lookSeconds: number): RawBuilder<number> {
  const weight = sql.lit(WEIGHT_OF_ONE_A_SECOND / lookSeconds)
  return sql<number>`(
    select ${weight}::float8 * count(*) from account_half
    where account_half.account_id = account.id and kind = ${sql.lit(kind)})`
}
