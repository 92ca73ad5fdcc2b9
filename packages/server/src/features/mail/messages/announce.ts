import type { Classification, MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import { isOneOf } from '../../../database/one-of.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { mailboxColumns, type MailboxRow, presentMailboxReference } from '../mailboxes/present.ts'
import { presentSummary, summaryColumns, type SummaryRow } from './present.ts'
import type { MailAccount } from './rules.ts'

/** Names of changed summary fields by message id. */
export type Changes = Map<string, MessageChange[]>

export async function announceCreated(
  unit: UnitOfWork,
  account: MailAccount,
  ids: readonly string[],
): Promise<void> {
  for (const { data } of await describeMessages(unit, account, ids)) {
    unit.announce({ type: 'message.created', accountId: account.id, data })
  }
}

/** Announces one `message.updated` for each message with changed fields. */
export async function announceUpdated(
  unit: UnitOfWork,
  account: Pick<MailAccount, 'id'>,
  changes: Changes,
): Promise<void> {
  const ids = [...changes].flatMap(([id, fields]) => (fields.length > 0 ? [id] : []))
  for (const { id, data } of await describeMessages(unit, account, ids)) {
    unit.announce({
      type: 'message.updated',
      accountId: account.id,
      data: { ...data, changes: [...new Set(changes.get(id))] },
    })
  }
}

/** Announces messages as they were last indexed; call it before they are deleted. */
export async function announceDeleted(
  unit: UnitOfWork,
  account: MailAccount,
  ids: readonly string[],
): Promise<void> {
  for (const { data } of await describeMessages(unit, account, ids)) {
    unit.announce({ type: 'message.deleted', accountId: account.id, data })
  }
}

/** Announces what a message was found to be. */
export async function announceClassified(
  unit: UnitOfWork,
  account: Pick<MailAccount, 'id'>,
  messageId: string,
  classification: Classification,
): Promise<void> {
  for (const { data } of await describeMessages(unit, account, [messageId])) {
    unit.announce({
      type: 'message.classified',
      accountId: account.id,
      data: { ...data, classification },
    })
  }
}

async function describeMessages(unit: UnitOfWork, account: Pick<MailAccount, 'id'>, ids: readonly string[]) {
  if (ids.length === 0) return []
  const [rows, mailboxes] = await inOneFlight(unit.sql, [
    sql<SummaryRow>`
      select ${summaryColumns} from message
      where account_id = ${account.id} and ${isOneOf('id', ids)} order by received_at, id`,
    sql<MailboxRow>`select ${mailboxColumns} from mailbox where account_id = ${account.id}`,
  ])
  const references = new Map(mailboxes.map(mailbox => [mailbox.id, presentMailboxReference(mailbox)]))
  return rows.map(row => ({
    id: row.id,
    data: {
      message: presentSummary(row),
      mailboxes: row.mailbox_ids.flatMap(id => references.get(id) ?? []),
    },
  }))
}
