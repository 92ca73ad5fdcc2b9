import { type RawBuilder, sql } from 'kysely'

/**
 * The condition that a column has one of these ids. One id is compared as such: PostgreSQL keeps the plan of that
 * statement, but takes an array of unknown length for ten values, and so plans again each time.
 * @param column as SQL text, never from input
 */
export function isOneOf(column: string, ids: readonly string[]): RawBuilder<boolean> {
  const [first] = ids
  return ids.length === 1
    ? sql<boolean>`${sql.raw(column)} = ${first}::uuid`
    : sql<boolean>`${sql.raw(column)} = any(${[...ids]}::uuid[])`
}
