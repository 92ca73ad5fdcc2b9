import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Tables } from '../../../database/tables.ts'
import { emptyAccountEvents } from '../../../events/retention.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { deleteTokensOf } from '../../tenancy/credentials/store.ts'

const BATCH_ROWS = 2000

interface PurgedAccount {
  id: string
  tenantId: string
  externalRef: string | null
}

/**
 * Deletes everything that a later wing keeps of an account: files first, then rows. Returns early when the signal aborts,
 * and is repeated until it has run to its end.
 */
export type PurgeStep = (accountId: string, signal: AbortSignal) => Promise<void>

/** Purges every deleted account that is due. An interrupted purge continues with what is left. */
export async function purgeDueAccounts(
  db: Db,
  steps: readonly PurgeStep[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const row = await db
      .selectFrom('account')
      .select(['id', 'tenant_id', 'external_ref'])
      .where('deleted_at', 'is not', null)
      .where('purged_at', 'is', null)
      .where('purge_after', '<=', sql<Date>`clock_timestamp()`)
      .orderBy('purge_after')
      .limit(1)
      .executeTakeFirst()
    if (!row) return
    for (const purge of steps) await purge(row.id, signal)
    await purgeAccount(db, { id: row.id, tenantId: row.tenant_id, externalRef: row.external_ref }, signal)
  }
}

/** Removes everything about an account except its id, and announces `account.purged` in the last step. */
async function purgeAccount(db: Db, account: PurgedAccount, signal: AbortSignal): Promise<void> {
  await deleteTokensOf(db, account.id)
  await deleteOfAccount(db, ['account_secret'], account.id, signal)
  await emptyAccountEvents(db, account, signal)
  if (signal.aborted) return

  await inTransaction(db, account.tenantId, async unit => {
    const { numUpdatedRows } = await unit.sql
      .updateTable('account')
      .set({
        email: '',
        display_name: null,
        external_ref: null,
        oauth_app_id: null,
        status_reason: null,
        settings_override: '{}',
        imap: null,
        // From now on, copies of its sealed values in backups of the database are unreadable.
        data_key: null,
        runtime_state: null,
        runtime_detail: null,
        // A process that still holds the account can no longer write.
        owner_instance: null,
        owner_epoch: sql`owner_epoch + 1`,
        purged_at: sql`clock_timestamp()`,
      })
      .where('id', '=', account.id)
      .where('purged_at', 'is', null)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) return
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
