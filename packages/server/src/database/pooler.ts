import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { clientSettings, type DatabaseAddress } from './pool.ts'

/** Thrown with an explanation if the pooler before a database does not keep what the service needs. */
export class PoolerUnsuitable extends Error {}

const ANSWER_SECONDS = 5
/** A busy pooler may happen to give two clients the sessions that they had before. */
const ROUNDS = 3

/**
 * Refuses a pooler that gives a client another session of the database in each transaction. Notices, advisory locks and
 * prepared statements belong to a session: without them work would be done twice, or late.
 */
export async function requireKeptSessions(address: DatabaseAddress): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    if (await keepsSessions(address)) continue
    throw new PoolerUnsuitable(
      'The pooler before the database gives each transaction another session, and Waxwing needs sessions of its own. ' +
        'Set pool_mode = session in pgbouncer.ini for this database, or let DATABASE_URL name the database itself.',
    )
  }
}

/** Marks the session of a client, and looks whether another client finds the mark, or the first one no longer. */
async function keepsSessions(address: DatabaseAddress): Promise<boolean> {
  const mark = randomUUID()
  await using one = await open(address)
  await using other = await open(address)
  await one.client.query(`select set_config('waxwing.session', $1, false)`, [mark])
  const readMark = async ({ client }: Opened) => {
    const { rows } = await client.query<{ mark: string | null }>(
      `select current_setting('waxwing.session', true) as mark`,
    )
    return rows[0]?.mark ?? null
  }
  // As long as its transaction is open, the session is not given to anybody else.
  await other.client.query('begin')
  return (await readMark(other)) !== mark && (await readMark(one)) === mark
}

type Opened = Awaited<ReturnType<typeof open>>

async function open(address: DatabaseAddress) {
  const client = new Client({
    ...clientSettings(address, 'waxwing session check'),
    connectionTimeoutMillis: ANSWER_SECONDS * 1_000,
    query_timeout: ANSWER_SECONDS * 1_000,
  })
  client.on('error', () => {}) // the running query rejects with the same error
  await client.connect()
  return { client, [Symbol.asyncDispose]: () => client.end() }
}
