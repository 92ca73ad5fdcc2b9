import type { MessageAsRead } from './changed-flags.ts'
import { type RawBuilder, sql } from 'kysely'
import { requiring } from '../../../database/precondition.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { presentMailboxReference } from '../mailboxes/present.ts'
import { presentSummary, type SummaryRow } from './present.ts'
import { holdMailAccount } from './record-account.ts'
import { markingChangedKey } from './record-changed-keys.ts'
import type { ChangedFlags } from './changed-flags.ts'
import { type FlagColumns, planFlags } from './rules.ts'

/**
 * Records flags of a message as `recordChangedFlags` does, without asking what the message is now. If it or its mailbox is
 * no longer as it was read, the commit fails with `isUnmet`, and nothing is recorded.
 * @returns the message as it is now; null, and nothing is recorded, if it reads as before
 */
export async function recordFlagsAsRead(
  unit: UnitOfWork,
  accountId: string,
  { at, flags }: ChangedFlags,
  { row, mailbox, versions }: MessageAsRead,
): Promise<SummaryRow | null> {
  const { next, changes } = planFlags(row, flags)
  if (changes.length === 0) return null
  await holdMailAccount(unit, accountId)
  const ids = { tenant: unit.tenantId, account: accountId, message: row.id, mailbox: mailbox.id }
  const writing = writingIf(ids, versions, next)
  const marking = markingChangedKey(accountId, at, sql`written`)
  await executeUnawaited(
    unit.sql,
    sql`with written as (${writing}), marked as (${marking})
    select ${requiring(sql<boolean>`exists (select from written)`)}`,
  )
  const recorded = { ...row, ...next }
  const data = {
    message: presentSummary(recorded),
    mailboxes: [presentMailboxReference(mailbox)],
    changes,
  }
  unit.announce({ type: 'message.updated', accountId, data })
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
