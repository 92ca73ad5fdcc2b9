import type { InsertedSend } from './inserted-send.ts'
import { type RawBuilder, sql } from 'kysely'
import { requiring } from '../../../database/precondition.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { removeSends } from '../../mail/messages/record-sends.ts'
import { refuse } from '../../../calls/refuse.ts'
import { requireUnsuppressed } from '../suppressions/access.ts'
import { suppressedAddresses } from '../suppressions/store.ts'
import { recordTracked, removeTracked } from '../tracking/record-tracked.ts'
import { addingSends, undoSecondsOf } from './adding-sends.ts'
import { type AccountSend, type WrittenSend } from './new-send.ts'
import { countSends } from './limits.ts'
import { planSendTime } from '../outbox/schedule.ts'

/**
 * The worker is woken for what is due within this time. It looks once a second, and each look sees when the next entry
 * is due, so it needs no wake for others.
 */
const WAKE_SECONDS = 3

/**
 * If the insert of a send is later than its own time by more, too little would be left in which it can be undone. If it
 * is earlier by more, the clock was set back since the time was read, and the send would wait for that long.
 */
const LATE_SECONDS_MAX = 1

/** What holds for the account when its sends are inserted. */
interface Terms {
  accountStatus: AccountView['status']
  /** Bytes of the largest message that the server of the account takes, as it said last; null if it does not say. */
  bytesMax: number | null
  isPastDue: boolean
  /** Sends that the plan of the tenant allows in a day; null if it sets no limit. */
  sendsPerDay: number | null
  /** Contents that were bound. If there are fewer than sends, one was swept. */
  bound: number
  firstDueAt: Date
  /** Whether a look of the worker that nobody wakes for it could come too late. */
  isSoon: boolean
}

export type SendTerms = Pick<Terms, 'sendsPerDay' | 'isSoon' | 'firstDueAt'>

/** Inserts one send, and refuses it if a recipient is suppressed, or if it may not be sent for another reason. */
export async function insertSend(
  unit: UnitOfWork,
  { account, send }: AccountSend,
): Promise<InsertedSend & Pick<Terms, 'sendsPerDay'>> {
  const { tenantId } = unit
  const adding = { tenantId, sends: [{ account, send }], intervalSeconds: 0, isSure: false }
  const { rows } = await sql<InsertedSend & Terms & { suppressed: string[] }>`
    ${addingSends(adding)}
    select ${insertedColumns}, ${termColumns},
      array(${suppressedAddresses(tenantId, { listId: sql`asked.list_id`, compared: sql`asked.compared` })}) as suppressed
    from sender, first, added, asked
  `.execute(unit.sql)
  const row = rows[0] ?? refuse('account_not_found')
  requireUnsuppressed(new Set(row.suppressed))
  await applyTerms(unit, adding.sends, row)
  return row
}

/**
 * Inserts sends of one account, and refuses all of them if one may not be sent.
 * @param intervalSeconds that lie between two of them at least, in the order in which they are due
 */
export async function insertSends(
  unit: UnitOfWork,
  account: AccountView,
  sends: readonly WrittenSend[],
  intervalSeconds: number,
): Promise<SendTerms> {
  const ofAccount = sends.map(send => ({ account, send }))
  const { rows } = await sql<Terms>`
    ${addingSends({ tenantId: unit.tenantId, sends: ofAccount, intervalSeconds, isSure: false })}
    select ${termColumns} from sender, first
  `.execute(unit.sql)
  const terms = rows[0] ?? refuse('account_not_found')
  await applyTerms(unit, ofAccount, terms)
  return terms
}

/**
 * Inserts those of the sends of a tenant that certainly may be sent, of its plan's count as many as are left. Others are
 * left out: `insertSend` says why they are refused.
 * @returns what was inserted, by the ids of the sends
 */
export async function insertSure(
  unit: UnitOfWork,
  sends: readonly AccountSend[],
): Promise<Map<string, InsertedSend>> {
  const { rows } = await sql<SureRow>`
    ${addingSends({ tenantId: unit.tenantId, sends, intervalSeconds: 0, isSure: true })}
    select added.id, ${insertedColumns}, sender.sends_per_day as "sendsPerDay"
    from added join sender on sender.id = added.account_id
  `.execute(unit.sql)
  const inserted = new Map(rows.map(row => [row.id, row]))
  await recordTracked(
    unit,
    sends.filter(({ send }) => inserted.has(send.id)),
  )
  const granted = await countSends(unit, rows[0]?.sendsPerDay ?? null, rows.length)
  const rest = sends.filter(({ send }) => inserted.has(send.id)).slice(granted)
  await takeBackSends(unit, rest)
  for (const { send } of rest) inserted.delete(send.id)
  return inserted
}

interface SureRow extends InsertedSend {
  id: string
  sendsPerDay: number | null
}

/** The row of a send that is accepted now, as it will be; null if it has to be asked for. */
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
  return { dueAt, createdAt: at, updatedAt: at, isSoon }
}

/**
 * Inserts a send at the time of its row, without waiting for an answer. If it may not be sent, its plan has a limit, or
 * that time is long past, the commit fails with `isUnmet`.
 */
export async function insertAssumed(
  unit: UnitOfWork,
  { account, send }: AccountSend,
  { createdAt: now }: InsertedSend,
): Promise<void> {
  const sends = [{ account, send }]
  const isAdded = sql<boolean>`
    exists (
      select from added join sender on sender.id = added.account_id
      where sender.sends_per_day is null
        and added.created_at between clock_timestamp() - make_interval(secs => ${LATE_SECONDS_MAX})
          and clock_timestamp() + make_interval(secs => ${LATE_SECONDS_MAX}))`
  await executeUnawaited(
    unit.sql,
    sql`
      ${addingSends({ tenantId: unit.tenantId, sends, intervalSeconds: 0, isSure: true, now })}
      select ${requiring(isAdded)}`,
  )
  await recordTracked(unit, sends)
}

/** Takes back sends that the same transaction has inserted, with the contents that it has inserted for them. */
export async function takeBackSends(unit: UnitOfWork, sends: readonly AccountSend[]): Promise<void> {
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

async function applyTerms(unit: UnitOfWork, sends: readonly AccountSend[], terms: Terms): Promise<void> {
  requireConnectable({ status: terms.accountStatus })
  if (terms.isPastDue) refuse('billing_past_due')
  const { bytesMax } = terms
  if (bytesMax !== null && sends.some(({ send }) => send.size > bytesMax)) refuse('attachments_too_large')
  if (terms.bound < sends.length) refuse('overloaded')
  await recordTracked(unit, sends)
}

const isSoon = (at: RawBuilder<unknown>) =>
  sql`${at} < clock_timestamp() + make_interval(secs => ${WAKE_SECONDS})`

const insertedColumns = sql`
  added.due_at as "dueAt", added.created_at as "createdAt", added.updated_at as "updatedAt",
  ${isSoon(sql`added.due_at`)} as "isSoon"`

const termColumns = sql`
  sender.status as "accountStatus", sender.is_past_due as "isPastDue", sender.sends_per_day as "sendsPerDay",
  (select count(*)::int from bound) as bound, first.due_at as "firstDueAt",
  ${isSoon(sql`first.due_at`)} as "isSoon",
  (select message_bytes_max::float8 from sending_account as held where held.account_id = sender.id) as "bytesMax"`
