import { Kysely, PostgresDialect } from 'kysely'
import { Pool } from 'pg'
import { openEmbedded } from '../packages/server/src/database/embedded/embedded.ts'
import { clientSettings, type Db } from '../packages/server/src/database/pool.ts'
import type { Tables } from '../packages/server/src/database/tables.ts'
import { silentLog } from '../packages/server/src/kit/log.ts'

/** Opens a separate connection to the database of a running service. */
export async function openItsDatabase(dataDir: string) {
  const embedded = await openEmbedded({ dataDir, as: 'command', log: silentLog })
  const pool = new Pool({ ...clientSettings(embedded.address, 'waxwing bench'), max: 16 })
  return {
    pool,
    address: embedded.address,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await embedded[Symbol.asyncDispose]()
    },
  }
}

/** Takes the statements that the service runs for a request from its own query builder. @returns runs them by name */
export async function sameStatements(
  pool: Pool,
  ask: (db: Db) => Promise<unknown>,
): Promise<() => Promise<void>> {
  const statements: { sql: string; parameters: readonly unknown[] }[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: event => void statements.push(event.query),
  })
  await ask(db)
  const queries = statements.map(({ sql, parameters }, nth) => ({
    name: `same ${nth}`,
    text: sql,
    values: [...parameters],
  }))
  return async () => {
    const client = await pool.connect()
    for (const query of queries) await client.query(query)
    client.release()
  }
}

/** As `sameStatements`, for a request about an account. */
export async function openSameSql(
  dataDir: string,
  accountId: string,
  ask: (db: Db, account: { tenantId: string; id: string }) => Promise<unknown>,
) {
  const database = await openItsDatabase(dataDir)
  const { pool } = database
  const { rows } = await pool.query<{ tenant_id: string }>('select tenant_id from account where id = $1', [
    accountId,
  ])
  const tenantId = rows[0]!.tenant_id
  const run = await sameStatements(pool, db => ask(db, { tenantId, id: accountId }))
  return { run, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}
