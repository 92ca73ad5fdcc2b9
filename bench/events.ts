import { type Transaction, sql } from 'kysely'
import { type Db, openDatabase } from '../packages/server/src/database/pool.ts'
import type { Tables } from '../packages/server/src/database/tables.ts'
import { inTransaction } from '../packages/server/src/events/unit-of-work.ts'
import { sampleTenant } from '../packages/server/test/sample-rows.ts'
import { short } from './figures.ts'
import { compareLoad } from './load.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase } from './same-sql.ts'
import { startBenchService } from './service.ts'

const TENANTS = 50
const WRITERS = 16
const ROWS = 10_000
const DATA = { message: 'x'.repeat(300) }

export const events: Benchmark = {
  name: 'events',
  about:
    'Transactions that change a row and announce an event, by 16 writers in 50 tenants, compared with the same ' +
    'without the lock of the tenant.',
  async run(report) {
    await using service = await startBenchService()
    await using its = await openItsDatabase(service.folder.path)
    await using database = openDatabase({ address: its.address, applicationName: 'waxwing bench' })
    const { db } = database
    const tenants: string[] = []
    for (let nth = 0; nth < TENANTS; nth++) tenants.push((await sampleTenant(db)).id)
    await sql`create table bench_row (id integer primary key, number integer not null)`.execute(db)
    await sql`insert into bench_row select n, 0 from generate_series(0, ${ROWS}::int) as n`.execute(db)

    const { ordered, plain } = await compareLoad(WRITERS, {
      ordered: () => appendInOrder(db, pick(tenants)),
      plain: () => appendWithoutLock(db, pick(tenants)),
    })
    report({
      measure: `${WRITERS} writers, ${TENANTS} tenants, transactions per second`,
      result: short(ordered.perSecond),
      yardstick: `without the lock ${short(plain.perSecond)}`,
      ratio: ordered.perSecond / plain.perSecond,
      target: '≥ 0.85',
      cpu: ordered.cpu,
    })
  },
}

const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)]!

function changeRow(tx: Transaction<Tables>) {
  const id = Math.floor(Math.random() * ROWS)
  return sql`update bench_row set number = number + 1 where id = ${id}`.execute(tx)
}

function appendInOrder(db: Db, tenantId: string): Promise<void> {
  return inTransaction(db, tenantId, async unit => {
    await changeRow(unit.sql)
    unit.announce({ type: 'webhook.test', accountId: null, data: DATA })
  })
}

/** The statements of `appendInOrder` but for the lock. */
function appendWithoutLock(db: Db, tenantId: string): Promise<void> {
  return db.transaction().execute(async tx => {
    await changeRow(tx)
    await sql`
      insert into event (tenant_id, id, account_id, type, data)
      select ${tenantId}::uuid, nextval('event_id'), account_id, type, data
      from unnest(${[null]}::uuid[], ${['webhook.test']}::text[], ${[JSON.stringify(DATA)]}::json[])
        as announced (account_id, type, data)
    `.execute(tx)
  })
}
