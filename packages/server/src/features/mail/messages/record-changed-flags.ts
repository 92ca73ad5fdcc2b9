import { isDeepStrictEqual } from 'node:util'
import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { type RawBuilder, sql } from 'kysely'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import type { ChangeUnit } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { isOneOf } from '../../../database/one-of.ts'
import { requiring } from '../../../database/precondition.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteFlags } from '../../../providers/mail.ts'
import { announceKnown, type ReferredMailbox } from './announce.ts'
import { summaryColumns, type SummaryRow } from './present.ts'
import { markingChangedKey, recordChangedKeys } from './record-changed-keys.ts'
import type { FormerLocation } from './record-new-locations.ts'

/** The flags of a message after a change. */
export interface ChangedFlags {
  messageId: string
  at: FormerLocation
  /** All flags as they are now; null: as they were. */
  flags: RemoteFlags | null
  asRead?: MessageAsRead | null
}

/** A message of an account whose first sync is complete, as it was read before it is changed. */
export interface MessageAsRead {
  row: SummaryRow
  /** The only mailbox that it is in, and where its location is. */
  mailbox: ReferredMailbox
  /** `xmin` of the two rows: another one after each change of them. */
  versions: { message: string; mailbox: string }
}

/**
 * Records flags as the provider has them after a change, wherever the messages are now, and announces the messages that
 * differ. Locks the mail of the account until the commit, as `lockMailAccount` does. A unit that may rely on an earlier
 * read assumes that a single message has not changed since it was read.
 * @returns the messages as they are now, by id
 */
export async function recordChangedFlags(
  unit: UnitOfWork & Pick<ChangeUnit, 'mayAssume'>,
  accountId: string,
  changes: readonly ChangedFlags[],
): Promise<Map<string, SummaryRow>> {
  const [first] = changes
  if (!first) return new Map()
  if (unit.mayAssume && changes.length === 1 && first.asRead) {
    const recorded = await recordAsRead(unit, accountId, first, first.asRead)
    if (recorded) return new Map([[recorded.id, recorded]])
  }
  const flagsOf = new Map(changes.map(({ messageId, flags }) => [messageId, flags]))
  const held = await hold(unit, accountId, [...flagsOf.keys()])
  const recorded = held.map(row => ({ row, ...planFlags(row, flagsOf.get(row.id) ?? null) }))
  const rows = recorded.flatMap(({ row: { id }, next, changes: fields }) =>
    fields.length > 0 ? [{ id, ...next }] : [],
  )
  if (rows.length > 0) await executeUnawaited(unit.sql, writingAll(rows))
  await recordChangedKeys(
    unit,
    accountId,
    changes.map(({ at }) => at),
  )
  for (const { row, next, changes: fields } of recorded) {
    const updated = { row: { ...row, ...next }, mailboxes: row.mailboxes, changes: fields }
    if (row.is_initialized) announceKnown(unit, { id: accountId }, updated)
  }
  return new Map(recorded.map(({ row, next }) => [row.id, { ...row, ...next }]))
}

/**
 * Records flags of a message without reading its present row. If it or its mailbox has changed since it was read, the
 * commit fails with `isUnmet`, and nothing is recorded.
 * @returns the message as it is now; null, and nothing is recorded, if it did not change
 */
async function recordAsRead(
  unit: UnitOfWork,
  accountId: string,
  { at, flags }: ChangedFlags,
  { row, mailbox, versions }: MessageAsRead,
): Promise<SummaryRow | null> {
  const { next, changes } = planFlags(row, flags)
  if (changes.length === 0) return null
  await executeUnawaited(unit.sql, lockingHalf(unit, accountId, 'mail'))
  const ids = { tenant: unit.tenantId, account: accountId, message: row.id, mailbox: mailbox.id }
  const writingIt = writingIf(ids, versions, next)
  const marking = markingChangedKey(accountId, at, sql`written`)
  await executeUnawaited(
    unit.sql,
    sql`with written as (${writingIt}), marked as (${marking})
    select ${requiring(sql<boolean>`exists (select from written)`)}`,
  )
  const recorded = { ...row, ...next }
  announceKnown(unit, { id: accountId }, { row: recorded, mailboxes: [mailbox], changes })
  return recorded
}

