import type { CommittedEvent, EndpointState, EndState } from '../evidence.ts'
import { entriesOf, type WebhookEntry } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

/** A test of an endpoint is an event that only this endpoint gets, and that the feed does not have. */
const TEST_TYPE = 'webhook.test'

/**
 * I2: each event was acknowledged by each endpoint that had to get it, or was given up, or waits. The body is the same
 * in all attempts, and the id is that of the feed.
 */
export const checkDeliveries: Check = ({ history, end }) => {
  const webhooks = entriesOf(history, 'webhook')
  return [...findLost(webhooks, end), ...findChanged(webhooks), ...findStrange(webhooks)]
}

function findLost(webhooks: readonly WebhookEntry[], end: EndState): Violation[] {
  const settled = new Set(end.deliveries.map(({ endpoint, eventId }) => `${endpoint} ${eventId}`))
  for (const { endpoint, eventId, status } of webhooks) {
    if (status !== null && status >= 200 && status < 300) settled.add(`${endpoint} ${eventId}`)
  }
  return end.endpoints.flatMap(endpoint =>
    end.events
      .filter(event => isFor(endpoint, event) && !settled.has(`${endpoint.name} ${event.id}`))
      .map(({ id, type }) => broken(`${endpoint.name} never got event ${id} (${type})`)),
  )
}

/** An endpoint that was disabled for some time is owed nothing of which it is certain that it was enabled. */
function isFor({ isSteady, isEnabled, fromEventId }: EndpointState, { id, type }: CommittedEvent): boolean {
  return isSteady && isEnabled && BigInt(id) > BigInt(fromEventId) && type !== TEST_TYPE
}

function findChanged(webhooks: readonly WebhookEntry[]): Violation[] {
  const digests = new Map<string, string>()
  const changed = new Set<string>()
  for (const { eventId, digest } of webhooks) {
    const first = digests.get(eventId)
    if (first === undefined) digests.set(eventId, digest)
    else if (first !== digest) changed.add(eventId)
  }
  return [...changed].map(id => broken(`event ${id} was posted with different bodies`))
}

function findStrange(webhooks: readonly WebhookEntry[]): Violation[] {
  return webhooks
    .filter(({ webhookId, eventId }) => webhookId !== eventId)
    .map(({ webhookId, eventId }) => broken(`event ${eventId} came with the webhook-id ${webhookId}`))
}

function broken(message: string): Violation {
  return { invariant: 'I2', message }
}
