import { createLocalJWKSet, errors, jwtVerify } from 'jose'
import { z } from 'zod'
import { within } from '../../kit/within.ts'
import { ProviderFailure } from '../failure.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { HOSTS } from './hosts.ts'

export const ISSUER = 'https://accounts.google.com'
/** Google's documents allow both forms. */
const ISSUERS = [ISSUER, 'accounts.google.com']
const CLOCK_SKEW_SECONDS = 60
/** The keys are kept for the time in their answer, within these bounds. */
const KEPT_SECONDS = { min: 300, max: 86_400 }
/** A token signed with an unknown key makes the keys be read again, but not more often than this. */
const REREAD_SECONDS = 30

const keys = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string(), kid: z.string().optional() }))
    .min(1)
    .max(20),
})
const claims = z.object({
  sub: z.string().min(1).max(255),
  nonce: z.string().optional(),
  name: z.string().optional(),
})

/** Finds the key of a token. It imports each key once, so it is kept as well. */
type FindKey = ReturnType<typeof createLocalJWKSet>

export interface SignedInUser {
  subject: string
  name: string | null
}

/** Checks ID tokens with Google's public keys, which are read when they are first needed and kept. */
export class IdTokens {
  readonly #calls: ProviderCalls
  readonly #rereadSeconds: number
  #kept: { findKey: FindKey; readAt: number; until: number } | null = null
  #reading: Promise<FindKey> | null = null

  constructor(calls: ProviderCalls, { rereadSeconds = REREAD_SECONDS } = {}) {
    this.#calls = calls
    this.#rereadSeconds = rereadSeconds
  }

  /**
   * Checks signature, issuer, audience, time, and the nonce unless it is null (OpenID Connect Core section 3.1.3.7). Throws
   * `rejected` if anything does not fit, and `unavailable` if the keys are not there when the signal aborts.
   */
  async check(
    idToken: string,
    expected: { audience: string; nonce: string | null },
    signal: AbortSignal,
  ): Promise<SignedInUser> {
    const verifying = this.#verify(idToken, expected.audience)
    const { payload } = await within(signal, verifying).catch((error: unknown) => {
      if (error instanceof ProviderFailure) throw error
      if (signal.aborted) throw keysUnavailable()
      throw new ProviderFailure('rejected', 'Google signed in with an ID token that does not hold.', {
        cause: error,
      })
    })
    const parsed = claims.safeParse(payload)
    if (!parsed.success || (expected.nonce !== null && parsed.data.nonce !== expected.nonce))
      throw new ProviderFailure('rejected', 'Google signed in with the ID token of another sign-in.')
    return { subject: parsed.data.sub, name: parsed.data.name ?? null }
  }

  /** The claims of a token that holds, or null. Throws `unavailable` if the keys cannot be read. */
  async findClaims(idToken: string, audience: string): Promise<unknown> {
    try {
      return (await this.#verify(idToken, audience)).payload
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }

  async #verify(idToken: string, audience: string) {
    const options = {
      issuer: ISSUERS,
      audience,
      algorithms: ['RS256'],
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['exp', 'iat', 'sub'],
    }
    try {
      return await jwtVerify(idToken, await this.#findKey(), options)
    } catch (error) {
      const isOfNewKey = error instanceof errors.JWKSNoMatchingKey
      if (!isOfNewKey || !this.#mayReread()) throw error
      return jwtVerify(idToken, await this.#read(), options)
    }
  }

  async #findKey(): Promise<FindKey> {
    if (this.#kept && performance.now() < this.#kept.until) return this.#kept.findKey
    return this.#read()
  }

  #mayReread(): boolean {
    return this.#kept === null || performance.now() - this.#kept.readAt > this.#rereadSeconds * 1_000
  }

  #read(): Promise<FindKey> {
    this.#reading ??= this.#fetch().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #fetch(): Promise<FindKey> {
    const answer = await this.#calls.call({
      host: HOSTS.certificates,
      method: 'GET',
      path: '/oauth2/v3/certs',
      answerBytesMax: 64 * 1024,
      firstByteSeconds: 10,
      wholeSeconds: 10,
    })
    const found = answer.status === 200 ? parseKeys(answer) : null
    if (!found) throw keysUnavailable()
    const findKey = createLocalJWKSet(found)
    const readAt = performance.now()
    this.#kept = { findKey, readAt, until: readAt + keptSeconds(answer) * 1_000 }
    return findKey
  }
}

function keysUnavailable(): ProviderFailure {
  return new ProviderFailure('unavailable', 'Google does not provide its public keys now.')
}

function parseKeys({ content }: ProviderAnswer) {
  try {
    return keys.parse(JSON.parse(content.toString()))
  } catch {
    return null
  }
}

function keptSeconds({ headers }: ProviderAnswer): number {
  const [, seconds = '0'] = /max-age=(\d{1,9})/.exec(String(headers['cache-control'])) ?? []
  return Math.min(Math.max(Number(seconds), KEPT_SECONDS.min), KEPT_SECONDS.max)
}
