import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'

/** Size in bytes of a key for `seal`: AES-256. */
export const SEAL_KEY_BYTES = 32

const FORMAT_VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * Thrown if a sealed value does not open: wrong key or context, or changed bytes. Reveals nothing about the content.
 */
export class SealError extends Error {
  override name = 'SealError'
}

/**
 * Encrypts with AES-256-GCM under a random 96-bit nonce: version (1 byte), nonce (12), ciphertext, tag (16).
 *
 * The context (tenant, table, column, row) is authenticated and not stored, so a ciphertext that was copied to another
 * row does not open there. Random nonces are safe for 2^32 values under one key (NIST SP 800-38D section 8.3).
 */
export function seal(key: Uint8Array | KeyObject, plaintext: Uint8Array, context: readonly string[]): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(authenticatedContext(context))
  return Buffer.concat([
    Buffer.of(FORMAT_VERSION),
    nonce,
    cipher.update(plaintext),
    cipher.final(),
    cipher.getAuthTag(),
  ])
}

/** The plaintext of `seal`. Throws `SealError`. */
export function unseal(key: Uint8Array | KeyObject, sealed: Uint8Array, context: readonly string[]): Buffer {
  if (sealed.length < 1 + NONCE_BYTES + TAG_BYTES || sealed[0] !== FORMAT_VERSION) {
    throw new SealError('The sealed value has an unknown format')
  }
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(authenticatedContext(context))
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  const plaintext = decipher.update(sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES))
  try {
    return Buffer.concat([plaintext, decipher.final()])
  } catch {
    throw new SealError('The sealed value does not open with this key and context')
  }
}

/** Each part with its length in front, so that no two lists of parts give the same bytes. */
function authenticatedContext(context: readonly string[]): Buffer {
  const parts = [Buffer.of(FORMAT_VERSION)]
  for (const part of context) {
    const bytes = Buffer.from(part)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    parts.push(length, bytes)
  }
  return Buffer.concat(parts)
}
