import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, DatabaseError } from 'pg'
import { withShortLocks } from './short-locks.ts'

const INDEX = /^create\s+(?:unique\s+)?index\s+concurrently\s+(?<name>\w+)\s+on\s+(?<table>\w+)/i
const IN_BATCHES = /^(?:update|delete)\b[^]*\blimit\s+(?<limit>\d+)/i
/** Between two batches, for those who wait for the same rows. */
const BATCH_PAUSE_MILLISECONDS = 20

/**
 * Runs a statement of a migration that is not in a transaction. Running it again after it was interrupted completes it.
 */
export async function runOutside(client: Client, statement: string): Promise<void> {
  const index = INDEX.exec(statement)?.groups as { name: string; table: string } | undefined
  if (index && (await isPartitioned(client, index.table)))
    await makePartitionedIndex(client, statement, index)
  else if (index) await makeIndex(client, index.name, statement)
  else if (IN_BATCHES.test(statement)) await changeInBatches(client, statement, BATCH_PAUSE_MILLISECONDS)
  else await client.query(statement)
}

/** Like `runOutside`, in the transaction of the session: for a database that nobody else uses. */
export async function runInside(client: Client, statement: string): Promise<void> {
  if (IN_BATCHES.test(statement)) await changeInBatches(client, statement, 0)
  else await client.query(statement.replace(/\bindex\s+concurrently\b/i, 'index'))
}

/**
 * Ends with the second batch in a row that is not full. It does not wait until none is left, since an older release may
 * add such rows all the time. One batch is not enough, since its rows may have been deleted while it waited for them.
 */
async function changeInBatches(client: Client, statement: string, pauseMilliseconds: number) {
  const limit = Number(IN_BATCHES.exec(statement)?.groups?.['limit'])
  let notFull = 0
  while (notFull < 2) {
    const changed = (await client.query(statement)).rowCount ?? 0
    notFull = changed < limit ? notFull + 1 : 0
    await sleep(pauseMilliseconds)
  }
}

/** Creates an index, in place of one that an interruption left: PostgreSQL maintains such a one and never uses it. */
async function makeIndex(client: Client, name: string, statement: string) {
  const found = await findIndex(client, name)
  if (found?.isValid) return
  if (found) await client.query(`drop index concurrently ${name}`)
  await client.query(statement)
}

async function findIndex(client: Client, name: string) {
  const { rows } = await client.query<{ isValid: boolean }>(
    'select indisvalid as "isValid" from pg_index where indexrelid = to_regclass($1)',
    [name],
  )
  return rows[0]
}

async function isPartitioned(client: Client, table: string) {
  const { rows } = await client.query(`select from pg_class where oid = to_regclass($1) and relkind = 'p'`, [
    table,
  ])
  return rows.length > 0
}

/**
 * PostgreSQL makes no index of a partitioned table concurrently. So the table gets one that is not valid yet, as does
 * each partition that is attached from then on; those that exist get theirs one after the other.
 */
async function makePartitionedIndex(
  client: Client,
  statement: string,
  { name, table }: { name: string; table: string },
) {
  const parent = statement.replace(/\bconcurrently\s+(\w+)\s+on\s+/i, 'if not exists $1 on only ')
  await withShortLocks(client, () => client.query(parent))
  for (;;) {
    const partition = await findLacking(client, name, table)
    if (partition === null) return
    const own = `${partition}_${name}`
    try {
      const its = statement.replace(/(\bconcurrently\s+)\w+(\s+on\s+)\w+/i, `$1${own}$2${partition}`)
      await makeIndex(client, own, its)
      await withShortLocks(client, () => client.query(`alter index ${name} attach partition ${own}`))
    } catch (error) {
      // A partition may be dropped while its index is made.
      if (!(error instanceof DatabaseError) || error.code !== '42P01') throw error
    }
  }
}

/** A partition whose index is not attached to that of the table. */
async function findLacking(client: Client, name: string, table: string): Promise<string | null> {
  const { rows } = await client.query<{ partition: string }>(
    `select relname as partition from pg_inherits join pg_class on pg_class.oid = inhrelid
     where inhparent = $2::regclass and not exists (
       select from pg_index join pg_inherits as attached on attached.inhrelid = indexrelid
       where indrelid = pg_class.oid and attached.inhparent = $1::regclass
     ) order by relname limit 1`,
    [name, table],
  )
  return rows[0]?.partition ?? null
}
