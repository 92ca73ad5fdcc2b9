import { EVENT_TYPES, type EventType } from '@waxwing/contract/events.ts'
import { eventSamples } from '@waxwing/contract/event-samples.ts'
import { ACCOUNT_ID } from '@waxwing/contract/example-people.ts'

type Json = { [name: string]: unknown }

const SIGNATURE_HEADERS: Json[] = [
  {
    name: 'webhook-id',
    description:
      'The `id` of the event, the same in every attempt and replay. An event may arrive more than once: ignore ids that you have handled.',
  },
  {
    name: 'webhook-timestamp',
    description:
      'Unix seconds at which this attempt was signed. Refuse those that are more than five minutes away.',
  },
  {
    name: 'webhook-signature',
    description:
      'One or more signatures, separated by spaces: `v1,` and the base64 of the HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`. The key is what follows `whsec_` in the secret, decoded from base64.',
  },
].map(header => ({ ...header, in: 'header', required: true, schema: { type: 'string' } }))

const RESPONSES: Json = {
  '2XX': { description: 'Any such answer within 10 seconds acknowledges the event.' },
  410: { description: 'The endpoint is disabled at once.' },
  default: { description: 'The delivery is tried again later. Redirects are not followed.' },
}

/** Requests to webhook endpoints: one description for each type of event. */
export function describeWebhooks(): Json {
  return Object.fromEntries(EVENT_TYPES.map(type => [type, { post: describeDelivery(type) }]))
}

function describeDelivery(type: EventType): Json {
  return {
    operationId: `delivery.${type}`,
    tags: ['webhooks'],
    summary: `Delivers \`${type}\`.`,
    security: [],
    parameters: SIGNATURE_HEADERS,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/ChangeEvent.${type}` },
          example: {
            id: '8231',
            type,
            accountId: type === 'account.purged' ? null : ACCOUNT_ID,
            createdAt: '2026-11-21T08:14:10.204Z',
            data: eventSamples[type],
            ...(type === 'webhook.test' ? { isTest: true } : {}),
          },
        },
      },
    },
    responses: RESPONSES,
  }
}
