import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { requireConnectable } from '../../accounts/accounts/access.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { removeSends } from '../../mail/messages/record-sends.ts'
import { refuse } from '../../refuse.ts'
import { requireUnsuppressed } from '../suppressions/access.ts'
import { suppressedAddresses } from '../suppressions/store.ts'
import { recordTracked, removeTracked } from '../tracking/record-tracked.ts'
import { type AccountSend, addingSends, type WrittenSend } from './adding-sends.ts'
import { countSends } from './limits.ts'
import { bringForward } from './record.ts'

/**
 * The worker is woken for what is due within this time. It looks once a second, and each look sees when the next entry
 * is due, so it needs no wake for others.
 */
const WAKE_SECONDS = 3

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
  /** Whether the account is looked at by that time. */
  isLookedAt: boolean
  /** Whether a look of the worker that nobody wakes for it could come too late. */
  isSoon: boolean
}

export type SendTerms = Pick<Terms, 'sendsPerDay' | 'isSoon' | 'firstDueAt'>

/** What an entry says that the database has decided. */
export interface InsertedSend {
  dueAt: Date
  createdAt: Date
  updatedAt: Date
  /** Whether the worker is to be woken for it. */
  isSoon: boolean
}

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
    select added.id, added.account_id as "accountId", ${insertedColumns}, first.due_at as "firstDueAt",
      first.is_looked_at as "isLookedAt", sender.sends_per_day as "sendsPerDay"
    from added join first using (account_id) join sender on sender.id = added.account_id
  `.execute(unit.sql)
  const inserted = new Map(rows.map(row => [row.id, row]))
  await recordTracked(
    unit,
    sends.filter(({ send }) => inserted.has(send.id)),
  )
  const late = rows.filter(({ isLookedAt }) => !isLookedAt)
  const accounts = new Map(late.map(({ accountId, firstDueAt: dueAt }) => [accountId, { accountId, dueAt }]))
  await bringForward(unit, [...accounts.values()])
  const granted = await countSends(unit, rows[0]?.sendsPerDay ?? null, rows.length)
  const rest = sends.filter(({ send }) => inserted.has(send.id)).slice(granted)
  await takeBackSends(unit, rest)
  for (const { send } of rest) inserted.delete(send.id)
  return inserted
}

interface SureRow extends InsertedSend {
  id: string
  accountId: string
  firstDueAt: Date
  isLookedAt: boolean
  sendsPerDay: number | null
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
  const accountId = sends[0]!.account.id
  if (!terms.isLookedAt) await bringForward(unit, [{ accountId, dueAt: terms.firstDueAt }])
}

const isSoon = (at: RawBuilder<unknown>) =>
  sql`${at} < clock_timestamp() + make_interval(secs => ${WAKE_SECONDS})`

const insertedColumns = sql`
  added.due_at as "dueAt", added.created_at as "createdAt", added.updated_at as "updatedAt",
  ${isSoon(sql`added.due_at`)} as "isSoon"`

const termColumns = sql`
  sender.status as "accountStatus", sender.is_past_due as "isPastDue", sender.sends_per_day as "sendsPerDay",
  (select count(*)::int from bound) as bound, first.due_at as "firstDueAt", first.is_looked_at as "isLookedAt",
  ${isSoon(sql`first.due_at`)} as "isSoon",
  (select message_bytes_max::float8 from sending_account as held where held.account_id = sender.id) as "bytesMax"`
