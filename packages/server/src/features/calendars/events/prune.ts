import { sql } from 'kysely'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type Clock, systemClock } from '../../../kit/clock.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import { deleteItems, listDeletable } from './delete-items.ts'
import { keptWindow, type WindowDays } from './window.ts'

const ACCOUNTS_AT_ONCE = 100
const ROWS_AT_ONCE = 2_000
/** Members of a series that goes on are kept longer, since members that a provider still reports are compared with them. */
const MEMBERS_KEPT_DAYS = 3

export interface PruneOptions {
  db: Db
  days: WindowDays
  clock?: Clock
}

/** The times before which items, and members of series that go on, must have ended to be deleted. */
interface Limits {
  itemsBefore: Date
  membersBefore: Date
}

/**
 * Deletes what has fallen out of the window, in silence: items that ended before it, and spans and exceptions of series that
 * go on. Several processes may do so at once.
 */
export async function pruneWindows(
  { db, days, clock = systemClock }: PruneOptions,
  signal: AbortSignal,
): Promise<void> {
  const { start } = keptWindow(days, clock.now())
  const limits = { itemsBefore: start, membersBefore: new Date(start.getTime() - MEMBERS_KEPT_DAYS * DAY_MS) }
  let after: string | null = null
  for (;;) {
    const accounts: PrunedAccount[] = await listAccounts(db, after, limits)
    const last = accounts.at(-1)
    if (!last) return
    for (const account of accounts) while ((await pruneSome(db, account, limits)) > 0) signal.throwIfAborted()
    after = last.id
  }
}

interface PrunedAccount {
  id: string
  tenant_id: string
}

async function listAccounts(db: Db, after: string | null, limits: Limits): Promise<PrunedAccount[]> {
  const { rows } = await sql<PrunedAccount>`
    select id, tenant_id from account
    where deleted_at is null and (${after}::uuid is null or id > ${after}::uuid) and (
      exists (select from calendar_event where account_id = account.id and ends_at < ${limits.itemsBefore})
      or exists (select from calendar_span where account_id = account.id and start_at < ${limits.membersBefore}
        and end_at < ${limits.membersBefore}))
    order by id limit ${ACCOUNTS_AT_ONCE}
  `.execute(db)
  return rows
}

/** @returns how many rows it deleted */
function pruneSome(db: Db, { id, tenant_id: tenantId }: PrunedAccount, limits: Limits): Promise<number> {
  return inTransaction(db, tenantId, async unit => {
    await lockingHalf(unit, id, 'calendar').execute(unit.sql)
    const items = await listDeletable(
      unit,
      sql`account_id = ${id} and kind <> 'exception' and ends_at < ${limits.itemsBefore}`,
    )
    await deleteItems(unit, items)
    const spans = await sql`
      delete from calendar_span where id in (
        select id from calendar_span where account_id = ${id} and start_at < ${limits.membersBefore}
          and end_at < ${limits.membersBefore}
        limit ${ROWS_AT_ONCE})
    `.execute(unit.sql)
    const exceptions = await sql`
      delete from calendar_event where id in (
        select exception.id from calendar_event as exception join calendar_event as series on series.id = exception.series_id
        where exception.account_id = ${id} and exception.ends_at < ${limits.membersBefore}
          and exception.original_at + coalesce(series.end_at - series.start_at, interval '0') < ${limits.membersBefore}
        limit ${ROWS_AT_ONCE})
    `.execute(unit.sql)
    const { numAffectedRows: spanCount = 0n } = spans
    const { numAffectedRows: exceptionCount = 0n } = exceptions
    return items.length + Number(spanCount + exceptionCount)
  })
}
