import { type RawBuilder, sql } from 'kysely'
import type { OutboxStatus } from '@waxwing/contract/sending/outbox.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { discardingContent } from './content.ts'
import { bringPaceForward } from './pace.ts'
import { type EntryRow, presentEntry } from './present.ts'
import { type SendError } from './rules.ts'
import { planSendTime } from './schedule.ts'
import { findEntry } from './store.ts'
import { cancelling, moving, rescheduling } from './transitions.ts'

/*
 * Rows are locked in one order: entries, then the row of their account, then that of their merge. Only a claim takes the
 * account first, and it passes over entries that are locked.
 */

interface EntryId {
  accountId: string
  id: string
}

/** Moves a queued entry to another time, or to now for null. Refuses an entry that is no longer queued. */
export async function recordRescheduled(
  unit: UnitOfWork,
  entry: EntryId,
  sendAt: Date | null,
): Promise<EntryRow> {
  const { status, now } = await lockEntry(unit, entry)
  if (status !== 'queued') refuse('send_not_reschedulable')
  const planned = planSendTime(now, sendAt, 0)
  if (typeof planned === 'string')
    refuse('invalid_input', { issues: [{ path: ['sendAt'], message: planned }] })
  const moved = rescheduling(planned, { isScheduled: sendAt !== null })
  await moving(moved, sql`id = ${entry.id}`).execute(unit.sql)
  await bringForward(unit, [{ accountId: entry.accountId, dueAt: planned }])
  await bringPaceForward(unit, [entry.id])
  const row = await requireEntry(unit, entry)
  unit.announce({ type: 'send.rescheduled', accountId: entry.accountId, data: { outbox: presentEntry(row) } })
  return row
}

/** Cancels a queued entry. Refuses an entry that is no longer queued. */
export async function recordCancelled(unit: UnitOfWork, entry: EntryId): Promise<void> {
  const { status } = await lockEntry(unit, entry)
  if (status !== 'queued') refuse('send_not_cancellable')
  await cancelEntries(unit, [entry.id])
}

/**
 * Cancels entries that are locked. A message that was sent to some of its recipients is not sent to the others. Neither
 * causes an event: the first was requested, and the second happens only to deleted accounts, of which nothing can be
 * read any more.
 */
export async function cancelEntries(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
  await moving(cancelling, sql`id = any(${[...ids]}::uuid[])`).execute(unit.sql)
  await sql`
    with ${discardingContent(sql`
      outbox_id in (select id from outbox where id = any(${[...ids]}::uuid[]) and status = 'cancelled')`)}
    select
  `.execute(unit.sql)
}

async function lockEntry(
  unit: UnitOfWork,
  { accountId, id }: EntryId,
): Promise<{ status: OutboxStatus; now: Date }> {
  const { rows } = await sql<{ status: OutboxStatus; now: Date }>`
    select status, clock_timestamp() as now from outbox
    where id = ${id} and account_id = ${accountId} and origin = 'send' for update
  `.execute(unit.sql)
  return rows[0] ?? refuse('send_not_found')
}

export async function requireEntry(unit: UnitOfWork, { accountId, id }: EntryId): Promise<EntryRow> {
  const row = await findEntry(unit.sql, accountId, id)
  if (!row) throw new Error(`The entry ${id} of the outbox is gone`)
  return row
}

/**
 * Makes sure that accounts are looked at when an attempt is due, or when their pause ends. Their time is only ever brought
 * forward here; a claim, which sees all entries of an account, sets it back. They are locked in the order of their ids.
 */
export async function bringForward(
  unit: UnitOfWork,
  attempts: ReadonlyArray<{ accountId: string; dueAt: Date }>,
): Promise<void> {
  if (attempts.length === 0) return
  const given = sql`unnest(
      ${attempts.map(({ accountId }) => accountId)}::uuid[], ${attempts.map(({ dueAt }) => dueAt)}::timestamptz[]
    ) as attempt (account_id, due_at)`
  await bringingForward(unit.tenantId, given).execute(unit.sql)
}

/** The statement of `bringForward`. @param attempts with `account_id` and `due_at` */
export function bringingForward(tenantId: string, attempts: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into sending_account as held (account_id, tenant_id, due_at)
    select account_id, ${tenantId}, min(due_at) from ${attempts}
    group by account_id order by account_id
    on conflict (account_id) do update set due_at = least(held.due_at, greatest(excluded.due_at, held.paused_until))`
}

/**
 * Has a row if the account of a new entry is already looked at in time, so that `bringForward` is not needed. The
 * shared lock keeps claims from setting the time back before the entry is committed, and lets others be accepted
 * meanwhile.
 */
export function lookedAt(entry: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select from sending_account as held
    where held.account_id = ${entry}.account_id
      and held.due_at <= greatest(${entry}.due_at, held.paused_until) for key share of held`
}

/** Announces the present state of an entry. Nothing is announced of an invitation. */
export async function announceSend(
  unit: UnitOfWork,
  entry: EntryId,
  what: { type: 'send.sent' } | { type: 'send.retrying' | 'send.failed'; error: SendError },
): Promise<void> {
  const { accountId } = entry
  const row = await findEntry(unit.sql, accountId, entry.id)
  if (!row) return
  const outbox = presentEntry(row)
  unit.announce(
    what.type === 'send.sent'
      ? { type: what.type, accountId, data: { outbox } }
      : { type: what.type, accountId, data: { outbox, error: what.error } },
  )
}
