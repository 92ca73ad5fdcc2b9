import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { bringPaceForward } from './pace.ts'
import { type EntryRow, entryColumns, entryCopy, presentEntry } from './present.ts'
import { bringForward, requireEntry } from './record.ts'
import { recordFound } from './record-task.ts'
import { holding, holdingLast, isReleasable, moving, queuingHeld } from './transitions.ts'

/*
 * A database that went back lacks the sends since then. So entries that were due by then are held: looked for among the
 * sent copies, and given up if they are not found there. Their recipients and their contents are kept, since only people
 * can know whether they were sent, and may release them. Entries that are recorded as handed over are looked up as after
 * any crash.
 */

const wasDue = (at: RawBuilder<unknown>) => sql<boolean>`outbox.due_at <= ${at}`

/**
 * Holds entries that were due when a restore of the database was noticed. The last recipients of a sent message are
 * treated as if the process had died. Nothing is held after a promotion that lost no commit. Call it before anything is
 * claimed.
 */
export async function holdAfterRestore(db: Db): Promise<void> {
  await sql`
    with noticed as (
      update sending_epoch set epoch = feed_epoch.epoch from feed_epoch, sending_epoch as before
      where sending_epoch.epoch <> feed_epoch.epoch
      returning feed_epoch.noticed_epoch is not distinct from feed_epoch.epoch as is_described,
        before.epoch = any(feed_epoch.continues) as is_continued, feed_epoch.noticed_at
    ), restored as (
      -- The clock may have been ahead when it was noticed.
      select case when is_described then least(noticed_at, clock_timestamp()) else clock_timestamp() end as at
      from noticed where not (is_described and is_continued)
    ), held as (
      ${moving(holding(wasDue(sql`restored.at`)), sql`true`, sql`restored`)}
    )
    ${moving(holdingLast(wasDue(sql`restored.at`)), sql`true`, sql`restored`)}
  `.execute(db)
}

/** Number of messages that would be held if a restore were declared now. */
export async function countDue(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from outbox where ${holding(wasDue(sql`clock_timestamp()`)).when}
  `.execute(db)
  return rows[0]!.count
}

/** Releases one entry. Refuses any that was not held, or that was handed over. */
export async function releaseEntry(
  unit: UnitOfWork,
  entry: { accountId: string; id: string },
): Promise<EntryRow> {
  if ((await releaseEntries(unit, entry.accountId, [entry.id])) === 0)
    refuse('send_not_reschedulable', undefined, {
      message: 'Only a send that was held after a restore of the database can be released.',
    })
  return requireEntry(unit, entry)
}

/**
 * Queues entries of an account again that were held, and counts them. If the copy of an entry was found meanwhile, it
 * is sent. Entries are not counted again for the plan.
 */
export async function releaseEntries(
  unit: UnitOfWork,
  accountId: string,
  ids: readonly string[],
): Promise<number> {
  const copied = await lockReleasable(unit, accountId, ids)
  for (const { id, isCopied } of copied)
    if (isCopied) await recordFound(unit, { id, accountId }, { isCopied: true })
  const queued = copied.flatMap(({ id, isCopied }) => (isCopied ? [] : [id]))
  const { rows } = await sql<EntryRow & { event_id: string | null }>`
    with released as (${moving(queuingHeld, sql`id = any(${queued}::uuid[])`)} returning outbox.*)
    select ${entryColumns}, outbox.event_id from released as outbox ${entryCopy}
  `.execute(unit.sql)
  await bringForward(
    unit,
    rows.flatMap(({ due_at: dueAt }) => (dueAt ? [{ accountId, dueAt }] : [])),
  )
  await bringPaceForward(
    unit,
    rows.map(({ id }) => id),
  )
  for (const row of rows.filter(({ event_id: eventId }) => eventId === null))
    unit.announce({ type: 'send.rescheduled', accountId, data: { outbox: presentEntry(row) } })
  return copied.length
}

async function lockReleasable(unit: UnitOfWork, accountId: string, ids: readonly string[]) {
  const { rows } = await sql<{ id: string; isCopied: boolean }>`
    select id, exists (
      select from message where message.outbox_id = outbox.id and message.account_id = outbox.account_id
    ) as "isCopied"
    from outbox where id = any(${[...ids]}::uuid[]) and account_id = ${accountId} and ${isReleasable}
    order by id for update
  `.execute(unit.sql)
  return rows
}

/** The entries that are meant. */
export interface HeldOf {
  tenantId: string
  /** null: of all accounts of the tenant that are not deleted. */
  accountId: string | null
}

/** Number of entries that can be released, by account. */
export async function countReleasable(
  db: Db,
  of: HeldOf,
): Promise<Array<{ accountId: string; count: number }>> {
  const { rows } = await sql<{ accountId: string; count: number }>`
    select outbox.account_id as "accountId", count(*)::int as count from outbox
    where ${isReleasableOf(of)} group by outbox.account_id order by outbox.account_id
  `.execute(db)
  return rows
}

/** The oldest entries that can be released. */
export async function listReleasable(db: Db, of: HeldOf, limit: number): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select outbox.id from outbox where ${isReleasableOf(of)} order by outbox.created_at, outbox.id limit ${limit}
  `.execute(db)
  return rows.map(({ id }) => id)
}

function isReleasableOf({ tenantId, accountId }: HeldOf): RawBuilder<boolean> {
  const ofAccount = accountId === null ? sql`true` : sql`outbox.account_id = ${accountId}`
  return sql`outbox.tenant_id = ${tenantId} and ${ofAccount} and ${isReleasable} and exists (
    select from account where account.id = outbox.account_id and account.deleted_at is null)`
}
