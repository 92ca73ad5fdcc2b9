import type { RawBuilder, Transaction } from 'kysely'
import type { Tables } from './tables.ts'

/** The last parameter of a statement that is sent with the next one. It is not sent itself. */
export const HELD = Symbol('held')
/** The same, of a statement that nobody waits for. */
export const UNAWAITED = Symbol('unawaited')

/**
 * Sends a statement of a transaction with the next one, without waiting for its answer, which saves a round trip. If it
 * fails, the next statement fails with its error, and at the latest the commit does. It may only be used for a statement
 * whose answer nobody needs.
 */
export async function executeUnawaited(
  tx: Transaction<Tables>,
  statement: RawBuilder<unknown>,
): Promise<void> {
  const compiled = statement.compile(tx)
  await tx.executeQuery({ ...compiled, parameters: [...compiled.parameters, UNAWAITED] })
}
