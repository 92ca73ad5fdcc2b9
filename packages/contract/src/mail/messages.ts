import { z } from 'zod'
import { operation } from '../operation.ts'
import {
  accountPath,
  address,
  cursor,
  download,
  pageLimit,
  pageOf,
  pathId,
  queryBoolean,
  queryText,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from '../shapes.ts'

export const importance = z.enum(['high', 'normal', 'low'])
export const direction = z.enum(['inbound', 'outbound'])
export const threadId = z.string().min(1).max(1024)

export const messageSummary = z
  .object({
    id: uuid,
    threadId: threadId.nullable().describe('The conversation that it belongs to.'),
    internetMessageId: z.string().nullable().describe('Its Message-ID, in angle brackets.'),
    mailboxIds: z.array(uuid).describe('One folder, or several labels.'),
    subject: z.string().nullable(),
    from: address.nullable(),
    to: z.array(address),
    cc: z.array(address),
    snippet: z.string().describe('How the text begins.'),
    receivedAt: timestamp.describe('When it came into the mailbox, as the provider says.'),
    sentAt: timestamp.nullable().describe('What its Date field says.'),
    isRead: z.boolean(),
    isFlagged: z.boolean(),
    isDraft: z.boolean(),
    hasAttachments: z.boolean(),
    categories: z.array(z.string()).describe('Categories of the provider.'),
    direction: direction.describe(
      '`outbound`: in a sent mailbox, or from the account’s own address or identities, drafts included.',
    ),
    outboxId: uuid.nullable().describe('The send through this interface that it is a copy of.'),
    reference: z.string().nullable().describe('`reference` of that send.'),
    importance: importance.nullable().describe('`normal` where the message says nothing.'),
  })
  .meta({ id: 'MessageSummary' })
export type MessageSummary = z.infer<typeof messageSummary>

export const attachment = z
  .object({
    id: z.string().describe('The MIME part number, such as `1.2`.'),
    filename: z.string().nullable().describe('As the sender named it: not safe as a path.'),
    contentType: z.string().describe('As the sender says.'),
    size: z.int().describe('Bytes of the download.'),
    isInline: z.boolean().describe('Shown within the body, as images of HTML mail are.'),
    contentId: z.string().nullable().describe('What `cid:` links in the HTML name, without angle brackets.'),
  })
  .meta({ id: 'Attachment' })

export const classification = z
  .object({
    kind: z.string().describe('What the reply is, such as `opt_out`.'),
    probabilities: z.record(z.string(), z.number()).describe('Of each kind, from 0 to 1.'),
    optOutProbability: z.number().describe('That the sender wants no more mail, from 0 to 1.'),
    autoReplyCategory: z
      .string()
      .nullable()
      .describe('Such as `out_of_office`; null for no automatic reply.'),
    returnDate: z.iso.date().nullable().describe('When the sender is back.'),
    alternateContacts: z.array(z.string()).describe('Whom the reply names instead.'),
    outboxId: uuid.nullable().describe('The send that it answers.'),
    model: z.string().describe('The language model that decided.'),
    classifiedAt: timestamp,
  })
  .meta({ id: 'Classification' })

export const message = messageSummary
  .extend({
    bcc: z.array(address).describe('Seldom known, except of drafts and sent mail.'),
    replyTo: z.array(address).describe('Where answers go, if not to `from`.'),
    body: z
      .object({ text: z.string().nullable(), html: z.string().nullable() })
      .describe(
        'Each null when the message has no such part, or cannot be shown as a whole. At most 5 MiB of each: what is ' +
          'longer is an attachment. HTML is as the sender wrote it.',
      ),
    attachments: z.array(attachment),
    classification: classification.nullable().describe('Of replies, where it is turned on.'),
  })
  .meta({ id: 'Message' })
export type Message = z.infer<typeof message>

const messagePath = accountPath.extend({ messageId: pathId.describe('The message’s `id`.') })
/** Of every operation that may have to ask the provider for a message. */
const READING_REASONS = [
  'account_not_found',
  'message_not_found',
  'account_paused',
  'account_disabled',
  'account_reauth_required',
  'account_misconfigured',
  'provider_not_found',
  'provider_forbidden',
  'provider_throttled',
  'provider_unavailable',
] as const

/** What `changes` of `message.updated` can name. */
export const messageChange = messageSummary.omit({ id: true }).keyof()
export type MessageChange = z.infer<typeof messageChange>

/** What narrows a list of messages, in its query. */
export const messageFilters = {
  mailboxId: uuidInput.optional().describe('All mailboxes when absent.'),
  from: queryText(1, 320).optional().describe('Part of the sender’s address or display name.'),
  to: queryText(1, 320).optional().describe('Part of an address or display name in To, Cc or Bcc.'),
  unread: queryBoolean.optional().describe('`true`: unread ones only; `false`: read ones only.'),
  flagged: queryBoolean.optional().describe('`true`: flagged ones only; `false`: the others.'),
  hasAttachments: queryBoolean.optional().describe('`true`: only with attachments; `false`: only without.'),
  after: timestampInput.optional().describe('Received at or after this instant.'),
  before: timestampInput.optional().describe('Received before this instant; later than `after`.'),
}

export const messages = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages',
    scope: 'read',
    accountToken: true,
    summary: 'List messages, newest first.',
    description: 'Only messages within the sync window. Filters narrow each other.',
    refuses: ['account_not_found', 'invalid_cursor', 'invalid_range', 'unknown_mailbox'],
    params: accountPath,
    query: z.strictObject({
      ...messageFilters,
      importance: importance.optional().describe('Messages whose importance is null match none.'),
      limit: pageLimit(200, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(messageSummary),
  }),

  get: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages/{messageId}',
    scope: 'read',
    accountToken: true,
    summary: 'Read a message with its body.',
    description:
      'With `bodyStorage` `cache` or `full` the message is read from what is stored, and stored where it was not; with ' +
      '`none`, and for drafts, it is read from the provider. A message over 50 MiB has neither body nor attachments ' +
      'here; one with more than 1,000 parts or 64 levels has no body, and the attachments up to there. `raw` has it all.',
    refuses: READING_REASONS,
    params: messagePath,
    output: message,
  }),

  raw: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages/{messageId}/raw',
    scope: 'read',
    accountToken: true,
    summary: 'Download a message as RFC 5322.',
    description: 'Sent in chunks, without Content-Length.',
    refuses: READING_REASONS,
    params: messagePath,
    output: download,
    produces: 'message/rfc822',
  }),

  attachment: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages/{messageId}/attachments/{attachmentId}',
    scope: 'read',
    accountToken: true,
    summary: 'Download an attachment.',
    description:
      'Sent decoded and in chunks, without Content-Length: `size` of the attachment tells how much comes. The ' +
      'Content-Type is the sender’s where no browser would run it, else `application/octet-stream`.',
    refuses: READING_REASONS,
    params: messagePath.extend({
      attachmentId: z.string().describe('`id` of one of the message’s `attachments`, such as `1.2`.'),
    }),
    output: download,
    produces: 'application/octet-stream',
  }),
}
