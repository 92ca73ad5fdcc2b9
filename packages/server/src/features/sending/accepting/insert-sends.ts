import { type RawBuilder, sql } from 'kysely'
import { requiring } from '../../../database/precondition.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { removeSends } from '../../mail/messages/record-sends.ts'
import { refuse } from '../../../calls/refuse.ts'
import { requireUnsuppressed } from '../suppressions/access.ts'
import { suppressedAddresses } from '../suppressions/store.ts'
import { recordTracked, removeTracked } from '../tracking/record-tracked.ts'
import { planSendTime } from '../outbox/schedule.ts'
import { addingSends, undoSecondsOf } from './adding-sends.ts'
import { countSends } from './limits.ts'
import type { AccountSend, InsertedSend } from './new-send.ts'

/**
 * The worker is woken for sends that are due within this time. It looks once a second, and each look sees when the next
 * entry is due, so it needs no wake for others.
 */
const WAKE_SECONDS = 3

/**
 * If the insert of a send is later than its own time by more, too little would be left in which it can be undone. If it
 * is earlier by more, the clock was set back since the time was read, and the send would wait for that long.
 */
const LATE_SECONDS_MAX = 1

/** The mode of an insert, which decides about sends that may not be sent. */
export type Inserting =
  /** One of them refuses all. They are of one account. @param intervalSeconds between two of them at least */
  | { unsendable: 'refuse'; intervalSeconds: number }
  /** Only the others are inserted. Accounts that are locked are not waited for. */
  | { unsendable: 'leave_out' }
  /**
   * A send of a plan without a limit is inserted as planned, and no answer is awaited. If it may not be sent, or the
   * planned time is long past, the commit fails with `isUnmet`.
   */
  | { planned: InsertedSend }

/** Inserts sends of a tenant. @returns the inserted rows, by the ids of the sends */
export async function insertSends(
  unit: UnitOfWork,
  sends: readonly AccountSend[],
  inserting: Inserting,
): Promise<Map<string, InsertedSend>> {
  if (sends.length === 0) return new Map()
  const { tenantId } = unit
  const rows = 'planned' in inserting ? [] : await insertAwaited(unit, sends, inserting)
  const inserted = new Map<string, InsertedSend>(rows.map(row => [row.id, row]))
  if ('planned' in inserting) {
    const { planned } = inserting
    const adding = addingSends({ tenantId, sends, intervalSeconds: 0, isSure: true, now: planned.createdAt })
    await executeUnawaited(unit.sql, sql`${adding} select ${requiring(isAddedInTime)}`)
    for (const { send } of sends) inserted.set(send.id, planned)
  }
  await recordTracked(
    unit,
    sends.filter(({ send }) => inserted.has(send.id)),
  )
  return inserted
}

interface InsertedRow extends InsertedSend {
  id: string
}

async function insertAwaited(
  { sql: tx, tenantId }: UnitOfWork,
  sends: readonly AccountSend[],
  inserting: Exclude<Inserting, { planned: InsertedSend }>,
): Promise<readonly InsertedRow[]> {
  if (inserting.unsendable === 'leave_out') {
    const { rows } = await sql<InsertedRow>`
      ${addingSends({ tenantId, sends, intervalSeconds: 0, isSure: true })}
      select ${insertedColumns} from added join sender on sender.id = added.account_id
    `.execute(tx)
    return rows
  }
  const { intervalSeconds } = inserting
  const { rows } = await sql<InsertedRow & Terms>`
    ${addingSends({ tenantId, sends, intervalSeconds, isSure: false })}
    select ${insertedColumns}, ${termColumns(tenantId, sends)}
    from added join sender on sender.id = added.account_id join accepted on accepted.id = added.id
  `.execute(tx)
  requireTerms(sends, rows)
  return rows
}

/** Conditions of the account when its sends are inserted, and of the recipients of one of them. */
interface Terms {
  accountStatus: AccountView['status']
  /** Bytes of the largest message that the server accepts, as it announced last; null if it has announced none. */
  bytesMax: number | null
  isPastDue: boolean
  /** Number of bound contents. If there are fewer than sends, one was swept. */
  bound: number
  suppressed: string[]
}

