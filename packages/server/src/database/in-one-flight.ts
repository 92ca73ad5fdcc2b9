import type { QueryResult, RawBuilder } from 'kysely'
import type { Db } from './pool.ts'
import { HELD } from './unawaited.ts'

/** The rows of each statement. */
export type Rows<Statements extends ReadonlyArray<RawBuilder<unknown>>> = {
  [Nth in keyof Statements]: Statements[Nth] extends RawBuilder<infer Row> ? Row[] : never
}

/**
 * Runs statements one after the other over one connection, without waiting for an answer in between. Each sees what those
 * before it did. Throws the first error. Outside of a transaction, each statement is one of its own, and those after the
 * error have run nevertheless.
 */
export async function inOneFlight<const Statements extends ReadonlyArray<RawBuilder<unknown>>>(
  db: Db,
  statements: Statements,
): Promise<Rows<Statements>> {
  const compiled = statements.map(statement => statement.compile(db))
  const results = await db.getExecutor().provideConnection(connection =>
    Promise.allSettled(
      compiled.map((query, nth): Promise<QueryResult<unknown>> => {
        const held = nth < compiled.length - 1 ? [HELD] : []
        return connection.executeQuery({ ...query, parameters: [...query.parameters, ...held] })
      }),
    ),
  )
  const rows = results.map(result => {
    if (result.status === 'rejected') throw result.reason
    return result.value.rows
  })
  // In the order of the statements.
  return rows as Rows<Statements>
}
