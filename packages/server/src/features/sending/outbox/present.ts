import type { OutboxEntry, OutboxStatus, SendFailure } from '@waxwing/contract/sending/outbox.ts'
import type { Address } from '@waxwing/contract/shapes.ts'
import { sql } from 'kysely'
import type { AccountSend, InsertedSend } from '../accepting/new-send.ts'

/** An entry of the outbox; select it with `entryColumns` from `outbox`. */
export interface EntryRow {
  id: string
  account_id: string
  status: OutboxStatus
  from: Address
  to: Address[]
  cc: Address[]
  bcc: Address[]
  reply_to: Address[]
  subject: string | null
  snippet: string
  has_attachments: boolean
  size: number
  importance: OutboxEntry['importance']
  in_reply_to: string | null
  draft_id: string | null
  template_id: string | null
  list_id: string | null
  mail_merge_id: string | null
  reference: string | null
  track_opens: boolean
  track_clicks: boolean
  internet_message_id: string
  message_id: string | null
  thread_id: string | null
  send_at: Date
  attempts: number
  due_at: Date | null
  error_reason: SendFailure | null
  error_message: string | null
  rejected: OutboxEntry['rejectedRecipients']
  sent_at: Date | null
  created_at: Date
  updated_at: Date
}

/** The columns of `EntryRow`. If there are several copies, the one in the mailbox of sent mail counts. */
export const entryColumns = sql`
  outbox.id, outbox.account_id, outbox.status, outbox."from", outbox."to", outbox.cc, outbox.bcc, outbox.reply_to,
  outbox.subject, outbox.snippet, outbox.has_attachments, outbox.size::float8 as size, outbox.importance,
  outbox.in_reply_to, outbox.draft_id, outbox.template_id, outbox.list_id, outbox.mail_merge_id, outbox.reference,
  outbox.track_opens, outbox.track_clicks, outbox.internet_message_id, outbox.send_at, outbox.attempts,
  outbox.due_at, outbox.error_reason, outbox.error_message, outbox.rejected, outbox.sent_at, outbox.created_at,
  outbox.updated_at, copy.id as message_id, coalesce(copy.thread_id, outbox.thread_id) as thread_id`

/** A join to `outbox`: its copy in the index. */
export const entryCopy = sql`
  left join lateral (
    select message.id, message.thread_id from message
    where message.outbox_id = outbox.id and message.account_id = outbox.account_id
    order by exists (
      select from mailbox where mailbox.id = any(message.mailbox_ids) and mailbox.role = 'sent'
    ) desc, message.id
    limit 1
  ) as copy on true`

/** The row of an entry that was accepted just now. */
export function acceptedRow(
  { account, send }: AccountSend,
  { dueAt, createdAt, updatedAt }: InsertedSend,
): EntryRow {
  return {
    id: send.id,
    account_id: account.id,
    status: 'queued',
    from: send.from,
    to: [...send.to],
    cc: [...send.cc],
    bcc: [...send.bcc],
    reply_to: [...send.replyTo],
    subject: send.subject,
    snippet: send.snippet,
    has_attachments: send.hasAttachments,
    size: send.size,
    importance: send.importance,
    in_reply_to: send.inReplyTo,
    draft_id: send.draftId,
    template_id: send.templateId,
    list_id: send.listId,
    mail_merge_id: send.mailMergeId,
    reference: send.options.reference ?? null,
    track_opens: send.tracking.opens,
    track_clicks: send.tracking.clicks,
    internet_message_id: send.internetMessageId,
    message_id: null,
    thread_id: send.threadId,
    send_at: dueAt,
    attempts: 0,
    due_at: dueAt,
    error_reason: null,
    error_message: null,
    rejected: [],
    sent_at: null,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

/** An entry as the interface shows it. */
export function presentEntry(row: EntryRow): OutboxEntry {
  const { error_reason: reason, error_message: message } = row
  const isOpen = row.status === 'queued' || row.status === 'sent'
  return {
    id: row.id,
    accountId: row.account_id,
    status: row.status,
    from: row.from,
    to: row.to,
    cc: row.cc,
    bcc: row.bcc,
    replyTo: row.reply_to,
    subject: row.subject,
    snippet: row.snippet,
    hasAttachments: row.has_attachments,
    size: row.size,
    importance: row.importance,
    inReplyTo: row.in_reply_to,
    draftId: row.draft_id,
    templateId: row.template_id,
    listId: row.list_id,
    mailMergeId: row.mail_merge_id,
    reference: row.reference,
    trackOpens: row.track_opens,
    trackClicks: row.track_clicks,
    internetMessageId: row.internet_message_id,
    messageId: row.message_id,
    threadId: row.thread_id,
    sendAt: row.send_at.toISOString(),
    attempts: row.attempts,
    nextAttemptAt: isOpen && row.due_at ? row.due_at.toISOString() : null,
    lastError: reason === null ? null : { reason, message: message ?? '' },
    rejectedRecipients: row.rejected,
    sentAt: row.sent_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}
