import { z } from 'zod'
import { CHANGING_REASONS } from '../mail/changing-reasons.ts'
import { message } from '../mail/messages.ts'
import { operation } from '../operation.ts'
import { accountPath, pathId } from '../shapes.ts'
import { outboxEntry } from './outbox.ts'
import { draftBody, draftSendBody, SEND_BODY_BYTES_MAX } from './send-body.ts'
import { RENDER_BODY_VALUES_MAX } from './templates.ts'

const draftPath = accountPath.extend({ messageId: pathId.describe('The draft’s `id`.') })

const WRITING_REASONS = [
  ...CHANGING_REASONS,
  'attachments_too_large',
  'from_not_allowed',
  'invalid_template',
  'params_too_large',
  'provider_conflict',
  'provider_not_found',
  'template_account_mismatch',
  'template_and_inline_fields',
  'template_render_failed',
  'unknown_message',
  'unknown_reply_target',
  'unknown_template',
] as const

const DRAFT_REASONS = ['draft_not_found', 'not_a_draft'] as const

export const drafts = {
  create: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/drafts',
    scope: 'write',
    accountToken: true,
    audit: 'draft.create',
    makes: 'messageId',
    bodyBytesMax: SEND_BODY_BYTES_MAX,
    bodyValuesMax: RENDER_BODY_VALUES_MAX,
    hasEtag: true,
    summary: 'Create a draft.',
    description:
      'Takes the fields of a send, none of them required, and files the draft in the mailbox of drafts, which is ' +
      'created if there is none. Attachments that are named by reference are copied now.',
    refuses: WRITING_REASONS,
    params: accountPath,
    body: draftBody,
    output: message,
  }),

  replace: operation({
    method: 'PUT',
    path: '/v1/accounts/{accountId}/drafts/{messageId}',
    scope: 'write',
    accountToken: true,
    audit: 'draft.update',
    bodyBytesMax: SEND_BODY_BYTES_MAX,
    bodyValuesMax: RENDER_BODY_VALUES_MAX,
    isConditional: true,
    hasEtag: true,
    summary: 'Replace the content of a draft.',
    description:
      'Replaces everything, also in a draft that another client wrote. The draft keeps its `id`, its Message-ID, its ' +
      'References and its thread. To keep an attachment, name it by the draft’s own `id` and its `attachmentId`. ' +
      '`sign` defaults to false here, since the text may have the signature already. After `draft_lost` the draft is ' +
      'readable for 24 hours; repeating the request creates it at the provider again.',
    refuses: [...WRITING_REASONS, ...DRAFT_REASONS, 'draft_lost'],
    params: draftPath,
    body: draftBody,
    output: message,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/accounts/{accountId}/drafts/{messageId}',
    scope: 'write',
    accountToken: true,
    audit: 'draft.delete',
    isConditional: true,
    summary: 'Delete a draft.',
    description: 'Removes it for good, without Trash. What was sent of it before is not affected.',
    refuses: [...CHANGING_REASONS, ...DRAFT_REASONS, 'provider_conflict', 'provider_not_found'],
    params: draftPath,
    output: z.null(),
  }),

  send: operation({
    method: 'POST',
    path: '/v1/accounts/{accountId}/drafts/{messageId}/send',
    scope: 'send',
    accountToken: true,
    audit: 'draft.send',
    makes: 'outboxId',
    isConditional: true,
    summary: 'Send a draft.',
    description:
      'Takes what the draft says now, whoever wrote it, and answers as soon as it is stored and will be sent. Later ' +
      'changes of the draft do not change what is sent. Once it is sent, the draft is removed if it still says the ' +
      'same; cancelling leaves it. While one send of a draft is `queued` or `sending`, another one is refused with ' +
      '`provider_conflict`.',
    refuses: [
      ...CHANGING_REASONS,
      ...DRAFT_REASONS,
      'attachments_too_large',
      'billing_past_due',
      'from_not_allowed',
      'list_send_recipients',
      'list_unsubscribe_unavailable',
      'no_recipients',
      'plan_limit_sends',
      'plan_module_unavailable',
      'provider_conflict',
      'provider_not_found',
      'suppressed',
      'tracking_unsupported',
    ],
    params: draftPath,
    body: draftSendBody,
    output: outboxEntry,
  }),
}
