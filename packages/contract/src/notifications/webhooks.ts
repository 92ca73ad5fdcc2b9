import { z } from 'zod'
import { eventType } from '../events.ts'
import { operation } from '../operation.ts'
import { collectionOf, eventId, pathId, text, timestamp, uuid, uuidInput } from '../shapes.ts'
import { testDataIssues } from './test-data.ts'
import { webhookFilters, webhookFiltersInput } from './webhook-filters.ts'

const URL_CHARACTERS_MAX = 2048
const DESCRIPTION_CHARACTERS_MAX = 500
export const GRACE_SECONDS_MAX = 604_800
const GRACE_SECONDS = 86_400

export const disabledReason = z.enum(['failing', 'gone'])
export type DisabledReason = z.infer<typeof disabledReason>

export const webhookEndpoint = z
  .object({
    id: uuid,
    url: z.string().meta({ format: 'uri' }),
    description: z.string().nullable(),
    filters: webhookFilters,
    isEnabled: z.boolean(),
    disabledReason: disabledReason
      .nullable()
      .describe(
        '`failing`: nothing succeeded for five days. `gone`: the endpoint answered 410. Null while it is enabled, ' +
          'and if it was disabled by a request.',
      ),
    lastSuccessAt: timestamp.nullable(),
    failingSince: timestamp
      .nullable()
      .describe('The first failure after the last success; null if nothing failed since.'),
    previousSecretExpiresAt: timestamp
      .nullable()
      .describe('Until when deliveries are also signed with the secret before the last rotation.'),
    createdAt: timestamp,
  })
  .meta({ id: 'WebhookEndpoint' })
export type WebhookEndpoint = z.infer<typeof webhookEndpoint>

const secret = z.string().describe('Begins with `whsec_`. Shown only here.')

/**
 * An absolute URL without user info and fragment. Spellings that parsers repair (white space, backslashes, missing or
 * additional slashes) are refused, since others may read them otherwise.
 */
function isTarget(value: string): boolean {
  if (!URL.canParse(value) || /[\s\p{C}\\#]/u.test(value)) return false
  const [, scheme = '', authority] = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?]*))?/i.exec(value) ?? []
  const isWeb = /^https?$/i.test(scheme)
  return authority === undefined || authority === '' ? !isWeb : !authority.includes('@')
}

const url = text({ min: 1, max: URL_CHARACTERS_MAX })
  .refine(isTarget, 'must be an absolute URL without user info and fragment')
  .meta({ format: 'uri' })
  .describe('Begins with `https://`. Its host must have a public address; its port is 443 or at least 1024.')

const description = text({ max: DESCRIPTION_CHARACTERS_MAX }).nullish()

export const endpointPath = z.strictObject({ endpointId: pathId.describe('The endpoint’s `id`.') })

const testBody = z
  .strictObject({
    eventType: eventType.default('webhook.test'),
    accountId: uuidInput.nullish().describe('The event’s `accountId`.'),
    data: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Must fit the type. Without it, sample data is sent.'),
  })
  .check(({ value: { eventType: type, data }, issues }) => {
    if (data === undefined) return
    for (const issue of testDataIssues(type, data)) {
      issues.push({ ...issue, path: ['data', ...(issue.path ?? [])] })
    }
  })

/** Reasons for which a target and filters are refused. */
const TARGET_REASONS = ['https_required', 'server_not_allowed'] as const
const FILTER_REASONS = ['unknown_account', 'unknown_mailbox', 'mailbox_outside_accounts'] as const

export const webhooks = {
  list: operation({
    method: 'GET',
    path: '/v1/webhooks',
    scope: 'read',
    summary: 'List the webhook endpoints, newest first.',
    description: 'Returns all endpoints in one answer.',
    output: collectionOf(webhookEndpoint),
  }),

  create: operation({
    method: 'POST',
    path: '/v1/webhooks',
    scope: 'write',
    audit: 'webhook.create',
    makes: 'endpointId',
    summary: 'Create a webhook endpoint.',
    description:
      'Every event that happens from now on and passes the filters is posted to the URL. Without a limit of the ' +
      'plan, a tenant has at most 1,000 endpoints.',
    refuses: [...TARGET_REASONS, ...FILTER_REASONS, 'plan_limit_webhooks'],
    body: z.strictObject({ url, description, filters: webhookFiltersInput.nullish() }),
    output: z.object({ endpoint: webhookEndpoint, secret }).meta({ id: 'CreatedWebhookEndpoint' }),
  }),

  update: operation({
    method: 'PATCH',
    path: '/v1/webhooks/{endpointId}',
    scope: 'write',
    audit: 'webhook.update',
    summary: 'Change a webhook endpoint.',
    description:
      'Only the fields that are present change, in `filters` and `filters.message` too; null clears. Filters count ' +
      'for events that happen from now on, a new `url` from the next attempt. Disabling gives up everything that ' +
      'waits, and what happens meanwhile is not queued. A new `url`, and enabling, end every pause.',
    refuses: ['webhook_endpoint_not_found', ...TARGET_REASONS, ...FILTER_REASONS],
    params: endpointPath,
    body: z.strictObject({
      url: url.optional(),
      description,
      filters: webhookFiltersInput.nullish(),
      isEnabled: z.boolean().optional(),
    }),
    output: webhookEndpoint,
  }),

  delete: operation({
    method: 'DELETE',
    path: '/v1/webhooks/{endpointId}',
    scope: 'write',
    audit: 'webhook.delete',
    summary: 'Delete a webhook endpoint.',
    description: 'Deletes its deliveries and attempts too. An attempt that is under way may still arrive.',
    refuses: ['webhook_endpoint_not_found'],
    params: endpointPath,
    output: z.null(),
  }),

  rotateSecret: operation({
    method: 'POST',
    path: '/v1/webhooks/{endpointId}/rotate-secret',
    scope: 'write',
    audit: 'webhook.rotate_secret',
    summary: 'Replace the secret of a webhook endpoint.',
    description:
      'Deliveries are signed with the new secret at once, and during the grace period also with the one that it ' +
      'replaces. A rotation during a grace period ends that period.',
    refuses: ['webhook_endpoint_not_found'],
    params: endpointPath,
    body: z.strictObject({
      graceSeconds: z
        .int()
        .min(0)
        .max(GRACE_SECONDS_MAX)
        .default(GRACE_SECONDS)
        .describe('0 stops the replaced secret at once.'),
    }),
    output: z
      .object({
        secret,
        previousSecretExpiresAt: timestamp
          .nullable()
          .describe('The end of the grace period; null without one.'),
      })
      .meta({ id: 'RotatedWebhookSecret' }),
  }),

  test: operation({
    method: 'POST',
    path: '/v1/webhooks/{endpointId}/test',
    scope: 'write',
    audit: 'webhook.test',
    summary: 'Send a test event to a webhook endpoint.',
    description:
      'Queues one event with `isTest: true` for this endpoint, whatever its filters. It is tried once, and is never ' +
      'in the change feed.',
    refuses: ['webhook_endpoint_not_found', 'endpoint_disabled', 'unknown_account'],
    params: endpointPath,
    body: testBody,
    output: z.object({ eventId }).meta({ id: 'WebhookTest' }),
  }),
}
