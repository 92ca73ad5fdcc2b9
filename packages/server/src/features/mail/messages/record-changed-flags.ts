import type { ChangedFlags } from './changed-flags.ts'
import { type RawBuilder, sql } from 'kysely'
import { isOneOf } from '../../../database/one-of.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'
import { presentMailboxReference, type ReferredMailbox } from '../mailboxes/present.ts'
import { presentSummary, summaryColumns, type SummaryRow } from './present.ts'
import { holdMailAccount } from './record-account.ts'
import { recordChangedKeys } from './record-changed-keys.ts'
import { recordFlagsAsRead } from './record-flags-as-read.ts'
import { type FlagColumns, planFlags } from './rules.ts'

export interface RecordOptions {
  /**
   * Whether a message may be taken to be as it was read before the change. If it is not, the commit fails with `isUnmet`,
   * and may be tried again without.
   */
  mayAssume: boolean
}

/**
 * Records flags as the provider has them after a change, wherever the messages are now, and announces those that read
 * differently. Takes the mail of the account until the commit, as `lockMailAccount` does.
 * @returns the messages as they are now, by id
 */
export async function recordChangedFlags(
  unit: UnitOfWork,
  accountId: string,
  changes: readonly ChangedFlags[],
  { mayAssume }: RecordOptions = { mayAssume: false },
): Promise<Map<string, SummaryRow>> {
  const [first] = changes
  if (!first) return new Map()
  if (mayAssume && changes.length === 1 && first.asRead) {
    const recorded = await recordFlagsAsRead(unit, accountId, first, first.asRead)
    if (recorded) return new Map([[recorded.id, recorded]])
  }
  const told = new Map(changes.map(({ messageId, flags }) => [messageId, flags]))
  const held = await hold(unit, accountId, [...told.keys()])
  const recorded = held.map(row => ({ row, ...planFlags(row, told.get(row.id) ?? null) }))
  const changed = recorded.filter(({ changes: fields }) => fields.length > 0)
  if (changed.length > 0) {
    const rows = changed.map(({ row: { id }, next }) => ({ id, ...next }))
    await executeUnawaited(unit.sql, writing(rows))
  }
  await recordChangedKeys(
    unit,
    accountId,
    changes.map(({ at }) => at),
  )
  for (const { row, next, changes: fields } of changed) {
    if (!row.is_initialized) continue
    const references = new Map(row.mailboxes.map(mailbox => [mailbox.id, presentMailboxReference(mailbox)]))
    const mailboxes = row.mailbox_ids.flatMap(id => references.get(id) ?? [])
    const data = { message: presentSummary({ ...row, ...next }), mailboxes, changes: fields }
    unit.announce({ type: 'message.updated', accountId, data })
  }
  return new Map(recorded.map(({ row, next }) => [row.id, { ...row, ...next }]))
}

interface HeldRow extends SummaryRow {
  mailboxes: ReferredMailbox[]
  is_initialized: boolean
}

/** The messages of these that the account still has, locked with it. Refuses an account that was deleted. */
async function hold(unit: UnitOfWork, accountId: string, ids: readonly string[]): Promise<HeldRow[]> {
  await holdMailAccount(unit, accountId)
  // The account alone, where it has none of the messages any more.
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

function writing(rows: ReadonlyArray<FlagColumns & { id: string }>): RawBuilder<unknown> {
  const ids = rows.map(({ id }) => id)
  return sql`
    update message set is_read = next.is_read, is_flagged = next.is_flagged, is_draft = next.is_draft,
      categories = next.categories
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (
      id uuid, is_read boolean, is_flagged boolean, is_draft boolean, categories text[])
    where message.id = next.id and ${isOneOf('message.id', ids)}`
}
