import { z } from 'zod'
import { importance, threadId } from '../mail/messages.ts'
import { operation } from '../operation.ts'
import { SEND_BODY_BYTES_MAX, sendBody } from './send-body.ts'
import { RENDER_BODY_VALUES_MAX } from './templates.ts'
import {
  accountPath,
  address,
  cursor,
  pageLimit,
  pageOf,
  pathId,
  queryInteger,
  queryList,
  queryText,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from '../shapes.ts'

export const outboxStatus = z.enum(['queued', 'sending', 'sent', 'failed', 'cancelled'])
export type OutboxStatus = z.infer<typeof outboxStatus>

/** Why a send failed or is tried again: reasons of answers, and `outcome_unknown`, which no answer has. */
export const sendFailure = z.enum([
  'provider_rejected',
  'provider_throttled',
  'provider_unavailable',
  'provider_forbidden',
  'login_failed',
  'server_not_allowed',
  'attachments_too_large',
  'suppressed',
  'storage_unavailable',
  'account_paused',
  'account_disabled',
  'account_reauth_required',
  'account_misconfigured',
  'outcome_unknown',
])
export type SendFailure = z.infer<typeof sendFailure>

export const sendError = z
  .object({
    reason: sendFailure.describe(
      '`outcome_unknown`: nothing proves whether the server accepted the message, since the connection was lost ' +
        'after it was handed over, or since the database was restored to an earlier state. It is never sent again ' +
        'by itself.',
    ),
    message: z.string().describe('For people. Where the server refused, it is the text of the server.'),
  })
  .meta({ id: 'SendError' })

export const outboxEntry = z
  .object({
    id: uuid,
    accountId: uuid,
    status: outboxStatus.describe(
      '`queued` until it is due, and again between two attempts; `sending` while it is handed over, or ' +
        'while it is being found out whether that succeeded; then `sent`, `failed` or `cancelled`.',
    ),
    from: address,
    to: z.array(address),
    cc: z.array(address),
    bcc: z.array(address),
    replyTo: z.array(address),
    subject: z.string().nullable(),
    snippet: z.string().describe('The first words of the text.'),
    hasAttachments: z.boolean(),
    size: z.int().describe('Bytes of the whole message.'),
    importance: importance.nullable(),
    inReplyTo: uuid.nullable().describe('The message that this one replies to.'),
    draftId: uuid.nullable().describe('The draft that was sent.'),
    templateId: uuid.nullable().describe('The template that it was rendered from, which may be gone.'),
    listId: z.string().nullable().describe('The suppression list that the send named.'),
    mailMergeId: uuid.nullable().describe('The mail merge that it belongs to.'),
    reference: z.string().nullable(),
    trackOpens: z.boolean(),
    trackClicks: z.boolean(),
    internetMessageId: z.string().describe('The Message-ID, in angle brackets.'),
    messageId: uuid
      .nullable()
      .describe('The copy in the mailbox of sent mail, as soon as it is indexed; null if it is gone.'),
    threadId: threadId.nullable().describe('Of a reply known from the start, otherwise with `messageId`.'),
    sendAt: timestamp.describe('When it is due, after the time in which it can be undone.'),
    attempts: z.int().describe('How many attempts have ended.'),
    nextAttemptAt: timestamp
      .nullable()
      .describe('When it is tried next. A sent message may still be tried for some of its recipients.'),
    lastError: sendError.nullable().describe('Error of the last attempt.'),
    rejectedRecipients: z
      .array(
        z.object({
          address: z.string(),
          status: z.string().describe('The enhanced status code (RFC 3463), such as `5.1.1`.'),
          message: z.string().describe('The text of the server.'),
        }),
      )
      .describe('Recipients that the server refused for good.'),
    sentAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'OutboxEntry' })
export type OutboxEntry = z.infer<typeof outboxEntry>

const outboxPath = accountPath.extend({ outboxId: pathId.describe('The entry’s `id`.') })

export const outbox = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/outbox',
    scope: 'read',
    accountToken: true,
    summary: 'List queued and recent sends, newest first.',
    description: 'Entries are kept for 30 days after their end. Filters are combined with AND.',
    refuses: ['account_not_found', 'invalid_cursor', 'invalid_range'],
    params: accountPath,
    query: z.strictObject({
      status: queryList(outboxStatus).optional().describe('Only entries with one of these.'),
      reference: queryText(1, 255).optional().describe('Only entries with exactly this `reference`.'),
      mailMergeId: uuidInput.optional().describe('Only entries of this mail merge.'),
      since: timestampInput.optional().describe('Created at or after this time.'),
      until: timestampInput
        .optional()
        .describe('Created before this time, which must be later than `since`.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(outboxEntry),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/outbox',
    scope: 'send',
    accountToken: true,
    audit: 'outbox.create',
    makes: 'outboxId',
    bodyBytesMax: SEND_BODY_BYTES_MAX,
    bodyValuesMax: RENDER_BODY_VALUES_MAX,
    summary: 'Send a message.',
    description:
      'Answers as soon as the message is stored and will be sent, whatever happens to the service. What ' +
      'becomes of it is told by the entry and by the events `send.sent`, `send.retrying` and `send.failed`. ' +
      'Attachments that are named by reference are read now, so later changes of their messages do not matter.',
    refuses: [
      'account_not_found',
      'account_paused',
      'account_disabled',
      'account_reauth_required',
      'account_misconfigured',
      'attachments_too_large',
      'billing_past_due',
      'from_not_allowed',
      'invalid_template',
      'list_send_recipients',
      'list_unsubscribe_unavailable',
      'no_recipients',
      'params_too_large',
      'plan_limit_sends',
      'plan_module_unavailable',
      'provider_forbidden',
      'provider_not_found',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'suppressed',
      'template_account_mismatch',
      'template_and_inline_fields',
      'template_render_failed',
      'tracking_unsupported',
      'unknown_message',
      'unknown_reply_target',
      'unknown_template',
    ],
    params: accountPath,
    body: sendBody,
    output: outboxEntry,
  }),

  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/outbox/{outboxId}',
    scope: 'read',
    accountToken: true,
    summary: 'Read one send.',
    description: 'With `waitSeconds`, the answer waits until the send is `sent`, `failed` or `cancelled`.',
    refuses: ['account_not_found', 'send_not_found'],
    params: outboxPath,
    query: z.strictObject({
      waitSeconds: queryInteger(0, 30).default(0).describe('Maximum number of seconds to wait.'),
    }),
    output: outboxEntry,
  }),

  reschedule: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/outbox/{outboxId}',
    scope: 'send',
    accountToken: true,
    audit: 'outbox.update',
    summary: 'Change when a queued message is sent.',
    description: 'Works as long as `status` is `queued`, also between two attempts.',
    refuses: ['account_not_found', 'send_not_found', 'send_not_reschedulable'],
    params: outboxPath,
    body: z.strictObject({
      sendAt: timestampInput
        .nullable()
        .describe('At most 365 days ahead and at most 60 seconds in the past; null: now.'),
    }),
    output: outboxEntry,
  }),

  release: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/outbox/{outboxId}/release',
    scope: 'send',
    accountToken: true,
    audit: 'outbox.release',
    summary: 'Send a message that was held after a restore.',
    description:
      'After the database was restored to an earlier state, what was due may have been sent before, and becomes ' +
      '`failed` with the reason `outcome_unknown`. This queues it again: `sendAt` becomes now, and it is not counted ' +
      'again for the day. If its copy was found meanwhile, it is `sent`. Works only for what was held so, never for ' +
      'what had been handed over.',
    refuses: ['account_not_found', 'send_not_found', 'send_not_reschedulable'],
    params: outboxPath,
    output: outboxEntry,
  }),

  cancel: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/outbox/{outboxId}',
    scope: 'send',
    accountToken: true,
    audit: 'outbox.delete',
    summary: 'Cancel a queued send.',
    description: 'Works as long as `status` is `queued`, also between two attempts.',
    refuses: ['account_not_found', 'send_not_found', 'send_not_cancellable'],
    params: outboxPath,
    output: z.null(),
  }),
}
