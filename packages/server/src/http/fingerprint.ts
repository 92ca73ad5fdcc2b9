import { hash } from 'node:crypto'
import type { BodyBytes } from './read-body.ts'

const NO_BYTES = new Uint8Array()

/**
 * Hashes what must be equal when an Idempotency-Key is sent again: method, path, query in any order, and the bytes of
 * the body.
 */
export function fingerprintOf({ method, url }: Request, body: BodyBytes | null): Buffer {
  const { pathname, searchParams } = new URL(url)
  searchParams.sort()
  const bodyHash = hash('sha256', body?.bytes ?? NO_BYTES)
  return hash('sha256', JSON.stringify([method, pathname, searchParams.toString(), bodyHash]), 'buffer')
}
