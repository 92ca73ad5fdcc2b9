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

/** Reads a write, whichever release has noted it. */
export function readIntent(id: string, stored: StoredIntent): WriteIntent {
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

/** A write as it is noted. */
export interface NotedWrite {
  /** The id of its intent, and of its mails. */
  id: string
  intent: WriteIntent
  /** Whether no earlier try of it is noted, so that nothing of it can have been done. */
  isNew: boolean
}

/**
 * Notes a write before its first call. Refuses while a split or a move of that place is unfinished.
 * @returns the note of an earlier try if there is one, whose effect the sync may have read since: a request with the same id, or
 * one that asked the same of the same item, as clients send it again after a lost answer. People are told once of both
 */
export async function beginIntent(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  intent: WriteIntent,
): Promise<NotedWrite> {
  // It may be large, so it is written before the calendars are locked. A refusal takes it back.
  const isNew = await insertIntent(unit, accountId, id, intent)
  // So that two writes see each other.
  await lockCalendars(unit, accountId)
  await requireFinished(unit, accountId, id, intent)
  const earlier = isNew ? await findSame(unit, accountId, id, intent) : id
  if (earlier === null) return { id, intent, isNew: true }
  const { rows } = await sql<{ intent: StoredIntent }>`
    update calendar_intent set leased_until = ${leaseEnd} where id = ${earlier} returning intent
  `.execute(unit.sql)
  if (rows[0]) {
    if (earlier !== id) await endIntent(unit, accountId, id)
    return { id: earlier, intent: readIntent(earlier, rows[0].intent), isNew: false }
  }
  // The follower has just ended it.
  if (!isNew) await insertIntent(unit, accountId, id, intent)
  return { id, intent, isNew: true }
}

/** The id of an earlier write that asked the same of the same item, and is not finished. */
async function findSame(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  { asked, item, notify }: WriteIntent,
): Promise<string | null> {
  if (item === null) return null
  const { rows } = await sql<{ id: string }>`
    select id from calendar_intent
    where account_id = ${accountId} and id <> ${id} and intent #>> '{item,id}' = ${item.id}
      and (intent -> 'asked') - 'creation' = ${JSON.stringify(asked)}::jsonb - 'creation'
      and intent -> 'notify' = ${JSON.stringify(notify)}::jsonb
    order by created_at limit 1
  `.execute(unit.sql)
  return rows[0]?.id ?? null
}

/** @returns false if it is noted already */
async function insertIntent(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  intent: WriteIntent,
): Promise<boolean> {
  const { asked, item } = intent
  const madeFrom = isMaking(asked) && 'place' in asked ? JSON.stringify(asked.place) : null
  const movedTo = asked.type === 'change' ? asked.toCalendarKey : null
  const { rows } = await sql`
    insert into calendar_intent (id, account_id, intent, leased_until, is_listed, made_from, moved_to, moved_id)
    values (${id}, ${accountId}, ${JSON.stringify(intent)}::jsonb, ${leaseEnd}, true, ${madeFrom}::jsonb, ${movedTo},
      ${movedTo === null ? null : (item?.id ?? null)})
    on conflict (id) do nothing
    returning id
  `.execute(unit.sql)
  return rows.length > 0
}

/** Refuses while another split or move of the same item is unfinished. */
async function requireFinished(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  { asked }: WriteIntent,
): Promise<void> {
  if (asked.type === 'create') return
  const { rows } = await sql`
    select from calendar_intent
    where account_id = ${accountId} and id <> ${id} and case
      when is_listed then made_from
      -- Releases before 0085 noted splits and moves only, in another form.
      when intent -> 'asked' is null then intent -> 'place'
      when intent #>> '{asked,toCalendarKey}' is not null or intent #>> '{asked,part,type}' = 'following'
      then intent #> '{asked,place}'
      end = ${JSON.stringify(asked.place)}::jsonb
    limit 1
  `.execute(unit.sql)
  if (rows.length > 0)
    refuse('provider_conflict', undefined, {
      message:
        'A split or a move of this event was interrupted and is not finished yet. The service goes on with it each minute.',
    })
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

/**
 * Ends a write, in the transaction that records it, or because it has certainly not begun.
 * @returns false if it was ended before
 */
export async function endIntent(unit: UnitOfWork, accountId: string, id: string): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    delete from calendar_intent where account_id = ${accountId} and id = ${id}
  `.execute(unit.sql)
  return numAffectedRows > 0n
}

/** A write that nobody is doing any more. */
export interface LeftIntent {
  id: string
  stored: StoredIntent
  /** It is more than a day old: the next failure is its last one. */
  isOld: boolean
  /** It is more than two days old, although a failure would have ended it: the process ends with it. */
  isFatal: boolean
}

/**
 * Leases the write that nobody is doing for the longest time; null if there is none.
 * @param tried those that this pass has tried, which may be free again by now
 */
export async function claimLeftIntent(
  db: Db,
  accountId: string,
  tried: readonly string[],
): Promise<LeftIntent | null> {
  const { rows } = await sql<LeftIntent>`
    update calendar_intent set leased_until = ${leaseEnd}
    where id = (
      select id from calendar_intent
      where account_id = ${accountId} and leased_until < clock_timestamp() and id <> all(${tried}::uuid[])
      order by leased_until limit 1 for update skip locked
    )
    returning id, intent as stored, created_at < clock_timestamp() - interval '1 day' as "isOld",
      created_at < clock_timestamp() - interval '2 days' as "isFatal"
  `.execute(db)
  return rows[0] ?? null
}
