import { sql } from 'kysely'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ChangedPart, EventChange, ItemPlace } from '../../../providers/changing-calendars.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import type { AskedChange } from './ask-events.ts'

/** A write of several calls to the provider, so that it may be found half done. */
export interface WriteIntent {
  place: ItemPlace
  part: ChangedPart
  change: EventChange
  /** The calendar that the item is moved to; null: it stays. */
  toCalendarKey: string | null
  /** The id of the item in the index. */
  itemId: string
  notify: boolean
  concernsOthers: boolean
}

/** The intent of a change; null if that takes one call. */
export function intentOf(
  { target, place, part, change, toCalendarKey, concernsOthers }: AskedChange,
  notify: boolean,
): WriteIntent | null {
  if (part.type !== 'following' && toCalendarKey === null) return null
  return { place, part, change, toCalendarKey, itemId: target.root.id, notify, concernsOthers }
}

/** Time for which nobody else does the calls of a write, unless its lease is renewed. */
export const LEASE_SECONDS = 60
const RENEWAL_SECONDS = 15
const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`

/** Notes a write before its first call. The id is that of its creation. Refuses while another write of that place is unfinished. */
export async function beginIntent(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  intent: WriteIntent,
): Promise<void> {
  // So that two writes see each other.
  await lockCalendars(unit, accountId)
  const { rows: others } = await sql`
    select from calendar_intent
    where account_id = ${accountId} and id <> ${id} and intent -> 'place' = ${JSON.stringify(intent.place)}::jsonb
  `.execute(unit.sql)
  if (others.length > 0)
    refuse('provider_conflict', undefined, {
      message: 'Another write of this event is not finished yet. Try again in two minutes.',
    })
  await sql`
    insert into calendar_intent (id, account_id, intent, leased_until)
    values (${id}, ${accountId}, ${JSON.stringify(intent)}::jsonb, ${leaseEnd})
    on conflict (id) do update set leased_until = ${leaseEnd}
  `.execute(unit.sql)
}

/** Does the calls of a write, and records them, while nobody else may do them. */
export async function whileLeased<T>(db: Db, id: string, work: () => Promise<T>): Promise<T> {
  const renew = () =>
    sql`update calendar_intent set leased_until = ${leaseEnd} where id = ${id}`.execute(db).catch(() => {})
  const renewing = setInterval(renew, RENEWAL_SECONDS * 1_000)
  try {
    return await work()
  } finally {
    clearInterval(renewing)
  }
}

/** Ends a write, in the transaction that records it, or because it has certainly not begun. */
export async function endIntent(unit: UnitOfWork, accountId: string, id: string): Promise<void> {
  await sql`delete from calendar_intent where account_id = ${accountId} and id = ${id}`.execute(unit.sql)
}

/** A write that nobody is doing any more. */
export interface LeftIntent {
  id: string
  intent: WriteIntent
  isOld: boolean
}

/** Leases the oldest write that nobody is doing any more; null if there is none. */
export async function claimLeftIntent(db: Db, accountId: string): Promise<LeftIntent | null> {
  const { rows } = await sql<LeftIntent>`
    update calendar_intent set leased_until = ${leaseEnd}
    where id = (
      select id from calendar_intent where account_id = ${accountId} and leased_until < clock_timestamp()
      order by created_at limit 1 for update skip locked
    )
    returning id, intent, created_at < clock_timestamp() - interval '1 day' as "isOld"
  `.execute(db)
  return rows[0] ?? null
}
