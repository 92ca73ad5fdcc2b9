import { z } from 'zod'
import { operation } from './operation.ts'
import {
  accountPath,
  address,
  cursor,
  pageLimit,
  pageOf,
  queryBoolean,
  queryText,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from './shapes.ts'

export const importance = z.enum(['high', 'normal', 'low'])
export const direction = z.enum(['inbound', 'outbound'])
export const threadId = z.string().min(1).max(1024)

export const messageSummary = z
  .object({
    id: uuid,
    threadId: threadId.nullable(),
    internetMessageId: z.string().nullable(),
    mailboxIds: z.array(uuid),
    subject: z.string().nullable(),
    from: address.nullable(),
    to: z.array(address),
    cc: z.array(address),
    snippet: z.string(),
    receivedAt: timestamp,
    sentAt: timestamp.nullable(),
    isRead: z.boolean(),
    isFlagged: z.boolean(),
    isDraft: z.boolean(),
    hasAttachments: z.boolean(),
    categories: z.array(z.string()),
    direction,
    outboxId: uuid.nullable(),
    reference: z.string().nullable(),
    importance: importance.nullable(),
  })
  .meta({ id: 'MessageSummary' })
export type MessageSummary = z.infer<typeof messageSummary>

/** What `changes` of `message.updated` can name. */
export const messageChange = messageSummary.omit({ id: true }).keyof()
export type MessageChange = z.infer<typeof messageChange>

export const messages = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages',
    scope: 'read',
    section: '4.3',
    summary: 'List messages, newest first.',
    description: 'Only messages within the sync window. Filters narrow each other.',
    refuses: ['account_not_found', 'invalid_cursor', 'invalid_range', 'unknown_mailbox'],
    params: accountPath,
    query: z.strictObject({
      mailboxId: uuidInput.optional().describe('All mailboxes when absent.'),
      from: queryText(1, 320).optional().describe('Part of the sender’s address or display name.'),
      to: queryText(1, 320).optional().describe('Part of an address or display name in To, Cc or Bcc.'),
      unread: queryBoolean.optional(),
      flagged: queryBoolean.optional(),
      hasAttachments: queryBoolean.optional(),
      importance: importance.optional().describe('Messages whose importance is null match none.'),
      after: timestampInput.optional().describe('Received at or after this instant.'),
      before: timestampInput.optional().describe('Received before this instant; later than `after`.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(messageSummary),
  }),
}
