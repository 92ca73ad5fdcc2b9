import { DatabaseError } from 'pg'

/** The database cannot be reached, or the connection to it was lost. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
  /** Whether the statement that was under way may have taken effect all the same, such as a commit. */
  readonly mayHaveTakenEffect: boolean

  constructor(cause: unknown, mayHaveTakenEffect: boolean) {
    super('The database cannot be reached', { cause })
    this.mayHaveTakenEffect = mayHaveTakenEffect
  }
}

/** What `pg` throws when a connection ends under a statement, or the server does not answer in time. */
const LOST =
  /^Connection terminated|connection error and is not queryable|^read |^write |^Query read timeout$/

/** Told by a server that ends or starts: whatever it was asked for, it did not do. */
const ENDING = new Set(['57P01', '57P02', '57P03'])

/** The error of a statement, as `DatabaseUnavailable` where it is the connection that failed; else null. */
export function lostConnection(
  error: unknown,
  statement: { text: string; isInTransaction: boolean },
): DatabaseUnavailable | null {
  if (!(error instanceof Error)) return null
  if (error instanceof DatabaseError) {
    return ENDING.has(error.code ?? '') ? new DatabaseUnavailable(error, false) : null
  }
  if (!LOST.test(error.message)) return null
  // An open transaction ends with its connection.
  const isWrite = statement.isInTransaction
    ? statement.text === 'commit'
    : !/^\s*(?:select|begin|start|rollback)\b/i.test(statement.text)
  return new DatabaseUnavailable(error, isWrite)
}
