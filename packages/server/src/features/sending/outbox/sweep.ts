import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordRefusals } from '../bounces/record-refusals.ts'
import { failedInvitation } from '../invitations/failures.ts'
import { suspendedTenants } from '../../tenancy/tenants/store.ts'
import { addNews, type EndNews, noNews } from './end-news.ts'
import { sweepPaces } from './pace.ts'
import { announceSend, cancelEntries } from './record.ts'
import { discardContent } from './record-attempt.ts'
import { recordFound } from './record-task.ts'
import { planGivenUp, type RejectedRecipient, type SendError } from './rules.ts'
import { LAST_ATTEMPT_HOURS } from './schedule.ts'
import { givingUp, moving } from './transitions.ts'

const BATCH_ROWS = 200
const RETENTION_DAYS = 30
/** Days for which sends are counted: longer than any clock is wrong. */
const COUNTED_DAYS = 7

interface Found {
  id: string
  tenant_id: string
  account_id: string
}

/** Cancels queued entries of accounts that were deleted. */
export async function cancelOfDeleted(
  db: Db,
  accountIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  await inBatches(
    db,
    signal,
    sql`
      select outbox.id, outbox.tenant_id, outbox.account_id from outbox
      join account on account.id = outbox.account_id and account.deleted_at is not null
      where outbox.account_id = any(${[...accountIds]}::uuid[]) and outbox.due_at is not null
      limit ${BATCH_ROWS}`,
    async (unit, ids) => {
      const held = await lockQueued(unit, ids)
      await cancelEntries(
        unit,
        held.map(({ id }) => id),
      )
    },
  )
}

/**
 * Gives up entries that were held back for 48 hours, since their account or its server could not be used. A message
 * that was never tried, since the service was down, is not given up before its server has been in trouble for as long.
 * Entries of suspended tenants wait.
 */
export async function failHeldBack(db: Db, signal: AbortSignal): Promise<EndNews> {
  const news = noNews()
  await inBatches(
    db,
    signal,
    sql`
      select outbox.id, outbox.tenant_id, outbox.account_id from outbox
      join account on account.id = outbox.account_id
      join sending_account as held on held.account_id = outbox.account_id
      where outbox.due_at is not null and account.deleted_at is null
        and outbox.tenant_id not in (${suspendedTenants})
        and outbox.send_at < clock_timestamp() - make_interval(hours => ${LAST_ATTEMPT_HOURS})
        and (
          account.status <> 'active' or (
            held.paused_until > clock_timestamp()
            and coalesce(outbox.dated_at, held.troubled_since)
              < clock_timestamp() - make_interval(hours => ${LAST_ATTEMPT_HOURS})
          )
        )
      order by outbox.send_at limit ${BATCH_ROWS}`,
    async (unit, ids) => {
      for (const entry of await lockQueued(unit, ids))
        addNews(news, await failEntry(unit, entry, holdingError(entry)))
    },
  )
  return news
}

/** Losses after which a message is given up: something in it seems to end the process that sends it. */
const LOSSES_MAX = 10
const TOO_MANY_LOSSES: SendError = {
  reason: 'provider_unavailable',
  message: `The service ended ${LOSSES_MAX} times while it was about to send the message.`,
}

/** Gives up entries that were about to be sent each time when a process died. */
export async function failOftenLost(db: Db, signal: AbortSignal): Promise<EndNews> {
  const news = noNews()
  await inBatches(
    db,
    signal,
    sql`
      select id, tenant_id, account_id from outbox
      where due_at is not null and losses >= ${LOSSES_MAX} limit ${BATCH_ROWS}`,
    async (unit, ids) => {
      for (const entry of await lockQueued(unit, ids))
        addNews(news, await failEntry(unit, entry, TOO_MANY_LOSSES))
    },
  )
  return news
}

/** Makes sends whose outcome was unknown `sent`, once their copies turn up in the index. */
export async function settleByCopies(db: Db, signal: AbortSignal): Promise<void> {
  await inBatches(
    db,
    signal,
    sql`
      select outbox.id, outbox.tenant_id, outbox.account_id from outbox
      where outbox.status = 'failed' and outbox.error_reason = 'outcome_unknown'
        and exists (
          select from message where message.outbox_id = outbox.id and message.account_id = outbox.account_id)
      limit ${BATCH_ROWS}`,
    async (unit, ids, found) => {
      for (const { id, account_id: accountId } of found)
        if (ids.includes(id)) await recordFound(unit, { id, accountId }, { isCopied: true })
    },
  )
}

