import { z } from 'zod'
import { addressInput } from '../mail/address-input.ts'
import { importance } from '../mail/messages.ts'
import { singleLine, text, timestampInput, uuidInput } from '../shapes.ts'
import { undoSendSeconds } from '../accounts/settings.ts'
import { suppressionListId } from './suppressions.ts'
import { templateFieldInputs, templateFormat, templateParams } from './templates.ts'

/* Fields of a message. A send, a draft and a mail merge share them. */

/** Bound of a request that carries a message: 25 MiB of attachments in base64, and its texts. */
export const SEND_BODY_BYTES_MAX = 48 * 1024 * 1024
/** Bytes of all attachments of a message together, decoded. More is `attachments_too_large`. */
export const ATTACHED_BYTES_MAX = 25 * 1024 * 1024
export const RECIPIENTS_MAX = 500
export const ATTACHMENTS_MAX = 100

const CONTENT_LENGTH_MAX = 1_000_000
const HEADER_FIELDS_MAX = 50

// RFC 6838 section 4.2.
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i
/** RFC 2046 section 5.2: these have parts of their own, or must not be encoded. */
const STRUCTURED_TYPE = /^(?:multipart\/|message\/(?:partial|external-body)$)/i

const BASE64_PIECE = 64 * 1024

/** RFC 4648 section 4, with padding. In pieces, since one match of 30 million characters overflows the stack. */
function isBase64(value: string): boolean {
  const end = value.endsWith('==') ? value.length - 2 : value.endsWith('=') ? value.length - 1 : value.length
  if (value.length % 4 !== 0) return false
  for (let at = 0; at < end; at += BASE64_PIECE) {
    if (!/^[A-Za-z0-9+/]+$/.test(value.slice(at, Math.min(end, at + BASE64_PIECE)))) return false
  }
  return true
}

export const attachmentInput = z
  .strictObject({
    filename: singleLine({ min: 1, max: 255 })
      .nullish()
      .describe('Default: the name of the referenced attachment, if it is one.'),
    contentType: z
      .string()
      .regex(MEDIA_TYPE, 'must have the form type/subtype, without parameters')
      .refine(value => !STRUCTURED_TYPE.test(value), 'must be the type of a single part')
      .nullish()
      .describe(
        'The media type. By default, a referenced attachment keeps its own, and anything else is `application/octet-stream`.',
      ),
    contentId: z
      .string()
      .max(255)
      .regex(/^[^\u0000- <>\u007f-\u{10ffff}]+$/u, 'must be visible ASCII without < and >')
      .nullish()
      .describe('The name that `cid:` links in the HTML use, without angle brackets.'),
    isInline: z
      .boolean()
      .optional()
      .describe('Whether it is shown within the HTML. Needs a `contentId`. Default: false.'),
    content: z.string().refine(isBase64, 'must be base64').optional().describe('The bytes, in base64.'),
    messageId: uuidInput.optional().describe('A message of the account that has the attachment.'),
    attachmentId: text({ min: 1, max: 1024 })
      .optional()
      .describe('The `id` of one of that message’s `attachments`.'),
  })
  .superRefine((item, issues) => {
    const refuse = (field: keyof typeof item, message: string) =>
      issues.addIssue({ code: 'custom', path: [field], message })
    if (item.content !== undefined) {
      if (item.messageId !== undefined) refuse('messageId', 'must not be given together with content')
      if (item.attachmentId !== undefined) refuse('attachmentId', 'must not be given together with content')
    } else if (item.messageId === undefined) {
      refuse('content', 'must be given, or messageId with attachmentId')
    } else if (item.attachmentId === undefined)
      refuse('attachmentId', 'must be given together with messageId')
    if (item.isInline && item.contentId == null) refuse('contentId', 'must be given if isInline is true')
  })
  .meta({ id: 'AttachmentInput' })
export type AttachmentInput = z.infer<typeof attachmentInput>

