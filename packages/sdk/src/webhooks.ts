import type { AnyEvent } from './events.ts'

export { type AnyEvent, type EventOf, isEvent } from './events.ts'

const TOLERANCE_SECONDS = 300
const PREFIX = 'whsec_'
const VERSION = 'v1,'
const SIGNATURES_MAX = 20

/** Headers as frameworks give them: of `fetch`, or an object with names in any case. */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

export interface VerifyOptions {
  /** How far the clock of the request may be away. Default: 300. */
  toleranceSeconds?: number
}

/** Why a request is not accepted as a webhook. Answer it with 401. */
export class WebhookVerificationError extends Error {
  override name = 'WebhookVerificationError'
}

/**
 * Verifies a webhook (Standard Webhooks) and reads its event.
 * @param body as it came: bytes, or their text. A body that was parsed and printed again has other bytes.
 * @param secrets those that are valid, such as the new and the replaced one after a rotation
 * @throws WebhookVerificationError if none of the signatures is one of these secrets, or the request is old
 * @throws TypeError if `body` is an object, or a secret is none: mistakes of the program
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS }: VerifyOptions = {},
): Promise<AnyEvent> {
  const bytes = toBytes(body)
  const keys = (typeof secrets === 'string' ? [secrets] : secrets).map(keyOf)
  if (keys.length === 0) throw new TypeError('There must be a secret')
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const given = headerOf(headers, 'webhook-signature').split(' ').slice(0, SIGNATURES_MAX)
  if (!/^[0-9]{1,12}$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is no time')
  // Not `>`, which a tolerance that is no number would pass.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookVerificationError('webhook-timestamp is too far from now')
  const signed = signedBytes(id, timestamp, bytes)
  // A signature has one spelling: `atob` alone would read others.
  const signatures = given.filter(each => each.startsWith(VERSION)).map(each => fromBase64(each.slice(3)))
  const isSpelled = (signature: Uint8Array) => given.includes(VERSION + toBase64(signature))
  let isGenuine = false
  for (const key of keys) {
    const imported = await importKey(key, 'verify')
    for (const signature of signatures)
      // Compares in constant time.
      if (
        signature &&
        isSpelled(signature) &&
        (await crypto.subtle.verify('HMAC', imported, signature, signed))
      )
        isGenuine = true
  }
  if (!isGenuine) throw new WebhookVerificationError('webhook-signature does not fit the body and the secret')
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as AnyEvent
  } catch {
    throw new WebhookVerificationError('the body is no JSON')
  }
}

/** The headers that Waxwing sends with a body, for tests of a receiver. */
export async function signWebhook(
  { id, body, timestamp = new Date() }: { id: string; body: string | Uint8Array; timestamp?: Date },
  secrets: string | readonly string[],
): Promise<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> {
  const seconds = String(Math.floor(timestamp.getTime() / 1000))
  const signed = signedBytes(id, seconds, toBytes(body))
  const signatures = (typeof secrets === 'string' ? [secrets] : secrets).map(async secret => {
    const signature = await crypto.subtle.sign('HMAC', await importKey(keyOf(secret), 'sign'), signed)
    return VERSION + toBase64(new Uint8Array(signature))
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds,
    'webhook-signature': (await Promise.all(signatures)).join(' '),
  }
}

function toBytes(body: unknown): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  throw new TypeError('body must be what came, before anything has parsed it: text or bytes')
}

/** One value: a header that came twice is no header of ours. */
function headerOf(headers: WebhookHeaders, name: string): string {
  const value = isGetter(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  const [only, ...others] = typeof value === 'object' && value !== null ? value : [value]
  if (typeof only !== 'string' || only === '' || others.length > 0)
    throw new WebhookVerificationError(`${name} must be there once`)
  return only
}

function isGetter(headers: WebhookHeaders): headers is { get(name: string): string | null } {
  return typeof headers['get'] === 'function'
}

function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = typeof secret === 'string' ? fromBase64(secret.replace(PREFIX, '')) : null
  if (!bytes || bytes.length === 0) throw new TypeError('A secret must be `whsec_` and base64')
  return bytes
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), character => character.charCodeAt(0))
  } catch {
    return null
  }
}

function toBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}

function signedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const bytes = new Uint8Array(head.length + body.length)
  bytes.set(head)
  bytes.set(body, head.length)
  return bytes
}

function importKey(key: Uint8Array<ArrayBuffer>, use: 'sign' | 'verify') {
  return crypto.subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, [use])
}
