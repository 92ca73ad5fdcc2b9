import { type PoolClient, Query, type QueryResult, type Submittable } from 'pg'

/** A statement as `pg` sends it. With a name, it is prepared once per connection. */
export interface Statement {
  name: string | undefined
  text: string
  values: unknown[]
  /** Whether somebody reads its rows. */
  isRead: boolean
}

/**
 * Sends statements with a single Sync behind the last ("Pipelining" in PostgreSQL's description of its protocol): the
 * server answers all of them at once, and leaves out what follows one that fails. Singly, each answer would cost both
 * sides as much as a small statement.
 * @returns their results. Throws the error of the one that failed
 */
export function sendFlight(client: PoolClient, statements: readonly Statement[]): Promise<QueryResult[]> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult[]>()
  const flight = new Flight(statements)
  flight.callback = error => (error ? reject(error) : resolve(flight.results))
  // Both types have only a part of the methods that `pg` calls.
  client.query(flight as unknown as Submittable)
  return promise
}

/** The part of a connection of `pg` that its types leave out. */
interface Wire {
  stream: { cork(): void; uncork(): void }
  /** Texts by the names under which they are prepared. */
  parsedStatements: Record<string, string>
  /** Names that were sent to be prepared, and are not known to be. */
  submittedNamedStatements: Record<string, string>
  describe(what: unknown): void
  sync(): void
}

/** Members of a query that a client of `pg` uses, and that its types leave out. */
declare class SentQuery {
  /** Name of the statement that counts as prepared when the server reports one prepared. */
  name: string | undefined
  text: string
  queryMode: 'extended' | undefined
  callback: (error: Error | null, result?: QueryResult) => void
  constructor(text: string, values?: unknown[])
  submit(connection: Wire): Error | null
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Wire): void
  handleEmptyQuery(connection: Wire): void
  handleReadyForQuery(connection: Wire): void
  handleError(error: Error, connection: Wire): void
}

const PgQuery = Query as unknown as typeof SentQuery

/** One query for the client, and several statements for the server. */
class Flight extends PgQuery {
  readonly results: QueryResult[] = []
  readonly #statements: readonly Statement[]
  readonly #queries: SentQuery[]
  /** The one whose answer comes next. */
  #at = 0
  #failure: Error | null = null
  #isCompleted = false
  /** The name of a statement that the server forgets, if it gets to it. */
  #forgotten: string | undefined

  constructor(statements: readonly Statement[]) {
    const { name, text } = statements[0]!
    super(text)
    this.name = name
    this.#statements = statements
    this.#queries = statements.map((statement, nth) => {
      const query = new PgQuery(statement.text, statement.values)
      query.name = statement.name
      query.queryMode = 'extended'
      query.callback = (error, result) => {
        if (error) this.#failure ??= error
        else this.results[nth] = result!
      }
      return query
    })
  }

  override submit(connection: Wire): Error | null {
    const open: Wire = Object.assign(Object.create(connection), { sync() {} })
    const silent: Wire = Object.assign(Object.create(open), { describe() {} })
    connection.stream.cork()
    for (const [nth, query] of this.#queries.entries()) {
      this.#failure = query.submit(this.#statements[nth]!.isRead ? open : silent) ?? this.#failure
      if (!this.#failure) continue
      // A value cannot be sent, and `pg` has told the server to forget the statement.
      this.#forgotten = query.name
      break
    }
    connection.sync()
    connection.stream.uncork()
    return null
  }

  get #query(): SentQuery {
    return this.#queries[this.#at]!
  }

  override handleRowDescription(message: unknown): void {
    this.#query.handleRowDescription(message)
  }

  override handleDataRow(message: unknown): void {
    if (this.#statements[this.#at]!.isRead) this.#query.handleDataRow(message)
  }

  override handleCommandComplete(message: unknown, connection: Wire): void {
    this.#query.handleCommandComplete(message, connection)
    this.#advance()
  }

  /** A statement that is only a comment is answered by this instead. */
  override handleEmptyQuery(): void {
    this.#advance()
  }

  #advance(): void {
    this.#isCompleted = this.#at === this.#queries.length - 1
    if (this.#isCompleted) return
    this.#at++
    this.name = this.#query.name
    this.text = this.#query.text
  }

  override handleReadyForQuery(connection: Wire): void {
    if (this.#forgotten !== undefined) {
      delete connection.parsedStatements[this.#forgotten]
      delete connection.submittedNamedStatements[this.#forgotten]
    }
    for (const query of this.#queries) query.handleReadyForQuery(connection)
    this.callback(this.#failure)
  }

  override handleError(error: Error, connection: Wire): void {
    // The server, or the connection, ended after the last of them was done: a commit has taken effect.
    if (this.#isCompleted) return this.handleReadyForQuery(connection)
    // The statements that the server left out are not prepared either.
    for (const { name } of this.#queries.slice(this.#at))
      if (name !== undefined) delete connection.submittedNamedStatements[name]
    this.callback(this.#failure ?? error)
  }
}