// RFC 5322 section 3.6.8. Longer names would leave no room for folding.
const FIELD_NAME = /^[!-9;-~]{1,76}$/
const FREE_FIELD = /^(?:X-|List-)./i
const FREE_FIELDS = new Set(['auto-submitted', 'precedence', 'feedback-id', 'organization'])
const OWN_FIELD = /^(?:X-Waxwing-.*|X-Priority|X-MSMail-Priority)$/i

export const headerInput = z
  .strictObject({
    name: z
      .string()
      .regex(FIELD_NAME, 'must be the name of a header field, at most 76 characters')
      .refine(
        name => FREE_FIELD.test(name) || FREE_FIELDS.has(name.toLowerCase()),
        'must begin with X- or List-, or be Auto-Submitted, Precedence, Feedback-ID or Organization',
      )
      .refine(name => !OWN_FIELD.test(name), 'is set by the service; use the field of the request')
      .describe(
        'Begins with `X-` or `List-`, or is `Auto-Submitted`, `Precedence`, `Feedback-ID` or ' +
          '`Organization`. Fields that the service sets itself are refused.',
      ),
    value: singleLine({ max: 998 })
      .refine(value => value.trim() !== '', 'must not be empty')
      .describe('Characters beyond ASCII are sent as encoded words.'),
  })
  .meta({ id: 'HeaderInput' })

/** Values for a stored template, or a template of its own. */
export const renderInput = z
  .strictObject({
    params: templateParams.optional(),
    ...templateFieldInputs,
    format: templateFormat.nullish().describe('Default: `html`.'),
  })
  .meta({ id: 'RenderInput' })
export type RenderInput = z.infer<typeof renderInput>

const addresses = z.array(addressInput).max(RECIPIENTS_MAX).optional()

export const contentFields = {
  from: addressInput
    .nullish()
    .describe(
      'One of the account’s identities. Default: the primary one. Default of `name`: the identity’s.',
    ),
  to: addresses,
  cc: addresses,
  bcc: addresses.describe('Never shown to any recipient.'),
  replyTo: z.array(addressInput).max(10).optional(),
  subject: singleLine({ max: 2000 })
    .nullish()
    .describe('Default: that of the message replied to or forwarded, after `Re:` or `Fwd:`.'),
  html: text({ max: CONTENT_LENGTH_MAX }).nullish(),
  text: text({ max: CONTENT_LENGTH_MAX }).nullish().describe('Default: the text of `html`.'),
  template: uuidInput
    .nullish()
    .describe(
      'The `id` of a template that gives subject, HTML and text, with the values of `render.params`. It is rendered now.',
    ),
  render: renderInput
    .nullish()
    .describe(
      'With `template`: only `params`. Without it: `subject`, `html`, `text` or `previewText` as Handlebars. `subject`, ' +
        '`html` and `text` beside it must then be absent.',
    ),
  attachments: z
    .array(attachmentInput)
    .max(ATTACHMENTS_MAX)
    .optional()
    .describe('At most 25 MiB together, decoded.'),
  headers: z.array(headerInput).max(HEADER_FIELDS_MAX).optional(),
  importance: importance.nullish(),
  inReplyTo: uuidInput.nullish().describe('The `id` of the message that this one replies to.'),
  forwardOf: uuidInput
    .nullish()
    .describe('The `id` of the message that this one forwards. Its attachments are added.'),
  sign: z
    .boolean()
    .optional()
    .describe('Whether to append the identity’s signature. Default: `signByDefault` of the mail settings.'),
}

/** Fields that are decided when a message is sent, not when it is written. */
export const sendingFields = {
  sendAt: timestampInput.nullish().describe('When to send, at most 365 days ahead. Default: now.'),
  undoSendSeconds: undoSendSeconds.optional().describe('Default: `undoSendSeconds` of the account.'),
  listId: suppressionListId
    .nullish()
    .describe(
      'The suppression list that is consulted beside the global one, and that the recipient leaves by the ' +
        '`List-Unsubscribe` link. Needs exactly one recipient, in `to`. A missing list is created.',
    ),
  trackOpens: z
    .boolean()
    .optional()
    .describe(
      'Whether to add an image that tells when the message is opened. Default: `trackOpens` of the account.',
    ),
  trackClicks: z
    .boolean()
    .optional()
    .describe(
      'Whether the links of the HTML lead over the service, which tells when one is clicked. Default: ' +
        '`trackClicks` of the account.',
    ),
  reference: text({ max: 255 }).nullish().describe('Your own identifier for the send.'),
}

