import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import { Pool, type PoolClient, types } from 'pg'
import { watchRoom } from './room.ts'
import { KEEP_ALIVE_SECONDS, limitSession } from './session-limits.ts'
import { statementNames } from './statement-names.ts'
import type { Tables } from './tables.ts'
import { preparingClient } from './preparing-client.ts'
import { DatabaseUnavailable } from './unavailable.ts'

export type Db = Kysely<Tables>

/**
 * The address of a database: a `postgres://` URL, or the folder of the unix socket of a server on this machine.
 */
export type DatabaseAddress =
  | { url: string }
  | { socketFolder: string; user: string; password: string; database: string }

export interface DatabaseOptions {
  address: DatabaseAddress
  /** Shown in `pg_stat_activity`. */
  applicationName: string
  connectionsMax?: number
  /** Seconds to wait for the answer to a statement before its connection is given up. Tests use less. */
  answerSeconds?: number
  /** Called when a connection breaks while it is idle; the pool replaces it by itself. */
  onIdleError?: (error: Error) => void
  /** Called with each new connection before it is used; if it rejects, the connection is closed. */
  onConnect?: (client: PoolClient) => Promise<void>
}

export interface Database extends AsyncDisposable {
  db: Db
  /** For statements without Kysely. */
  pool: Pool
  address: DatabaseAddress
  /** Time that the first in the queue has waited for a connection; 0 if nobody waits. */
  waitMilliseconds(): number
  /** Why the database refuses writes, as far as statements have shown, or null. See `Room`. Never rejects. */
  findWriteProblem(): Promise<string | null>
}

const CONNECTIONS_MAX = 20
const CONNECT_TIMEOUT_SECONDS = 10
/**
 * Longer than the pauses between bursts of work, such as passes over mailboxes: opening a connection and preparing its
 * statements costs as much as a hundred statements.
 */
const IDLE_SECONDS = 90
const STATEMENT_TIMEOUT_SECONDS = 30
/**
 * A working server ends every statement within its own timeout and reports it. A server that is silent for longer is frozen
 * or gone. The limit is not shorter for requests, because the server would continue with an abandoned statement while
 * it is repeated.
 */
const ANSWER_SECONDS = STATEMENT_TIMEOUT_SECONDS + 5
/** A process that is stopped in a transaction holds locks that others need, such as that of a tenant's events. */
const IDLE_IN_TRANSACTION_TIMEOUT_SECONDS = 5

/** Opens a pool. It connects at the first query. Disposing it closes every connection. */
export function openDatabase(options: DatabaseOptions): Database {
  // Not written as a literal, since @types/pg does not know `onConnect` and `pipeline`.
  const settings = {
    ...clientSettings(options.address, options.applicationName),
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_SECONDS * 1000,
    idleTimeoutMillis: IDLE_SECONDS * 1000,
    query_timeout: (options.answerSeconds ?? ANSWER_SECONDS) * 1000,
    onConnect: async (client: PoolClient) => {
      await limitSession(client, {
        statementSeconds: STATEMENT_TIMEOUT_SECONDS,
        idleInTransactionSeconds: IDLE_IN_TRANSACTION_TIMEOUT_SECONDS,
      })
      await options.onConnect?.(client)
    },
    // A statement may be sent before those before it are answered: see `executeUnawaited`.
    pipeline: true,
    types: { getTypeParser: parserOf },
  }
  const pool = new Pool(settings)
  pool.on('error', error => {
    // Connections are still closing when `end` returns, and a server that stops next ends them first.
    if (!pool.ending) options.onIdleError?.(error)
  })
  // The pool listens only while a client is idle. Without this listener, a connection that breaks between two
  // statements would end the process; the next statement rejects anyway.
  pool.on('connect', client => client.on('error', () => {}))
  const waiting = new Set<{ since: number }>()
  const room = watchRoom(pool)
  const onFailure = (error: unknown) => room.note(error)
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool: preparingPool(pool, waiting, onFailure) }),
  })
  return {
    db,
    pool,
    address: options.address,
    waitMilliseconds() {
      // A set keeps the order of insertion, and the pool serves waiters in that order.
      const [first] = waiting
      return first ? performance.now() - first.since : 0
    },
    findWriteProblem: () => room.findProblem(),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

const BYTEA = types.builtins.BYTEA
const parseBytea: (text: string) => Buffer = types.getTypeParser(BYTEA)

const parserOf: typeof types.getTypeParser = (type: number, format?: 'text' | 'binary') =>
  type === BYTEA && format !== 'binary' ? readBytea : types.getTypeParser(type, format)

/**
 * Gives a small value memory of its own. Node cuts small buffers out of one of 64 KB, which stays in memory as long as any
 * of them: the key of an account that is followed would hold it for days.
 */
function readBytea(text: string): Buffer {
  const bytes = parseBytea(text)
  if (bytes.buffer.byteLength === bytes.length) return bytes
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}

/** The settings with which `pg` connects, for a pool or for a single client. */
export function clientSettings(address: DatabaseAddress, applicationName: string) {
  const where =
    'url' in address
      ? { connectionString: address.url }
      : {
          host: address.socketFolder,
          user: address.user,
          password: address.password,
          database: address.database,
        }
  return {
    ...where,
    application_name: applicationName,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_SECONDS * 1000,
  }
}

/**
 * A view of the pool for Kysely: statements with parameters are prepared once per connection, under a name. `waiting`
 * holds those that wait for a connection. Throws `DatabaseUnavailable` if there is no connection or it is lost.
 */
function preparingPool(pool: Pool, waiting: Set<{ since: number }>, onFailure: (error: unknown) => void) {
  async function takeClient() {
    // Opening another connection takes time too, but does not depend on another request returning one.
    if (pool.idleCount > 0 || pool.totalCount < pool.options.max) return pool.connect()
    const wait = { since: performance.now() }
    waiting.add(wait)
    return pool.connect().finally(() => waiting.delete(wait))
  }
  const nameOf = statementNames()
  const wrappers = new WeakMap<PoolClient, PostgresPoolClient>()
  return {
    options: pool.options,
    end: () => pool.end(),
    async connect() {
      const client = await takeClient().catch((error: unknown) => {
        throw new DatabaseUnavailable(error, false)
      })
      // Kysely keeps its state per client object, so a client always gets the same wrapper.
      const wrapper = wrappers.get(client) ?? preparingClient(client, nameOf, onFailure)
      wrappers.set(client, wrapper)
      return wrapper
    },
  }
}
