import { DatabaseError } from 'pg'

/** Thrown if the database cannot be reached or the connection to it was lost. */
export class DatabaseUnavailable extends Error {
  override name = 'DatabaseUnavailable'
  /** Whether the running statement, such as a commit, may have taken effect anyway. */
  readonly mayHaveTakenEffect: boolean

  constructor(cause: unknown, mayHaveTakenEffect: boolean) {
    super('The database cannot be reached', { cause })
    this.mayHaveTakenEffect = mayHaveTakenEffect
  }
}

/** The messages of `pg` if a connection ends during a statement or the server does not answer in time. */
const LOST =
  /^Connection terminated|connection error and is not queryable|^read |^write |^Query read timeout$/

/**
 * Codes sent by a server that stops or starts, or that waited too long for a transaction to go on: it did not do what it
 * was asked, but for a commit that it had begun.
 */
const ENDING = new Set(['57P01', '57P02', '57P03', '25P03'])

/** The error of a statement as `DatabaseUnavailable` if the connection failed, otherwise null. */
export function lostConnection(
  error: unknown,
  statement: { text: string; isInTransaction: boolean },
): DatabaseUnavailable | null {
  if (!(error instanceof Error)) return null
  if (error instanceof DatabaseError) {
    if (!ENDING.has(error.code ?? '')) return null
    return new DatabaseUnavailable(error, statement.isInTransaction && statement.text === 'commit')
  }
  if (!LOST.test(error.message)) return null
  // An open transaction ends with its connection.
  const isWrite = statement.isInTransaction
    ? statement.text === 'commit'
    : !/^\s*(?:select|begin|start|rollback)\b/i.test(statement.text)
  return new DatabaseUnavailable(error, isWrite)
}
