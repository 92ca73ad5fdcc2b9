import { z } from 'zod'
import { messageSummary, threadId } from './messages.ts'
import { operation } from '../operation.ts'
import { CHANGING_REASONS } from './changing-reasons.ts'
import { accountPath, address, cursor, pageLimit, pageOf, timestamp, uuid, uuidInput } from '../shapes.ts'

export const threadSummary = z
  .object({
    id: threadId,
    subject: z.string().nullable().describe('The subject of the latest message.'),
    snippet: z.string().describe('The snippet of the latest message.'),
    participants: z.array(address).describe('Everybody in From, To and Cc, each address once.'),
    messageCount: z.int(),
    unreadCount: z.int(),
    isFlagged: z.boolean().describe('Whether any message is flagged.'),
    hasAttachments: z.boolean().describe('Whether any message has attachments.'),
    hasDrafts: z.boolean().describe('Whether any message is a draft.'),
    mailboxIds: z.array(uuid).describe('The mailboxes of all its messages.'),
    latestMessageId: uuid,
    lastMessageAt: timestamp.describe('`receivedAt` of the latest message.'),
  })
  .meta({ id: 'ThreadSummary' })
export type ThreadSummary = z.infer<typeof threadSummary>

export const thread = threadSummary
  .extend({ messages: z.array(messageSummary).describe('Oldest first.') })
  .meta({ id: 'Thread' })
export type Thread = z.infer<typeof thread>

const threadPath = accountPath.extend({ threadId: z.string().describe('The thread’s `id`.') })

export const threads = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/threads',
    scope: 'read',
    accountToken: true,
    summary: 'List threads, latest activity first.',
    description:
      'Only messages within the sync window count. With `mailboxId`, the list has the threads with a ' +
      'message in that mailbox, sorted by their latest message there; each summary still describes the ' +
      'whole thread.',
    refuses: ['account_not_found', 'invalid_cursor', 'unknown_mailbox'],
    params: accountPath,
    query: z.strictObject({
      mailboxId: uuidInput.optional().describe('Default: all mailboxes.'),
      limit: pageLimit(100, 25),
      cursor: cursor.optional(),
    }),
    output: pageOf(threadSummary),
  }),

  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/threads/{threadId}',
    scope: 'read',
    accountToken: true,
    summary: 'Read a thread with its messages, oldest first.',
    refuses: ['account_not_found', 'thread_not_found'],
    params: threadPath,
    output: thread,
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/threads/{threadId}',
    scope: 'write',
    accountToken: true,
    audit: 'thread.update',
    summary: 'Mark or move all messages of a thread.',
    description:
      'Messages that are in that state already are skipped. A failure part way leaves the messages before ' +
      'it changed; repeating the request finishes the rest.',
    refuses: [...CHANGING_REASONS, 'thread_not_found', 'unknown_mailbox'],
    params: threadPath,
    body: z.strictObject({
      isRead: z.boolean().optional(),
      mailboxId: uuidInput.optional().describe('Moves every message there.'),
    }),
    output: thread,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/threads/{threadId}',
    scope: 'write',
    accountToken: true,
    audit: 'thread.delete',
    summary: 'Move all messages of a thread to Trash.',
    description:
      'Messages that are in Trash already stay there. A failure part way leaves the messages before it ' +
      'moved; repeating the request finishes the rest.',
    refuses: [...CHANGING_REASONS, 'thread_not_found'],
    params: threadPath,
    output: z.null(),
  }),
}
