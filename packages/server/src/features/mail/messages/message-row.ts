import { isDeepStrictEqual } from 'node:util'
import type { MessageChange } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { MessageKey, RemoteAddress, RemoteMessage } from '../../../providers/mail.ts'
import { keyColumns } from './location.ts'
import { directionOf, isDraftIn, type MailAccount, type PlacedMailbox } from './rules.ts'

/** The columns of `message` that mirror the provider, with their types. */
const COLUMNS = {
  remote_id: 'text',
  thread_id: 'text',
  internet_message_id: 'text',
  identity: 'uuid',
  mailbox_ids: 'uuid[]',
  subject: 'text',
  from: 'jsonb',
  to: 'jsonb',
  cc: 'jsonb',
  bcc: 'jsonb',
  reply_to: 'jsonb',
  sender_text: 'text',
  recipients_text: 'text',
  snippet: 'text',
  received_at: 'timestamptz',
  sent_at: 'timestamptz',
  is_read: 'boolean',
  is_flagged: 'boolean',
  is_draft: 'boolean',
  has_attachments: 'boolean',
  categories: 'text[]',
  direction: 'text',
  importance: 'text',
  size: 'bigint',
  draft_id: 'text',
  draft_generation: 'integer',
  draft_key: 'text',
  draft_revision: 'text',
  draft_digest: 'text',
} as const

const names = Object.keys(COLUMNS).map(name => `"${name}"`)
/** For `insert` and `select`. */
export const rowColumns = sql.raw(names.join(', '))
/** For the record of `json_to_recordset`, beside an id. */
export const rowTypes = sql.raw(
  Object.entries(COLUMNS)
    .map(([name, type]) => `"${name}" ${type}`)
    .join(', '),
)
/** For `update … set` from a record `next`. */
export const rowSetters = sql.raw(names.map(name => `${name} = next.${name}`).join(', '))

/** A message as the provider describes it, in the columns of its row. */
export type MessageRow = ReturnType<typeof toRow>

export function toRow(
  account: MailAccount,
  message: Omit<RemoteMessage, 'key'> & { key: MessageKey | null },
  mailboxes: readonly PlacedMailbox[],
  threadId: string | null,
) {
  return {
    remote_id: keyColumns(message.key).remote_id,
    thread_id: threadId,
    internet_message_id: message.internetMessageId,
    identity: message.identity,
    subject: message.subject,
    from: message.from,
    to: message.to,
    cc: message.cc,
    bcc: message.bcc,
    reply_to: message.replyTo,
    sender_text: message.from ? searchText([message.from]) : '',
    recipients_text: searchText([...message.to, ...message.cc, ...message.bcc]),
    snippet: message.snippet,
    received_at: message.receivedAt,
    sent_at: message.sentAt,
    has_attachments: message.hasAttachments,
    importance: message.importance,
    size: message.size,
    draft_id: message.draftMark?.draftId ?? null,
    // Any complete content replaces one that lacks files.
    draft_generation: message.isIncomplete ? 0 : (message.draftMark?.generation ?? null),
    draft_key: message.draftKey,
    draft_revision: message.content?.revision ?? null,
    draft_digest: message.content?.digest ?? null,
    ...toState(account, message, mailboxes),
  }
}

/** The columns that change without a new key. */
export function toState(
  account: MailAccount,
  message: Pick<RemoteMessage, 'isRead' | 'isFlagged' | 'isDraft' | 'categories' | 'from'>,
  mailboxes: readonly PlacedMailbox[],
) {
  return {
    mailbox_ids: mailboxes.map(({ id }) => id).toSorted(),
    is_read: message.isRead,
    is_flagged: message.isFlagged,
    is_draft: isDraftIn(mailboxes, message.isDraft),
    categories: message.categories.toSorted(),
    direction: directionOf(account, mailboxes, message.from),
  }
}

function searchText(addresses: readonly RemoteAddress[]): string {
  return addresses
    .flatMap(({ name, address }) => (name === null ? [address] : [name, address]))
    .join('\n')
    .toLowerCase()
}

const FIELDS: Partial<Record<keyof MessageRow, MessageChange>> = {
  thread_id: 'threadId',
  internet_message_id: 'internetMessageId',
  mailbox_ids: 'mailboxIds',
  subject: 'subject',
  from: 'from',
  to: 'to',
  cc: 'cc',
  snippet: 'snippet',
  received_at: 'receivedAt',
  sent_at: 'sentAt',
  is_read: 'isRead',
  is_flagged: 'isFlagged',
  is_draft: 'isDraft',
  has_attachments: 'hasAttachments',
  categories: 'categories',
  direction: 'direction',
  importance: 'importance',
}

/** The columns of `after` that read otherwise in `before`. */
export function differingColumns<T extends Partial<MessageRow>>(before: T, after: T): Array<keyof T> {
  return (Object.keys(after) as Array<keyof T>).filter(name => !isDeepStrictEqual(before[name], after[name]))
}

/** The fields of the summary that these columns fill. */
export function fieldsOf(columns: readonly PropertyKey[]): MessageChange[] {
  return columns.flatMap(column => FIELDS[column as keyof MessageRow] ?? [])
}
