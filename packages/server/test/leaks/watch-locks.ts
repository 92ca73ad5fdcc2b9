import { setTimeout as sleep } from 'node:timers/promises'
import { Client, Connection } from 'pg'
import { inject } from 'vitest'
import type { Left, Owner } from './ledger.ts'

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

/** Connects without being noted: this module is loaded before `watchAll` replaces the function. */
const { connect: connectUnnoted } = Client.prototype as unknown as { connect(this: Client): Promise<void> }

/**
 * The session by which locks on the server of the test run are looked for. It stays, since a new one for each look took a
 * fifth of the time of all tests.
 */
let looking: Promise<Client> | undefined

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
  const { socketFolder } = inject('postgres') ?? {}
  const onShared = [...sessions].filter(({ host }) => host === socketFolder)
  const onOthers = [...sessions].filter(({ host }) => host !== socketFolder)
  const held = await Promise.all([findSharedLocks(onShared), ...onOthers.map(findLocksOf)])
  return new Set(held.flat())
}

/** Locks that were found already. No later test or file is to blame for them. */
const found = new Set<string>()

/** Waits until no locks are held but those from before, and returns the others, each once. */
export async function findNewLocks(
  before: ReadonlySet<string>,
  owner: Owner,
  secondsMax: number,
): Promise<Left[]> {
  const until = performance.now() + secondsMax * 1000
  for (;;) {
    const names = [...(await findLocks())].filter(name => !before.has(name) && !found.has(name))
    if (names.length === 0 || performance.now() > until) {
      for (const name of names) found.add(name)
      return names.map(name => ({
        opened: { kind: 'advisory lock', name, stack: '', isOpen: () => true },
        owner,
      }))
    }
    await sleep(LOOK_MILLISECONDS)
  }
}

/** The locks of sessions on the server of the test run. */
async function findSharedLocks(of: readonly Session[]): Promise<string[]> {
  const [any] = of
  if (!any) return []
  try {
    return await readLocks(await (looking ??= openLooking(any)), of)
  } catch {
    // A test may have ended every session of the server.
    looking = openLooking(any)
    return readLocks(await looking, of)
  }
}

async function openLooking({ host, port, user, password }: Session): Promise<Client> {
  // Not the database of a test, which is dropped.
  const client = new Client({ host, port, user, password, database: 'postgres' })
  client.on('error', () => (looking = undefined))
  await connectUnnoted.call(client)
  ;(client as unknown as { unref(): void }).unref()
  return client
}

async function findLocksOf(session: Session): Promise<string[]> {
  const { host, port, user, password, database } = session
  const client = new Client({ host, port, user, password, database })
  try {
    await client.connect()
    return await readLocks(client, [session])
  } catch {
    // A server that a test has stopped holds no locks.
    return []
  } finally {
    await client.end().catch(() => {})
  }
}

async function readLocks(client: Client, of: readonly Session[]): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select concat_ws(' ', classid, objid, 'of session', pid) as name
     from pg_locks where locktype = 'advisory' and granted and pid = any($1)`,
    [of.map(({ processID }) => processID)],
  )
  return rows.map(({ name }) => name)
}
