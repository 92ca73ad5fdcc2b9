import { createHmac, type KeyObject } from 'node:crypto'

/**
 * The headers by which a receiver verifies a delivery (Standard Webhooks).
 * @param keys the current one first
 */
export function signedHeaders(
  { eventId, body, timestampSeconds }: { eventId: string; body: string; timestampSeconds: number },
  keys: readonly KeyObject[],
): Record<string, string> {
  const signed = `${eventId}.${timestampSeconds}.${body}`
  const signatures = keys.map(key => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  }
}
