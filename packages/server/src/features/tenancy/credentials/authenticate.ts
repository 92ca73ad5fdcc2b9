import { hash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../../../database/pool.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Credential, Rates } from '../../../calls/credential.ts'
import { type CredentialKind, digestCredential, parseCredential } from './rules.ts'
import { type StoredCredential, findCredential, recordKeyUse } from './store.ts'

/** Seconds for which a credential is valid without another lookup. A revocation takes effect within this time. */
const CACHE_SECONDS = 5
const CACHE_ENTRIES_MAX = 10_000
const LAST_USED_COALESCE_SECONDS = 60

/** The sender of a request. */
export interface Identity {
  tenantId: string
  credential: Credential
  /** Null if the plan limits no rate. */
  rates: Rates | null
}

export type Authentication =
  | ({ outcome: 'accepted' } & Identity)
  /** An API key past its expiry. Its secret was right. */
  | { outcome: 'expired' }
  | { outcome: 'refused' }

/** A bearer credential of the right form. */
export interface Presented {
  kind: CredentialKind
  /** Identifies the credential without revealing it. */
  fingerprint: string
  authenticate(): Promise<Authentication>
}

export interface Authenticator {
  /** Parses a bearer credential without looking anything up. Null if it cannot be one of ours. */
  present(text: string): Presented | null
}

/** Identifies the sender of a credential. Looks it up by its id, compares digests, and caches valid ones briefly. */
export function createAuthenticator(options: { db: Db; pepper: Buffer; clock: Clock }): Authenticator {
  const { db, pepper, clock } = options
  // Keyed by the hash of the whole credential: a hit proves it, and its timing reveals nothing about other entries.
  const cache = new Map<string, { at: number; found: Promise<StoredCredential | null> }>()

  async function findGood(kind: CredentialKind, id: string, text: string) {
    const stored = await findCredential(db, kind, id)
    if (!stored || stored.isRevoked) return null
    if (!timingSafeEqual(stored.digest, digestCredential(pepper, text))) return null
    const isUsedLately = clock.now() - (stored.lastUsedAt?.getTime() ?? 0) < LAST_USED_COALESCE_SECONDS * 1000
    if (kind === 'api_key' && !isUsedLately) await recordKeyUse(db, id)
    return stored
  }

  function cached(fingerprint: string, find: () => Promise<StoredCredential | null>) {
    const now = clock.now()
    const known = cache.get(fingerprint)
    if (known && now - known.at < CACHE_SECONDS * 1000) return known.found
    if (cache.size >= CACHE_ENTRIES_MAX) cache.clear()
    const entry = { at: now, found: find() }
    cache.set(fingerprint, entry)
    // Only valid ones stay: a key that is created next must work at once, and guesses must not fill the cache.
    const forget = () => {
      if (cache.get(fingerprint) === entry) cache.delete(fingerprint)
    }
    entry.found.then(stored => stored ?? forget(), forget)
    return entry.found
  }

  return {
    present(text) {
      const parsed = parseCredential(text)
      if (!parsed) return null
      const { kind, id } = parsed
      const fingerprint = hash('sha256', text, 'base64')
      return {
        kind,
        fingerprint,
        async authenticate() {
          const stored = await cached(fingerprint, () => findGood(kind, id, text))
          if (!stored) return { outcome: 'refused' }
          if (stored.expiresAt && stored.expiresAt.getTime() <= clock.now()) {
            return { outcome: kind === 'api_key' ? 'expired' : 'refused' }
          }
          const { tenantId, credential, rates } = stored
          return { outcome: 'accepted', tenantId, credential, rates }
        },
      }
    },
  }
}
