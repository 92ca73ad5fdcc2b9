import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from 'pg'
import type { Opened } from './ledger.ts'

/** Locks that end with their session only; those of a transaction end with it. */
const TAKES_LOCK = /pg_(?:try_)?advisory_lock(?:_shared)?\(/

const LOOK_MILLISECONDS = 50

interface Session {
  processID: number | null
  connection: { stream: { destroyed: boolean } }
  host: string
  port: number
  user: string
  password: string
  database: string
}

/** The sessions of this process that have ever asked for an advisory lock. */
const sessions = new Set<Session>()

/** Notes the sessions that take advisory locks. */
export function watchLocks(): void {
  const client = Client.prototype as unknown as { connect(this: Session, ...args: unknown[]): unknown }
  const { connect } = client
  const byConnection = new WeakMap<object, Session>()
  client.connect = function (...args) {
    byConnection.set(this.connection, this)
    return connect.apply(this, args)
  }
  const wire = Connection.prototype as unknown as {
    parse(this: object, query: { text: string }): unknown
    query(this: object, text: string): unknown
  }
  const { parse, query } = wire
  const look = (connection: object, text: string) => {
    const session = byConnection.get(connection)
    if (session && TAKES_LOCK.test(text)) sessions.add(session)
  }
  wire.parse = function (statement) {
    look(this, statement.text)
    return parse.call(this, statement)
  }
  wire.query = function (text) {
    look(this, text)
    return query.call(this, text)
  }
}

/** The advisory locks that sessions of this process hold, as far as their servers answer. */
export async function findLocks(): Promise<Set<string>> {
  for (const session of sessions) if (session.connection.stream.destroyed) sessions.delete(session)
  const found = await Promise.all([...sessions].map(findLocksOf))
  return new Set(found.flat())
}

/** Waits until no locks are held but those from before, and returns the others. */
export async function findNewLocks(before: ReadonlySet<string>, secondsMax: number): Promise<Opened[]> {
  const until = performance.now() + secondsMax * 1000
  for (;;) {
    const names = [...(await findLocks())].filter(name => !before.has(name))
    if (names.length === 0 || performance.now() > until)
      return names.map(name => ({ kind: 'advisory lock', name, stack: '', isOpen: () => true }))
    await sleep(LOOK_MILLISECONDS)
  }
}

async function findLocksOf({ processID, host, port, user, password, database }: Session): Promise<string[]> {
  const client = new Client({ host, port, user, password, database })
  try {
    await client.connect()
    const { rows } = await client.query<{ name: string }>(
      `select concat_ws(' ', classid, objid, 'of session', pid) as name
       from pg_locks where locktype = 'advisory' and granted and pid = $1`,
      [processID],
    )
    return rows.map(({ name }) => name)
  } catch {
    // A server that a test has stopped holds no locks.
    return []
  } finally {
    await client.end().catch(() => {})
  }
}
