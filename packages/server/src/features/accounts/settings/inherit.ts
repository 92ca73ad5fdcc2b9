import type { TenantSettings } from '@waxwing/contract/accounts/settings.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { type UnitOfWork, inTransaction } from '../../../events/unit-of-work.ts'
import { type JobKind, enqueue } from '../../../jobs/enqueue.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { newId } from '../../../kit/ids.ts'
import { lockTenantSettings } from '../../tenancy/settings/store.ts'
import { presentAccount, changedFields } from '../../../accounts/present.ts'
import { accountViews } from '../../../accounts/store.ts'
import type { HalfKind } from '../../../accounts/halves/kind.ts'
import { lockHalves } from '../../../accounts/halves/lock-in-order.ts'
import { addLackingHalves } from '../../../accounts/halves/rows.ts'
import { mustRestart, recordReachChanged } from '../../../accounts/halves/reach.ts'

/** Accounts that are announced in one transaction. */
const BATCH_ACCOUNTS = 500
const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

const announceSettings: JobKind<{ announcementId: string }> = {
  name: 'announce_settings',
  parse(stored) {
    const { announcementId } = stored as { announcementId: unknown }
    if (typeof announcementId !== 'string') throw new TypeError('announcementId is missing')
    return { announcementId }
  },
}

/**
 * Announces `account.updated` for each account that a change of its tenant's settings affects, and restarts the
 * accounts whose sync depends on it: the first ones now, and the others in a job. Returns the ids of the first that
 * restart. The tenant's row must be locked and contain `after` already.
 */
export async function inheritSettings(
  unit: UnitOfWork,
  before: TenantSettings,
  after: TenantSettings,
): Promise<string[]> {
  const { restarted, nextId } = await inheritBatch(unit, {
    before,
    after,
    afterId: BEFORE_ALL_IDS,
    changedAt: null,
  })
  if (nextId !== null) {
    const announcementId = newId()
    await sql`
      insert into settings_announcement (id, tenant_id, before, after_id)
      values (${announcementId}, ${unit.tenantId}, ${JSON.stringify(before)}::jsonb, ${nextId})
    `.execute(unit.sql)
    await enqueue(unit, announceSettings, [{ announcementId }])
  }
  return restarted
}

/**
 * Announces to the other accounts, batch by batch. The row of the announcement moves on in the transaction of the batch,
 * so however often the job is interrupted, each account is announced once.
 */
export function announceSettingsHandler(db: Db, wake: (accountId: string) => void): JobHandler {
  return jobHandler(announceSettings, async ({ announcementId }, { tenantId, signal }) => {
    for (;;) {
      signal.throwIfAborted()
      const restarted = await inTransaction(db, tenantId, unit => announceNext(unit, announcementId))
      if (restarted === null) return
      for (const accountId of restarted) wake(accountId)
    }
  })
}

/** Announces the next batch. @returns the ids of the accounts that restart; null if all are announced */
async function announceNext(unit: UnitOfWork, announcementId: string): Promise<string[] | null> {
  // The events announce the present state of the accounts, after any later change.
  const after = await lockTenantSettings(unit)
  const { rows } = await sql<{ before: TenantSettings; after_id: string; created_at: Date }>`
    select before, after_id, created_at from settings_announcement
    where id = ${announcementId} and tenant_id = ${unit.tenantId} for update
  `.execute(unit.sql)
  const [announcement] = rows
  if (!announcement) return null
  const { restarted, nextId } = await inheritBatch(unit, {
    before: announcement.before,
    after,
    afterId: announcement.after_id,
    changedAt: announcement.created_at,
  })
  await (
    nextId === null
      ? sql`delete from settings_announcement where id = ${announcementId}`
      : sql`update settings_announcement set after_id = ${nextId} where id = ${announcementId}`
  ).execute(unit.sql)
  return restarted
}

interface Batch {
  before: TenantSettings
  after: TenantSettings
  /** The accounts up to this id are done. */
  afterId: string
  /** Accounts that were connected later had the settings from the beginning. Null: just now. */
  changedAt: Date | null
}

/** @returns the ids of the accounts that restart, and the id up to which accounts are done; null if all are */
async function inheritBatch(
  unit: UnitOfWork,
  { before, after, afterId, changedAt }: Batch,
): Promise<{ restarted: string[]; nextId: string | null }> {
  const restarted: string[] = []
  const byKind = new Map<HalfKind, string[]>()
  const views = await accountViews(unit.sql, unit.tenantId)
    .where('account.id', '>', afterId)
    .$if(changedAt !== null, query => query.where('account.created_at', '<=', changedAt!))
    .orderBy('account.id')
    .limit(BATCH_ACCOUNTS)
    // Nothing may be announced after the deletion of an account, and its halves are locked only under this lock.
    .forNoKeyUpdate('account')
    .execute()
  for (const view of views) {
    const shownBefore = presentAccount({ ...view, tenant_settings: before })
    const account = presentAccount({ ...view, tenant_settings: after })
    const changes = changedFields(shownBefore, account)
    if (changes.length === 0) continue
    unit.announce({ type: 'account.updated', accountId: view.id, data: { account, changes } })
    const restarting = mustRestart(shownBefore.settings, account.settings)
    if (restarting.size === 0) continue
    for (const kind of restarting) byKind.set(kind, [...(byKind.get(kind) ?? []), view.id])
    restarted.push(view.id)
  }
  // Before any is written, in the order in which everybody locks halves: account by account.
  if (byKind.size > 1) await lockHalves(unit, restarted, byKind.keys())
  for (const [kind, ids] of byKind) await recordReachChanged(unit, ids, new Set([kind]))
  const isRestarted = new Set(restarted)
  await addLackingHalves(
    unit,
    views.filter(({ id }) => isRestarted.has(id)).map(view => ({ ...view, tenant_settings: after })),
  )
  const isLast = views.length < BATCH_ACCOUNTS
  return { restarted, nextId: isLast ? null : (views.at(-1)?.id ?? null) }
}