/** Deletes entries that ended long ago, the remains of their merges, and old counts. */
export async function sweepEntries(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from outbox where id in (
        select id from outbox
        where ended_at < clock_timestamp() - make_interval(days => ${RETENTION_DAYS})
          and due_at is null and phase is null and task is null
        limit ${BATCH_ROWS} for update skip locked
      )`.execute(db)
    if (numAffectedRows < BATCH_ROWS) break
  }
  await sweepPaces(db)
  await sql`
    delete from tenant_sends
    where day < (clock_timestamp() at time zone 'UTC')::date - ${COUNTED_DAYS}::int`.execute(db)
}

/** Works on the rows that a statement finds, batch by batch, in one transaction for each tenant. */
export async function inBatches(
  db: Db,
  signal: AbortSignal,
  find: ReturnType<typeof sql>,
  work: (unit: UnitOfWork, ids: string[], found: readonly Found[]) => Promise<void>,
): Promise<void> {
  let last = ''
  while (!signal.aborted) {
    const found = (await find.execute(db)).rows as Found[]
    const key = found.map(({ id }) => id).join()
    // Entries that cannot be changed now are left to the next sweep.
    if (found.length === 0 || key === last) return
    last = key
    for (const [tenantId, rows] of Map.groupBy(found, row => row.tenant_id)) {
      const ids = rows.map(({ id }) => id)
      await inTransaction(db, tenantId, unit => work(unit, ids, rows))
    }
  }
}

interface HeldEntry {
  id: string
  account_id: string
  event_id: string | null
  is_sent: boolean
  waiting: string[]
  rejected: RejectedRecipient[]
  account_status: string
  pause_reason: SendError['reason'] | null
  pause_message: string | null
}

async function lockQueued(unit: UnitOfWork, ids: readonly string[]): Promise<HeldEntry[]> {
  const { rows } = await sql<HeldEntry>`
    select outbox.id, outbox.account_id, outbox.event_id, outbox.status = 'sent' as is_sent, waiting, rejected,
      account.status as account_status, held.pause_reason, held.pause_message
    from outbox join account on account.id = outbox.account_id
    join sending_account as held on held.account_id = outbox.account_id
    where outbox.id = any(${[...ids]}::uuid[]) and outbox.due_at is not null
    order by outbox.id for update of outbox skip locked
  `.execute(unit.sql)
  return rows
}

async function failEntry(unit: UnitOfWork, entry: HeldEntry, error: SendError): Promise<EndNews> {
  const { is_sent: isSent, rejected } = entry
  const next = planGivenUp({ isSent, rejected }, entry.waiting, error)
  const { numAffectedRows = 0n } = await moving(givingUp(next, error), sql`id = ${entry.id}`).execute(
    unit.sql,
  )
  if (numAffectedRows === 0n) return noNews()
  await discardContent(unit, entry.id)
  const attempt = { id: entry.id, accountId: entry.account_id, eventId: entry.event_id }
  if (!isSent) await announceSend(unit, attempt, { type: 'send.failed', error })
  // No server has refused these recipients, so none is suppressed.
  const { counts } = await recordRefusals(unit, [{ attempt, next }])
  const failed = failedInvitation(unit.tenantId, attempt, next)
  return { counts, failed: failed ? [failed] : [] }
}

const HOLDING: Readonly<Record<string, SendError>> = {
  paused: { reason: 'account_paused', message: 'The account was paused for 48 hours.' },
  disabled: { reason: 'account_disabled', message: 'The account was disabled for 48 hours.' },
  reauth_required: {
    reason: 'account_reauth_required',
    message: 'The account had to be connected again for 48 hours.',
  },
}

function holdingError(entry: HeldEntry): SendError {
  const ofAccount = HOLDING[entry.account_status]
  if (ofAccount) return ofAccount
  return {
    reason: entry.pause_reason ?? 'provider_unavailable',
    message: entry.pause_message ?? 'The server could not be used for 48 hours.',
  }
}
