import { z } from 'zod'
import { operation } from '../operation.ts'
import { CHANGING_REASONS } from './changing-reasons.ts'
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
    threadId: threadId.nullable().describe('The thread that the message belongs to.'),
    internetMessageId: z.string().nullable().describe('The Message-ID, in angle brackets.'),
    mailboxIds: z.array(uuid).describe('One folder, or any number of labels.'),
    subject: z.string().nullable(),
    from: address.nullable(),
    to: z.array(address),
    cc: z.array(address),
    snippet: z.string().describe('The first words of the text.'),
    receivedAt: timestamp.describe('When the message arrived in the mailbox, as the provider reports it.'),
    sentAt: timestamp.nullable().describe('The Date field of the message.'),
    isRead: z.boolean(),
    isFlagged: z.boolean(),
    isDraft: z.boolean(),
    hasAttachments: z.boolean(),
    categories: z.array(z.string()).describe('The provider’s categories.'),
    direction: direction.describe(
      '`outbound` if the message is in the sent mailbox or is from the account’s own address or one of ' +
        'its identities. This includes drafts.',
    ),
    outboxId: uuid.nullable().describe('The send through this API that this message is a copy of.'),
    reference: z.string().nullable().describe('The `reference` of that send.'),
    importance: importance.nullable().describe('`normal` if the message has none.'),
  })
  .meta({ id: 'MessageSummary' })
export type MessageSummary = z.infer<typeof messageSummary>

export const attachment = z
  .object({
    id: z.string().describe('The MIME part number, such as `1.2`.'),
    filename: z.string().nullable().describe('As the sender named it; not safe as a file path.'),
    contentType: z.string().describe('As the sender declared it.'),
    size: z.int().describe('Size of the download in bytes.'),
    isInline: z.boolean().describe('Whether it is shown within the body, as images of HTML mail are.'),
    contentId: z
      .string()
      .nullable()
      .describe('The name that `cid:` links in the HTML use, without angle brackets.'),
  })
  .meta({ id: 'Attachment' })

export const classificationKind = z.enum(['reply', 'auto_reply', 'opt_out', 'bounce', 'other'])
export const autoReplyCategory = z.enum([
  'out_of_office',
  'left_company',
  'address_changed',
  'acknowledgement',
  'other',
])

export const classification = z
  .object({
    kind: classificationKind.describe('Kind of reply.'),
    probabilities: z
      .record(z.string(), z.number())
      .describe('The probability of each kind, from 0 to 1. Kinds that are left out have none.'),
    optOutProbability: z
      .number()
      .describe('The probability that the sender wants no more mail, from 0 to 1.'),
    autoReplyCategory: autoReplyCategory
      .nullable()
      .describe('Category of an automatic reply; null if the reply is not automatic.'),
    returnDate: z.iso
      .date()
      .nullable()
      .describe('The day on which the sender is back, if an out-of-office reply names it.'),
    alternateContacts: z
      .array(z.string())
      .describe('Addresses that an automatic reply names as contacts instead.'),
    outboxId: uuid.nullable().describe('The send that this is a reply to.'),
    model: z.string().describe('`rules`, or the language model that classified the reply.'),
    classifiedAt: timestamp,
  })
  .meta({ id: 'Classification' })
export type Classification = z.infer<typeof classification>

export const message = messageSummary
  .extend({
    bcc: z.array(address).describe('Usually known only for drafts and sent mail.'),
    replyTo: z.array(address).describe('Addresses for replies, if not `from`.'),
    body: z
      .object({ text: z.string().nullable(), html: z.string().nullable() })
      .describe(
        'A field is null if the message has no such part, or if the part cannot be shown whole. Each is ' +
          'at most 5 MiB; a longer text is an attachment. The HTML is exactly what the sender wrote.',
      ),
    attachments: z.array(attachment),
    classification: classification
      .nullable()
      .describe(
        'The kind of message, if it answers a send through this API or reports about one. Null while it is undecided.',
      ),
  })
  .meta({ id: 'Message' })
export type Message = z.infer<typeof message>

const messagePath = accountPath.extend({ messageId: pathId.describe('The message’s `id`.') })
/** The reasons of every operation that may have to ask the provider for a message. */
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

const labelIds = z.array(uuidInput).max(50)

/** The values of `changes` in `message.updated`. */
export const messageChange = messageSummary.omit({ id: true }).keyof()
export type MessageChange = z.infer<typeof messageChange>