function requireTerms(sends: readonly AccountSend[], rows: readonly Terms[]): void {
  const [terms] = rows
  if (!terms) return refuse('account_not_found')
  requireUnsuppressed(new Set(rows.flatMap(({ suppressed }) => suppressed)))
  requireConnectable({ status: terms.accountStatus })
  if (terms.isPastDue) refuse('billing_past_due')
  const { bytesMax } = terms
  if (bytesMax !== null && sends.some(({ send }) => send.size > bytesMax)) refuse('attachments_too_large')
  if (terms.bound < sends.length) refuse('overloaded')
}

const insertedColumns = sql`
  added.id, added.due_at as "dueAt", added.created_at as "createdAt", added.updated_at as "updatedAt",
  added.due_at < clock_timestamp() + make_interval(secs => ${WAKE_SECONDS}) as "isSoon",
  sender.sends_per_day as "sendsPerDay"`

function termColumns(tenantId: string, sends: readonly AccountSend[]): RawBuilder<unknown> {
  // A mail merge has left its suppressed recipients out, and names them in its answer.
  const isOfMerge = sends.every(({ send }) => send.mailMergeId !== null)
  const asked = { listId: sql`accepted.list_id`, compared: sql`accepted.compared` }
  return sql`
    sender.status as "accountStatus", sender.is_past_due as "isPastDue",
    (select count(*)::int from bound) as bound,
    (select message_bytes_max::float8 from sending_account as held where held.account_id = sender.id) as "bytesMax",
    ${isOfMerge ? sql`'{}'::text[]` : sql`array(${suppressedAddresses(tenantId, asked)})`} as suppressed`
}

const isAddedInTime = sql<boolean>`
  exists (
    select from added join sender on sender.id = added.account_id
    where sender.sends_per_day is null
      and added.created_at between clock_timestamp() - make_interval(secs => ${LATE_SECONDS_MAX})
        and clock_timestamp() + make_interval(secs => ${LATE_SECONDS_MAX}))`

/** The future row of a send that is accepted now; null if only the database can decide it. */
export function planInserted({
  account,
  send,
  now,
}: AccountSend & { now: (() => Date) | null }): InsertedSend | null {
  const at = now?.()
  if (!at) return null
  const dueAt = planSendTime(at, send.options.sendAt ?? null, undoSecondsOf({ account, send }))
  if (typeof dueAt === 'string') return null
  const isSoon = dueAt.getTime() < at.getTime() + WAKE_SECONDS * 1_000
  return { dueAt, createdAt: at, updatedAt: at, isSoon, sendsPerDay: null }
}

/**
 * Counts inserted sends for the plan of their tenant, and takes back the ones that it has no room for. Call it last:
 * all others that the tenant accepts wait for the end of the transaction.
 * @returns the remaining part of `inserted`
 */
export async function countInserted(
  unit: UnitOfWork,
  sends: readonly AccountSend[],
  inserted: ReadonlyMap<string, InsertedSend>,
): Promise<Map<string, InsertedSend>> {
  const kept = new Map(inserted)
  const [first] = inserted.values()
  const granted = await countSends(unit, first?.sendsPerDay ?? null, inserted.size)
  const rest = sends.filter(({ send }) => inserted.has(send.id)).slice(granted)
  await takeBack(unit, rest)
  for (const { send } of rest) kept.delete(send.id)
  return kept
}

/** Deletes sends that the same transaction has inserted, with the contents that it has inserted for them. */
async function takeBack(unit: UnitOfWork, sends: readonly AccountSend[]): Promise<void> {
  if (sends.length === 0) return
  const ids = sends.map(({ send }) => send.id)
  const accountIds = [...new Set(sends.map(({ account }) => account.id))]
  await sql`
    delete from outbox where id = any(${ids}::uuid[]) and account_id = any(${accountIds}::uuid[])
  `.execute(unit.sql)
  await removeSends(
    unit,
    sends.map(({ account, send }) => ({ ...send, accountId: account.id })),
  )
  await removeTracked(unit, ids)
}
