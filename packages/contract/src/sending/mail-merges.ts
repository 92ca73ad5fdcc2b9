import { z } from 'zod'
import { operation } from '../operation.ts'
import { reasons } from '../reasons.ts'
import { accountPath, text, timestampInput, uuid } from '../shapes.ts'
import { RENDER_BODY_VALUES_MAX, templateParams } from './templates.ts'
import {
  checkContent,
  checkListFields,
  contentFields,
  SEND_BODY_BYTES_MAX,
  sendingFields,
} from './send-body.ts'

export const MERGE_ENTRIES_MAX = 1000
export const MERGE_INTERVAL_SECONDS_MAX = 3600
/** As in a send, and room for 1,000 entries. */
const MERGE_BODY_VALUES_MAX = RENDER_BODY_VALUES_MAX + 10 * MERGE_ENTRIES_MAX

/** Reasons for which a single entry is refused. */
const ENTRY_REASONS = [
  'invalid_input',
  'params_too_large',
  'template_render_failed',
  'suppressed',
  'plan_limit_sends',
  'attachments_too_large',
] as const satisfies ReadonlyArray<keyof typeof reasons>

/** It is checked entry by entry, so that one bad address stops no other. */
const recipient = z
  .strictObject({
    name: z.string().nullish().describe('The display name.'),
    address: z.string().meta({ format: 'idn-email' }),
  })
  .describe('As in a send. A mistake in it is an error of this entry alone.')

const mergeEntry = z
  .strictObject({
    to: recipient,
    params: templateParams
      .optional()
      .describe('Values for the template, at most 256 KB. Default: `render.params`.'),
    reference: text({ max: 255 }).nullish().describe('Default: `reference` of the merge.'),
    sendAt: timestampInput.nullish().describe('Default: `sendAt` of the merge.'),
  })
  .meta({ id: 'MailMergeEntryInput' })
export type MergeEntry = z.infer<typeof mergeEntry>

const {
  to: _to,
  cc: _cc,
  bcc: _bcc,
  inReplyTo: _inReplyTo,
  forwardOf: _forwardOf,
  ...sharedFields
} = contentFields

const mergeBody = z
  .strictObject({
    ...sharedFields,
    ...sendingFields,
    undoSendSeconds: sendingFields.undoSendSeconds.describe('Default: 0.'),
    reference: text({ max: 255 })
      .nullish()
      .describe('Your own identifier, of each entry without one of its own.'),
    intervalSeconds: z
      .int()
      .min(0)
      .max(MERGE_INTERVAL_SECONDS_MAX)
      .optional()
      .describe(
        'Least time between two hand-overs of the merge, in seconds, also after a pause. Each entry’s `sendAt` ' +
          'then shows when it is due. Default: 0.',
      ),
    entries: z.array(mergeEntry).min(1).max(MERGE_ENTRIES_MAX).describe('One message each.'),
  })
  .superRefine(checkContent)
  .superRefine(checkListFields)
  .meta({ id: 'MailMergeInput' })
export type MergeBody = z.infer<typeof mergeBody>

export const mergeItem = z
  .object({
    index: z.int().describe('The place of the entry in the request, from 0.'),
    address: z.string().describe('As in the request; cut to 320 characters.'),
    mailMergeId: uuid.describe('The same for all entries. `GET …/outbox?mailMergeId=…` lists them.'),
    outboxId: uuid.nullable().describe('The entry of the outbox; null if the entry was not queued.'),
    error: z
      .object({ reason: z.enum(ENTRY_REASONS), message: z.string() })
      .nullable()
      .describe('Why it was not queued.'),
  })
  .meta({ id: 'MailMergeItem' })
export type MergeItem = z.infer<typeof mergeItem>

export const mailMerges = {
  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/mail-merges',
    scope: 'send',
    accountToken: true,
    audit: 'mail_merge.create',
    makes: 'mailMergeId',
    bodyBytesMax: SEND_BODY_BYTES_MAX,
    bodyValuesMax: MERGE_BODY_VALUES_MAX,
    summary: 'Send a message to each of up to 1,000 recipients.',
    description:
      'Each entry becomes a message of its own in the outbox. All of them are queued together, or none. An entry ' +
      'that cannot be sent is reported by its item and does not stop the others; what is wrong with the shared ' +
      'fields refuses the whole. Other sends of the account go before entries that wait.',
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
      'list_unsubscribe_unavailable',
      'plan_module_unavailable',
      'provider_forbidden',
      'provider_not_found',
      'provider_throttled',
      'provider_unavailable',
      'provider_unsupported',
      'template_account_mismatch',
      'template_and_inline_fields',
      'tracking_unsupported',
      'unknown_message',
      'unknown_template',
    ],
    params: accountPath,
    body: mergeBody,
    output: z
      .object({ items: z.array(mergeItem).describe('One for each entry, in their order.') })
      .meta({ id: 'MailMerge' }),
  }),
}