function writingIf(
  ids: Record<'tenant' | 'account' | 'message' | 'mailbox', string>,
  versions: MessageAsRead['versions'],
  { is_read, is_flagged, is_draft, categories }: FlagColumns,
): RawBuilder<unknown> {
  return sql`
    update message set is_read = ${is_read}, is_flagged = ${is_flagged}, is_draft = ${is_draft},
      categories = ${categories}
    from account, account_half, mailbox
    where message.id = ${ids.message} and message.account_id = ${ids.account}
      and message.xmin = ${versions.message}::xid
      and mailbox.id = ${ids.mailbox} and mailbox.xmin = ${versions.mailbox}::xid
      and account.id = ${ids.account} and account.tenant_id = ${ids.tenant} and account.deleted_at is null
      and account_half.account_id = account.id and account_half.kind = 'mail'
      and account_half.initialized_at is not null
    returning message.id`
}

interface HeldRow extends SummaryRow {
  mailboxes: ReferredMailbox[]
  is_initialized: boolean
}

/** Reads the messages of these that the account still has, locked with it. Refuses an account that was deleted. */
async function hold(unit: UnitOfWork, accountId: string, ids: readonly string[]): Promise<HeldRow[]> {
  await executeUnawaited(unit.sql, lockingHalf(unit, accountId, 'mail'))
  // The account alone, if it has none of the messages any more.
  const { rows } = await sql<HeldRow | { id: null }>`
    with held as materialized (
      select ${summaryColumns} from message
      where account_id = ${accountId} and ${isOneOf('id', ids)} order by id for update
    )
    select held.*, initialized_at is not null as is_initialized, (
      select coalesce(json_agg(json_build_object('id', id, 'name', name, 'path', path, 'role', role, 'kind', kind)), '[]')
      from mailbox where id = any(held.mailbox_ids) and mailbox.account_id = account.id
    ) as mailboxes
    from account join account_half on account_half.account_id = account.id and account_half.kind = 'mail'
    left join held on true
    where account.id = ${accountId} and account.tenant_id = ${unit.tenantId} and deleted_at is null
    order by held.received_at, held.id
  `.execute(unit.sql)
  if (rows.length === 0) refuse('account_not_found')
  return rows.filter(row => row.id !== null)
}

function writingAll(rows: ReadonlyArray<FlagColumns & { id: string }>): RawBuilder<unknown> {
  const ids = rows.map(({ id }) => id)
  return sql`
    update message set is_read = next.is_read, is_flagged = next.is_flagged, is_draft = next.is_draft,
      categories = next.categories
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (
      id uuid, is_read boolean, is_flagged boolean, is_draft boolean, categories text[])
    where message.id = next.id and ${isOneOf('message.id', ids)}`
}

/** The columns of a message that hold its flags. */
interface FlagColumns {
  is_read: boolean
  is_flagged: boolean
  is_draft: boolean
  categories: string[]
}

/**
 * Plans the row of a message with its present flags, and lists the fields that differ. A message in the drafts mailbox
 * stays a draft whatever its flags are.
 * @param flags null if they did not change
 */
export function planFlags(
  { is_read, is_flagged, is_draft, categories }: FlagColumns,
  flags: RemoteFlags | null,
): { next: FlagColumns; changes: MessageChange[] } {
  if (!flags) return { next: { is_read, is_flagged, is_draft, categories }, changes: [] }
  const next = {
    is_read: flags.isRead,
    is_flagged: flags.isFlagged,
    is_draft: is_draft || flags.isDraft,
    categories: flags.categories.toSorted(),
  }
  const changes: MessageChange[] = []
  if (next.is_read !== is_read) changes.push('isRead')
  if (next.is_flagged !== is_flagged) changes.push('isFlagged')
  if (next.is_draft !== is_draft) changes.push('isDraft')
  if (!isDeepStrictEqual(next.categories, categories)) changes.push('categories')
  return { next, changes }
}
