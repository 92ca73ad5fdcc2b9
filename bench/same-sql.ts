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

/** Runs the statements that the service runs for a request, taken from its own query builder, by name through pg. */
export async function openSameSql(
  dataDir: string,
  accountId: string,
  ask: (db: Db, account: { tenantId: string; id: string }) => Promise<unknown>,
) {
  const database = await openItsDatabase(dataDir)
  const { pool } = database
  let statements: { sql: string; parameters: readonly unknown[] }[] = []
  const db = new Kysely<Tables>({
    dialect: new PostgresDialect({ pool }),
    log: event => void statements.push(event.query),
  })
  const { tenant_id: tenantId } = await db
    .selectFrom('account')
    .select('tenant_id')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  statements = []
  await ask(db, { tenantId, id: accountId })
  const queries = statements.map(({ sql, parameters }, nth) => ({
    name: `same ${nth}`,
    text: sql,
    values: [...parameters],
  }))
  const run = async () => {
    const client = await pool.connect()
    for (const query of queries) await client.query(query)
    client.release()
  }
  return { run, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}
