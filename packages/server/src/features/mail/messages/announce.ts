import type { MailboxReference } from '@waxwing/contract/mail/mailboxes.ts'
import type { Classification, MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { inOneFlight } from '../../../database/in-one-flight.ts'
import { isOneOf } from '../../../database/one-of.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { mailboxColumns, type MailboxRow } from '../mailboxes/present.ts'
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

/** The columns of a mailbox that events name beside a message. */
export type ReferredMailbox = Pick<MailboxRow, 'id' | 'name' | 'path' | 'role' | 'kind'>

/** A message as it reads now, the mailboxes that it is in, and the names of the fields that have changed. */
export interface UpdatedMessage {
  row: SummaryRow
  mailboxes: readonly ReferredMailbox[]
  changes: MessageChange[]
}

/** Announces `message.updated` of a message whose row is known, if fields have changed. */
export function announceKnown(
  unit: UnitOfWork,
  account: Pick<MailAccount, 'id'>,
  { row, mailboxes, changes }: UpdatedMessage,
): void {
  if (changes.length === 0) return
  const data = { ...describe(row, referencesOf(mailboxes)), changes }
  unit.announce({ type: 'message.updated', accountId: account.id, data })
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

/** Announces the classification of a message. */
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
  const references = referencesOf(mailboxes)
  return rows.map(row => ({ id: row.id, data: describe(row, references) }))
}

type References = ReadonlyMap<string, MailboxReference>

function referencesOf(mailboxes: readonly ReferredMailbox[]): References {
  return new Map(
    mailboxes.map(({ id, name, path, role, kind }) => [id, { id, name, path, role, kind }] as const),
  )
}

function describe(row: SummaryRow, references: References) {
  return {
    message: presentSummary(row),
    mailboxes: row.mailbox_ids.flatMap(id => references.get(id) ?? []),
  }
}