type Content = Partial<z.infer<z.ZodObject<typeof contentFields>>>

const GIVEN = ['subject', 'html', 'text'] as const
const RENDERED = [...GIVEN, 'previewText'] as const
type ContentSource = Pick<Content, 'template' | 'render' | (typeof GIVEN)[number]>

/** Whether the content is given, or rendered from what the request has, besides any stored template. */
export function hasInlineContent({ render, ...body }: ContentSource): boolean {
  const isIn = (fields: object, names: readonly string[]) =>
    names.some(name => (fields as Record<string, unknown>)[name] != null)
  return isIn(body, GIVEN) || isIn(render ?? {}, [...RENDERED, 'format'])
}

/** Content comes from the body, or is rendered from its fields. The reason for a template beside either is another. */
export function checkContentSource(body: ContentSource, issues: z.core.$RefinementCtx): void {
  const { render, template } = body
  if (render == null || template != null) return
  const refuse = (path: string[], message: string) => issues.addIssue({ code: 'custom', path, message })
  if (RENDERED.every(field => render[field] == null))
    return refuse(['render'], 'must have subject, html, text or previewText, or go with template')
  for (const field of GIVEN)
    if (body[field] != null) refuse([field], 'must not be given together with render')
}

/** The rules that concern several fields. */
export function checkContent(body: Content, issues: z.core.$RefinementCtx): void {
  const refuse = (path: Array<string | number>, message: string) =>
    issues.addIssue({ code: 'custom', path, message })
  let recipients = 0
  for (const field of ['to', 'cc', 'bcc'] as const) {
    const before = recipients
    recipients += body[field]?.length ?? 0
    if (before <= RECIPIENTS_MAX && recipients > RECIPIENTS_MAX)
      refuse([field], `to, cc and bcc must have at most ${RECIPIENTS_MAX} recipients together`)
  }
  checkContentSource(body, issues)
  if (body.inReplyTo != null && body.forwardOf != null)
    refuse(['forwardOf'], 'must not be given together with inReplyTo')
  const contentIds = new Set<string>()
  for (const [index, { contentId }] of (body.attachments ?? []).entries()) {
    if (contentId == null) continue
    if (contentIds.has(contentId)) refuse(['attachments', index, 'contentId'], 'must be used only once')
    contentIds.add(contentId)
  }
}

const UNSUBSCRIBE_FIELD = /^List-Unsubscribe/i

/** A message of a list gets the fields by which its recipient unsubscribes. */
export function checkListFields(
  { listId, headers = [] }: { listId?: string | null | undefined; headers?: Content['headers'] },
  issues: z.core.$RefinementCtx,
): void {
  if (listId == null) return
  for (const [index, { name }] of headers.entries()) {
    if (!UNSUBSCRIBE_FIELD.test(name)) continue
    const message = 'must not be given together with listId'
    issues.addIssue({ code: 'custom', path: ['headers', index, 'name'], message })
  }
}

/** The body of a draft. Recipients are not required. */
export const draftBody = z.strictObject(contentFields).superRefine(checkContent).meta({ id: 'DraftInput' })
export type DraftBody = z.infer<typeof draftBody>

/** The body of a send: a message, and how to send it. */
export const sendBody = z
  .strictObject({ ...contentFields, ...sendingFields })
  .superRefine(checkContent)
  .superRefine(checkListFields)
  .meta({ id: 'SendInput' })
export type SendBody = z.infer<typeof sendBody>

/** The body that sends a draft. */
export const draftSendBody = z.strictObject(sendingFields).meta({ id: 'DraftSendInput' })
export type DraftSendBody = z.infer<typeof draftSendBody>
