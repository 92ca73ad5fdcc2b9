import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueue, type JobKind } from '../../../jobs/enqueue.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { endPauses } from '../../../accounts/grants/store.ts'
import { ALL_KINDS } from '../../../accounts/halves/kind.ts'
import { recordReachChanged } from '../../../accounts/halves/reach.ts'

/** Accounts that restart in one transaction. */
const BATCH_ACCOUNTS = 200
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

/** The accounts to restart: only accounts that could not be reached because of the app, or all. */
type Which = 'misconfigured' | 'all'

const restartAccounts: JobKind<{ appId: string; which: Which; afterId: string }> = {
  name: 'restart_accounts_of_app',
  parse(stored) {
    const { appId, which, afterId } = stored as Record<string, unknown>
    if (typeof appId !== 'string') throw new TypeError('appId is missing')
    if (typeof afterId !== 'string') throw new TypeError('afterId is missing')
    return { appId, which: which === 'all' ? 'all' : 'misconfigured', afterId }
  },
}

/**
 * Restarts the accounts of an app, with the shared mailboxes that they open: the first ones now, and the others in a job. Returns
 * the ids of the first.
 */
export async function restartAccountsOf(unit: UnitOfWork, appId: string, which: Which): Promise<string[]> {
  const { ids, nextId } = await restartBatch(unit, { appId, which, afterId: BEFORE_ALL_IDS })
  if (nextId !== null) await enqueue(unit, restartAccounts, [{ appId, which, afterId: nextId }])
  return ids
}

/** Restarts the other accounts, batch by batch. A job that is run again may restart an account twice. */
export function restartHandler(db: Db, wake: (accountId: string) => void): JobHandler {
  return jobHandler(restartAccounts, async ({ appId, which, afterId }, { tenantId, signal }) => {
    let after: string | null = afterId
    while (after !== null) {
      signal.throwIfAborted()
      const batch: Batch = { appId, which, afterId: after }
      const { ids, nextId }: Restarted = await inTransaction(db, tenantId, unit => restartBatch(unit, batch))
      for (const accountId of ids) wake(accountId)
      after = nextId
    }
  })
}

interface Batch {
  appId: string
  which: Which
  /** The accounts up to this id are done. */
  afterId: string
}

interface Restarted {
  ids: string[]
  /** The last of them if there may be more. */
  nextId: string | null
}

async function restartBatch(unit: UnitOfWork, { appId, which, afterId }: Batch): Promise<Restarted> {
  const isMisconfigured = sql`
    (exists (select from account_half where account_id = account.id
        and problem in ('provider_not_configured', 'oauth_app_secret_unreadable', 'invalid_client'))
      or exists (select from oauth_grant
        where account_id = coalesce(account.delegate_account_id, account.id) and retry_at is not null))`
  const { rows } = await sql<{ id: string }>`
    select id from account
    where tenant_id = ${unit.tenantId} and deleted_at is null and status = 'active'
      and (oauth_app_id = ${appId} or delegate_account_id in (
        select id from account where tenant_id = ${unit.tenantId} and oauth_app_id = ${appId} and deleted_at is null))
      and id > ${afterId} and ${which === 'all' ? sql`true` : isMisconfigured}
    order by id limit ${BATCH_ACCOUNTS} for no key update
  `.execute(unit.sql)
  const ids = rows.map(({ id }) => id)
  await recordReachChanged(unit, ids, ALL_KINDS)
  await endPauses(unit, ids)
  return { ids, nextId: ids.length < BATCH_ACCOUNTS ? null : (ids.at(-1) ?? null) }
}
