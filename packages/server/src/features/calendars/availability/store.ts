import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { CalendarColumns } from '../calendars/rules.ts'
import type { BusyTime, TimeRange } from './busy-times.ts'

/** Busy times of one account in one range that are read. */
const BUSY_MAX = 20_000
/** Busy times that are read for one request. */
const ALL_BUSY_MAX = 100_000
/** The busy times of one account that the first statement reads. Few accounts have more. */
const FIRST_BUSY_MAX = 2_000

interface AccountBusyTime extends BusyTime {
  accountId: string
}

/**
 * The busy times of accounts that reach into a range, in the order of their starts. Null for an account that has too many of
 * them, or if the accounts before it leave no room for them.
 * @param calendarIds the calendars that count
 */
export async function findBusyTimes(
  db: Db,
  { accountIds, calendarIds }: { accountIds: readonly string[]; calendarIds: readonly string[] },
  range: TimeRange,
): Promise<Map<string, BusyTime[] | null>> {
  const found = await readBusyTimes(db, { accountIds, calendarIds, limit: FIRST_BUSY_MAX }, range)
  let left = ALL_BUSY_MAX - [...found.values()].reduce((sum, times) => sum + (times?.length ?? 0), 0)
  for (const [accountId, times] of found) {
    if (times !== null) continue
    const limit = Math.min(left, BUSY_MAX)
    const asked = { accountIds: [accountId], calendarIds, limit }
    const all = limit > FIRST_BUSY_MAX ? (await readBusyTimes(db, asked, range)).get(accountId) : null
    found.set(accountId, all ?? null)
    left -= all?.length ?? 0
  }
  return found
}

/** The busy times of accounts. Null for an account that has more than the limit. */
async function readBusyTimes(
  db: Db,
  {
    accountIds,
    calendarIds,
    limit,
  }: { accountIds: readonly string[]; calendarIds: readonly string[]; limit: number },
  { start, end }: TimeRange,
): Promise<Map<string, BusyTime[] | null>> {
  const [from, to] = [new Date(start), new Date(end)]
  const dayBefore = sql`${from}::timestamptz - interval '24 hours'`
  const counted = (where: RawBuilder<unknown>) => sql`
    select id, start_at, end_at from calendar_span as span
    where span.account_id = asked.account_id and is_busy and end_at > ${from} and end_at > start_at
      and calendar_id = any(${[...calendarIds]}::uuid[]) and ${where}`
  const { rows } = await sql<AccountBusyTime>`
    select asked.account_id as "accountId", busy.id as "eventId",
      (extract(epoch from busy.start_at) * 1000)::float8 as start, (extract(epoch from busy.end_at) * 1000)::float8 as "end"
    from unnest(${[...accountIds]}::uuid[]) as asked (account_id)
    cross join lateral (
      select * from (
        (${counted(sql`start_at >= ${dayBefore} and start_at < ${to}`)})
        union all
        (${counted(sql`start_at < ${dayBefore} and is_long`)})
      ) as span order by start_at, id limit ${limit + 1}
    ) as busy
  `.execute(db)
  const found = new Map<string, BusyTime[] | null>(accountIds.map(id => [id, []]))
  for (const row of rows) {
    const times = found.get(row.accountId) ?? null
    if (times === null) continue
    times.push(row)
    if (times.length > limit) found.set(row.accountId, null)
  }
  return found
}

/** A calendar with the reasons why its busy times may not be those of the provider. */
export interface AskedCalendar extends CalendarColumns {
  accountId: string
  /** Whether a series has more occurrences than the index holds. */
  isTruncated: boolean
}

/** The calendars of accounts, in the order in which they are listed. */
export async function findCalendars(db: Db, accountIds: readonly string[]): Promise<AskedCalendar[]> {
  const { rows } = await sql<AskedCalendar>`
    select account_id as "accountId", id, provider_key, name, description, owner, is_primary, access, can_edit, color,
      time_zone, is_hidden, position,
      id in (select calendar_id from calendar_event where account_id = any(${[...accountIds]}::uuid[]) and is_truncated)
        as "isTruncated"
    from calendar where account_id = any(${[...accountIds]}::uuid[]) and not is_ending
    order by account_id, is_primary desc, position, id
  `.execute(db)
  return rows
}

/** When the calendars of accounts were last found equal to their providers. Accounts without such a time are left out. */
export async function findProvenTimes(db: Db, accountIds: readonly string[]): Promise<Map<string, Date>> {
  const { rows } = await sql<{ accountId: string; verifiedAt: Date }>`
    select account_id as "accountId", verified_at as "verifiedAt" from account_half
    where account_id = any(${[...accountIds]}::uuid[]) and kind = 'calendar' and verified_at is not null
  `.execute(db)
  return new Map(rows.map(({ accountId, verifiedAt }) => [accountId, verifiedAt]))
}
