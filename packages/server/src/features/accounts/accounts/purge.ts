import type { PurgeStep } from '../../../wing/purge-step.ts'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { emptyAccountEvents } from '../../../events/retention.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { Logger } from '../../../kit/log.ts'
import { recordPurged, recordPurgeFailed, recordPurgeInterrupted } from '../../../accounts/record-purged.ts'
import { deleteTokensOf } from '../../tenancy/credentials/store.ts'

const BATCH_ROWS = 2000
/** A purge that takes longer goes on after those that are due. */
const TURN_SECONDS = 300

interface PurgedAccount {
  id: string
  tenantId: string
  externalRef: string | null
}

export interface Purging {
  db: Db
  steps: readonly PurgeStep[]
  log: Logger
}

/**
 * Purges every deleted account that is due. An interrupted purge continues with what is left. One that fails is tried
 * again after a pause, and one that takes long lets others go first after each turn.
 */
export async function purgeDueAccounts(purging: Purging, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const account = await findDueAccount(purging.db)
    if (!account) return
    await purgeForTurn(purging, account, signal)
  }
}

async function findDueAccount(db: Db): Promise<PurgedAccount | null> {
  const row = await db
    .selectFrom('account')
    .select(['id', 'tenant_id', 'external_ref'])
    .where('deleted_at', 'is not', null)
    .where('purged_at', 'is', null)
    .where('purge_after', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('purge_after')
    .limit(1)
    .executeTakeFirst()
  return row ? { id: row.id, tenantId: row.tenant_id, externalRef: row.external_ref } : null
}

async function purgeForTurn(
  { db, steps, log }: Purging,
  account: PurgedAccount,
  signal: AbortSignal,
): Promise<void> {
  const turn = AbortSignal.any([signal, AbortSignal.timeout(TURN_SECONDS * 1_000)])
  try {
    for (const purge of steps) await purge(account.id, turn)
    await purgeAccount(db, account, turn)
    if (turn.aborted) await recordPurgeInterrupted(db, account.id)
  } catch (error) {
    log.error({ error, accountId: account.id }, 'A purge failed; it is tried again')
    await recordPurgeFailed(db, account.id)
  }
}

/** Purges that have failed and are tried again, and for how long the oldest account has been deleted. */
export async function measureFailingPurges(db: Db): Promise<{ count: number; oldestSeconds: number }> {
  const { rows } = await sql<{ count: number; seconds: number }>`
    select count(*)::int as count,
      coalesce(extract(epoch from clock_timestamp() - min(deleted_at)), 0)::float8 as seconds
    from account where purge_failures > 0
  `.execute(db)
  return { count: rows[0]?.count ?? 0, oldestSeconds: rows[0]?.seconds ?? 0 }
}

/** Removes everything about an account except its id, and announces `account.purged` in the last step. */
async function purgeAccount(db: Db, account: PurgedAccount, signal: AbortSignal): Promise<void> {
  await deleteTokensOf(db, account.id)
  const tables = [
    'account_secret',
    'gmail_watch',
    'calendar_channel',
    'graph_subscription',
    'half_subscription',
    'oauth_grant',
    'connect_session',
  ] as const
  await deleteOfAccount(db, tables, account.id, signal)
  await emptyAccountEvents(db, account, signal)
  if (signal.aborted) return

  await inTransaction(db, account.tenantId, async unit => {
    if (!(await recordPurged(unit, account.id))) return
    const { id: accountId, externalRef } = account
    unit.announce({ type: 'account.purged', accountId: null, data: { accountId, externalRef } })
  })
}

/** Deletes every row of an account from tables with a column `account_id`, one table after the other. */
export async function deleteOfAccount(
  db: Db,
  tables: readonly (keyof Tables)[],
  accountId: string,
  signal: AbortSignal,
): Promise<void> {
  for (const table of tables) {
    await deleteInBatches(
      db,
      signal,
      rowsMax => sql`
        delete from ${sql.table(table)} where ctid = any(array(
          select ctid from ${sql.table(table)} where account_id = ${accountId} limit ${rowsMax}))`,
    )
  }
}

/** Repeats a statement that deletes at most `rowsMax` rows until none is left, each in a transaction of its own. */
export async function deleteInBatches(
  db: Db,
  signal: AbortSignal,
  deleteBatch: (rowsMax: number) => RawBuilder<unknown>,
): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await deleteBatch(BATCH_ROWS).execute(db)
    if (numAffectedRows === 0n) return
  }
}
