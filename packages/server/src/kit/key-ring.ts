import { createHmac } from 'node:crypto'
import { SEAL_KEY_BYTES, SealError, seal, unseal } from './seal.ts'

const KEY_ID_BYTES = 8
const KEY_PATTERN = /^[A-Za-z0-9+/_-]{43}=?$/

/** The problem with the keys, in words for the operator. Contains only ids, never a key. */
export class KeyRingError extends Error {
  override name = 'KeyRingError'
}

/** The master keys of an installation. New values are sealed with the first; all of them open. */
export interface KeyRing {
  readonly source: 'environment' | 'file'
  currentId(): string
  ids(): string[]
  /** Seals under the current key, whose id comes first (8 bytes). For the context see `seal`. */
  seal(plaintext: Uint8Array, context: readonly string[]): Buffer
  /** Throws `SealError` if no key of the ring fits, or if the context differs. */
  open(sealed: Uint8Array, context: readonly string[]): Buffer
}

export interface MasterKey {
  /** Derived from the key, so that it needs no bookkeeping and reveals nothing about the key. */
  id: string
  key: Buffer
}

export function masterKey(key: Buffer): MasterKey {
  const id = createHmac('sha256', key).update('waxwing key ring id').digest().subarray(0, KEY_ID_BYTES)
  return { id: id.toString('hex'), key }
}

/** Reads a key of 32 bytes in base64. Throws `KeyRingError`, which names the place, not the text. */
export function parseMasterKey(text: string, place: string): MasterKey {
  const key = KEY_PATTERN.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (key.length !== SEAL_KEY_BYTES) {
    throw new KeyRingError(
      `${place} must hold 32 bytes in base64 (make one with: openssl rand -base64 ${SEAL_KEY_BYTES})`,
    )
  }
  return masterKey(key)
}

/** The ring of `WAXWING_SECRET_KEY`: keys in base64, comma-separated, the first is current. */
export function environmentKeyRing(secretKey: string): KeyRing {
  const keys = secretKey.split(',').map(part => parseMasterKey(part.trim(), 'WAXWING_SECRET_KEY'))
  return ringOver('environment', () => keys)
}

/**
 * A ring over keys that can be read again: `read(true)` is called before sealing, and when a value names an unknown
 * key, so that a running service takes part in a rotation.
 */
export function ringOver(
  source: KeyRing['source'],
  read: (isFresh: boolean) => readonly MasterKey[],
): KeyRing {
  const current = (): MasterKey => {
    const [first] = read(true)
    if (!first) throw new KeyRingError('The key ring holds no key')
    return first
  }
  return {
    source,
    currentId: () => current().id,
    ids: () => read(true).map(({ id }) => id),
    seal(plaintext, context) {
      const { id, key } = current()
      return Buffer.concat([Buffer.from(id, 'hex'), seal(key, plaintext, context)])
    },
    open(sealed, context) {
      const id = keyIdOf(sealed)
      const known = read(false).find(key => key.id === id) ?? read(true).find(key => key.id === id)
      if (!known) throw new SealError(`The value is sealed with the key ${id}, which is not in the key ring`)
      return unseal(known.key, sealed.subarray(KEY_ID_BYTES), context)
    },
  }
}

/** The id of the master key that a value was sealed with by `KeyRing.seal`. */
export function keyIdOf(sealed: Uint8Array): string {
  return Buffer.from(sealed.subarray(0, KEY_ID_BYTES)).toString('hex')
}