/** Query filters that all lists of messages share. */
export const messageFilters = {
  mailboxId: uuidInput.optional().describe('Default: all mailboxes.'),
  from: queryText(1, 320).optional().describe('Part of the sender’s address or display name.'),
  to: queryText(1, 320).optional().describe('Part of an address or display name in To, Cc or Bcc.'),
  unread: queryBoolean.optional().describe('`true`: only unread messages; `false`: only read ones.'),
  flagged: queryBoolean.optional().describe('`true`: only flagged messages; `false`: only unflagged ones.'),
  hasAttachments: queryBoolean
    .optional()
    .describe('`true`: only messages with attachments; `false`: only messages without.'),
  after: timestampInput.optional().describe('Received at or after this time.'),
  before: timestampInput.optional().describe('Received before this time, which must be later than `after`.'),
}

export const messages = {
  list: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages',
    scope: 'read',
    accountToken: true,
    summary: 'List messages, newest first.',
    description: 'Only messages within the sync window. Filters are combined with AND.',
    refuses: ['account_not_found', 'invalid_cursor', 'invalid_range', 'unknown_mailbox'],
    params: accountPath,
    query: z.strictObject({
      ...messageFilters,
      importance: importance.optional().describe('Never matches messages whose importance is null.'),
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
      'With `bodyStorage` `cache` or `full`, the message is read from storage; if it is not stored yet, ' +
      'it is read from the provider and stored. With `none`, and for drafts, it is always read from the ' +
      'provider. A message over 50 MiB has neither body nor attachments here. One with more than 1,000 ' +
      'parts or 64 levels has no body, and its list of attachments ends at that limit. `raw` always ' +
      'returns the whole message. A draft is answered with an `ETag`.',
    refuses: READING_REASONS,
    hasEtag: true,
    params: messagePath,
    output: message,
  }),

  raw: operation({
    method: 'GET',
    path: '/v1/accounts/{accountId}/messages/{messageId}/raw',
    scope: 'read',
    accountToken: true,
    summary: 'Download a message in its original format (RFC 5322).',
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
      'The content is decoded and sent in chunks, without Content-Length; the attachment’s `size` is ' +
      'the number of its bytes. The Content-Type is the sender’s if browsers do not run that type, ' +
      'otherwise `application/octet-stream`.',
    refuses: READING_REASONS,
    params: messagePath.extend({
      attachmentId: z.string().describe('The `id` of one of the message’s `attachments`, such as `1.2`.'),
    }),
    output: download,
    produces: 'application/octet-stream',
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/accounts/{accountId}/messages/{messageId}',
    scope: 'write',
    accountToken: true,
    audit: 'message.update',
    summary: 'Mark or move a message.',
    description:
      'Absent fields stay. The provider is changed first, flags before the move; if the move then fails, ' +
      'its error is answered and the flags are changed, indexed and announced. One `message.updated` ' +
      'names what changed. A message keeps its `id` when it moves.',
    refuses: [...CHANGING_REASONS, 'message_not_found', 'unknown_mailbox', 'mailbox_not_label'],
    params: messagePath,
    body: z
      .strictObject({
        isRead: z.boolean().optional(),
        isFlagged: z.boolean().optional(),
        mailboxId: uuidInput
          .optional()
          .describe('Moves the message. On Gmail it replaces the labels that act as folders.'),
        addMailboxIds: labelIds.optional().describe('Labels to add, at most 50. Gmail only.'),
        removeMailboxIds: labelIds.optional().describe('Labels to remove, at most 50. Gmail only.'),
      })
      .superRefine(({ addMailboxIds = [], removeMailboxIds = [] }, issues) => {
        for (const [index, id] of removeMailboxIds.entries()) {
          if (!addMailboxIds.includes(id)) continue
          issues.addIssue({
            code: 'custom',
            path: ['removeMailboxIds', index],
            message: 'must not be in addMailboxIds, too',
          })
        }
      }),
    output: messageSummary,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/messages/{messageId}',
    scope: 'write',
    accountToken: true,
    audit: 'message.delete',
    summary: 'Move a message to Trash, or delete it for good.',
    description:
      'A message that is in Trash already stays there. A Trash mailbox that the provider lacks is created.',
    refuses: [...CHANGING_REASONS, 'message_not_found'],
    params: messagePath,
    query: z.strictObject({
      permanent: queryBoolean
        .optional()
        .describe(
          '`true`: removes this message and no other, for good. Default: false. On Gmail the grant needs the scope ' +
            '`https://mail.google.com/`; otherwise the answer is `scope_missing`.',
        ),
    }),
    output: z.null(),
  }),
}
