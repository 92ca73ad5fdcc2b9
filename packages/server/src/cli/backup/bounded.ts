import type { Client, QueryResult, QueryResultRow } from 'pg'
import { CommandError } from '../command-error.ts'

/** A server that does not answer a short statement, and neither sends nor takes rows, for this long is frozen or gone. */
export const STALL_SECONDS = 120
/** For statements that read or check every row, such as the foreign keys of a table at its end. */
export const LONG_SECONDS = 6 * 3600

/** Runs a short statement. */
export function ask<Row extends QueryResultRow>(
  client: Client,
  text: string,
  values: unknown[] = [],
): Promise<QueryResult<Row>> {
  // Without values it may be several statements.
  return within(
    client,
    STALL_SECONDS,
    values.length > 0 ? client.query<Row>(text, values) : client.query<Row>(text),
  )
}

/** Waits for what the connection is asked, and ends the connection if that takes too long. */
export async function within<T>(client: Client, seconds: number, work: Promise<T>): Promise<T> {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    // The work then rejects.
    void client.end().catch(() => {})
  }, seconds * 1000)
  try {
    return await work
  } catch (error) {
    throw isLate
      ? new CommandError(`The database did not answer for ${seconds} seconds.`, { cause: error })
      : error
  } finally {
    clearTimeout(timer)
  }
}
