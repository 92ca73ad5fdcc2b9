import { sql } from 'kysely'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { lockCalendars } from '../calendars/record-account.ts'
import type { ChangedPart, EventChange, ItemPlace } from '../../../providers/changing-calendars.ts'
import type { Meeting } from '../invitations/meeting.ts'
import type { AskedWrite } from './ask-events.ts'

/** A write that is noted before it is made, so that it can be finished without its request. */
export interface WriteIntent {
  asked: AskedWrite
  /** The item in the index, with its version there; null: it is new. */
  item: { id: string; version: string | null } | null
  notify: boolean
  concernsOthers: boolean
  /** Null: nobody is told of it by mail. `before` is null of a new event. */
  mailed: { before: Meeting | null } | null
}

/** An intent as releases before 0085 noted it: a split, or a move to another calendar. */
interface FormerIntent extends Pick<WriteIntent, 'notify' | 'concernsOthers'> {
  place: ItemPlace
  part: ChangedPart
  change: EventChange
  toCalendarKey: string | null
  itemId: string
}

type StoredIntent = WriteIntent | FormerIntent

function readIntent(id: string, stored: StoredIntent): WriteIntent {
  if ('asked' in stored) return stored
  const { itemId, notify, concernsOthers, ...change } = stored
  const creation = { creationId: id, mayExist: true }
  return {
    asked: { type: 'change', ...change, creation },
    item: { id: itemId, version: null },
    notify,
    concernsOthers,
    mailed: null,
  }
}

/**
 * Whether a write is noted: if it takes several calls, so that it may be found half done, or if mails are to be queued when
 * it is recorded.
 * @param isSeries whether it is about a whole series
 */
export function isNoted(asked: AskedWrite, isSeries: boolean, isMailed: boolean): boolean {
  if (isMailed) return true
  switch (asked.type) {
    case 'create':
      return (asked.fields.recurrence?.taken.length ?? 0) > 0
    case 'change':
      return isMaking(asked) || isWhole(asked.part, isSeries)
    case 'remove':
      return asked.part.type === 'following'
    case 'respond':
      return isWhole(asked.part, isSeries)
  }
}

/** Whether a write makes an item, so that it must not be begun twice. */
const isMaking = (asked: AskedWrite) =>
  asked.type === 'change' && (asked.toCalendarKey !== null || asked.part.type === 'following')

/** The exceptions of a series may be written one by one. */
const isWhole = ({ type }: { type: string }, isSeries: boolean) => type === 'all' && isSeries

/** Time for which nobody else does the calls of a write, unless its lease is renewed. */
export const LEASE_SECONDS = 60
const RENEWAL_SECONDS = 15
const leaseEnd = sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`

/**
 * Notes a write before its first call. Refuses while a split or a move of that place is unfinished.
 * @returns what is noted: an id that was noted already is that of an earlier try of the same request, which may have been
 * made and read by the sync since
 */
export async function beginIntent(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  intent: WriteIntent,
): Promise<WriteIntent> {
  // So that two writes see each other.
  await lockCalendars(unit, accountId)
  const { asked } = intent
  const place = asked.type === 'create' ? null : JSON.stringify(asked.place)
  const { rows: others } = await sql<{ asked: AskedWrite }>`
    select intent -> 'asked' as asked from calendar_intent
    where account_id = ${accountId} and id <> ${id} and intent -> 'asked' -> 'place' = ${place}::jsonb
  `.execute(unit.sql)
  if (others.some(({ asked: other }) => isMaking(other)))
    refuse('provider_conflict', undefined, {
      message: 'Another write of this event is not finished yet. Try again in two minutes.',
    })
  const { rows } = await sql<{ intent: StoredIntent }>`
    insert into calendar_intent (id, account_id, intent, leased_until)
    values (${id}, ${accountId}, ${JSON.stringify(intent)}::jsonb, ${leaseEnd})
    on conflict (id) do update set leased_until = ${leaseEnd}
    returning intent
  `.execute(unit.sql)
  return readIntent(id, rows[0]!.intent)
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
  const { rows } = await sql<Omit<LeftIntent, 'intent'> & { intent: StoredIntent }>`
    update calendar_intent set leased_until = ${leaseEnd}
    where id = (
      select id from calendar_intent where account_id = ${accountId} and leased_until < clock_timestamp()
      order by created_at limit 1 for update skip locked
    )
    returning id, intent, created_at < clock_timestamp() - interval '1 day' as "isOld"
  `.execute(db)
  const [left] = rows
  return left ? { ...left, intent: readIntent(left.id, left.intent) } : null
}
