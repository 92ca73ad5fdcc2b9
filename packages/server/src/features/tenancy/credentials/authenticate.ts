import { hash, timingSafeEqual } from 'node:crypto'
import type { Db } from '../../../database/pool.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Credential, Rates } from './credential.ts'
import { type CredentialKind, digestCredential, parseCredential } from './rules.ts'
import { type StoredCredential, findCredential, recordKeyUse } from './store.ts'

/** How long a credential that was looked up counts without another look; a revocation takes effect within it. */
const CACHE_SECONDS = 5
const CACHE_ENTRIES_MAX = 10_000
const LAST_USED_COALESCE_SECONDS = 60

/** Who sends a request. */
export interface Identity {
  tenantId: string
  credential: Credential
  /** Null: the plan limits no rate. */
  rates: Rates | null
}

export type Authentication =
  | ({ outcome: 'accepted' } & Identity)
  /** An API key past its expiry; its secret was right. */
  | { outcome: 'expired' }
  | { outcome: 'refused' }

/** A bearer credential that has the right shape. */
export interface Presented {
  kind: CredentialKind
  /** Tells credentials apart without being one. */
  fingerprint: string
  authenticate(): Promise<Authentication>
}

export interface Authenticator {
  /** Reads a bearer credential; nothing is looked up yet. Null where it cannot be one of ours. */
  present(text: string): Presented | null
}

/** Tells who presents a credential. Looks it up by its id, compares digests, and keeps good ones for a moment. */
export function createAuthenticator(options: { db: Db; pepper: Buffer; clock: Clock }): Authenticator {
  const { db, pepper, clock } = options
  // By the hash of the whole credential: a hit proves it, and how long it takes tells nothing of what is cached.
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
    // Only good ones stay: a key that is made next must work at once, and guesses must not fill the cache.
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
