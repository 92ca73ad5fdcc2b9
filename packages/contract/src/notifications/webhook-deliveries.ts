import { z } from 'zod'
import { eventType } from '../events.ts'
import { operation } from '../operation.ts'
import {
  cursor,
  eventId,
  pageLimit,
  pageOf,
  pathName,
  timestamp,
  timestampInput,
  uuid,
  uuidInput,
} from '../shapes.ts'
import { endpointPath } from './webhooks.ts'

/** The attempts of an endpoint that can be read. */
export const ATTEMPTS_SHOWN_MAX = 500
export const ATTEMPTS_SHOWN_DAYS = 7

/** Why an attempt got no answer. */
export const attemptError = z.enum([
  'timeout',
  'dns_failed',
  'connection_refused',
  'connection_reset',
  'connection_failed',
  'tls_failed',
  'server_not_allowed',
  'invalid_answer',
])
export type AttemptError = z.infer<typeof attemptError>

export const webhookAttempt = z
  .object({
    id: uuid,
    eventId,
    eventType,
    accountId: uuid.nullable().describe('The event’s.'),
    attempt: z.int().describe('Counts the attempts of a delivery from 1.'),
    statusCode: z.int().nullable().describe('Null without an answer.'),
    error: attemptError.nullable().describe('Why there was no answer; null if there was one.'),
    responseExcerpt: z
      .string()
      .nullable()
      .describe('The first 1,000 characters of an answer that is text, without control characters.'),
    durationMs: z.int(),
    isReplay: z.boolean(),
    isTest: z.boolean(),
    occurredAt: timestamp.describe('When it began.'),
  })
  .meta({ id: 'WebhookAttempt' })
export type WebhookAttempt = z.infer<typeof webhookAttempt>

const replayed = z
  .object({
    queued: z.int().describe('Events that were queued.'),
    alreadyQueued: z.int().describe('Events that were waiting already.'),
  })
  .meta({ id: 'ReplayedEvents' })
export type ReplayedEvents = z.infer<typeof replayed>

const since = timestampInput.describe('Only events created at this time or later.')
const until = timestampInput.describe('Only events created before this time.')

export const webhookDeliveries = {
  listAttempts: operation({
    method: 'GET',
    path: '/v1/webhooks/{endpointId}/attempts',
    scope: 'read',
    summary: 'List the attempts of a webhook endpoint, newest first.',
    description:
      `Of the last ${ATTEMPTS_SHOWN_MAX} attempts within ${ATTEMPTS_SHOWN_DAYS} days, those that match. Filters are ` +
      'combined with AND. A cursor is valid while its attempt can be read.',
    refuses: ['webhook_endpoint_not_found', 'invalid_cursor', 'invalid_range'],
    params: endpointPath,
    query: z.strictObject({
      eventType: eventType.optional().describe('Only attempts of events of this type.'),
      eventId: eventId.optional().describe('Only attempts of this event.'),
      accountId: uuidInput.optional().describe('Only attempts of events of this account.'),
      result: z
        .enum(['succeeded', 'failed'])
        .optional()
        .describe('`succeeded`: answered with a 2xx status in time. `failed`: all others.'),
      since: timestampInput.optional().describe('Only attempts that began at this time or later.'),
      until: timestampInput.optional().describe('Only attempts that began before this time.'),
      limit: pageLimit(500, 50),
      cursor: cursor.optional(),
    }),
    output: pageOf(webhookAttempt),
  }),

  replay: operation({
    method: 'POST',
    path: '/v1/webhooks/{endpointId}/replay',
    scope: 'write',
    audit: 'webhook.replay',
    summary: 'Deliver the events of a range again.',
    description:
      'Queues every event of the range that passes the current filters, also events from before the endpoint was ' +
      'created, with the same id and body. Events past the retention cannot be replayed.',
    refuses: ['webhook_endpoint_not_found', 'endpoint_disabled', 'invalid_range', 'replay_range_too_large'],
    params: endpointPath,
    body: z.strictObject({ since, until }),
    output: replayed,
  }),

  replayEvent: operation({
    method: 'POST',
    path: '/v1/webhooks/{endpointId}/events/{eventId}/replay',
    scope: 'write',
    audit: 'webhook.replay_event',
    summary: 'Deliver one event again.',
    description: 'Filters do not apply.',
    refuses: ['webhook_endpoint_not_found', 'endpoint_disabled', 'event_not_found'],
    params: endpointPath.extend({ eventId: pathName.describe('The event’s `id`.') }),
    output: replayed,
  }),

  countFailedDeliveries: operation({
    method: 'GET',
    path: '/v1/webhooks/{endpointId}/failed-deliveries/count',
    scope: 'read',
    summary: 'Count the events that a webhook endpoint gave up on.',
    description: 'Counts events that are still retained and were not queued again.',
    refuses: ['webhook_endpoint_not_found', 'invalid_range'],
    params: endpointPath,
    query: z.strictObject({ since: since.optional(), until: until.optional() }),
    output: z.object({ count: z.int() }).meta({ id: 'FailedDeliveryCount' }),
  }),

  replayFailed: operation({
    method: 'POST',
    path: '/v1/webhooks/{endpointId}/replay-failed',
    scope: 'write',
    audit: 'webhook.replay_failed',
    summary: 'Deliver again what a webhook endpoint gave up on.',
    description: 'Queues each of these events once. The replays replace the failed deliveries.',
    refuses: ['webhook_endpoint_not_found', 'endpoint_disabled', 'invalid_range', 'replay_range_too_large'],
    params: endpointPath,
    body: z.strictObject({ since: since.optional(), until: until.optional() }),
    output: replayed,
  }),
}
