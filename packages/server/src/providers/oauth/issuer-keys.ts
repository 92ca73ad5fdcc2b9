import {
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTPayload,
  type JWTVerifyOptions,
} from 'jose'
import { z } from 'zod'
import { within } from '../../kit/within.ts'
import { ProviderFailure } from '../failure.ts'
import type { ProviderAnswer, ProviderCalls } from '../http/provider-calls.ts'
import { readJson } from './read-json.ts'

const CLOCK_SKEW_SECONDS = 60
/** The keys are kept for the time in their answer, within these bounds. */
const KEPT_SECONDS = { min: 300, max: 86_400 }
/** A token signed with an unknown key makes the keys be read again, but not more often than this. */
const REREAD_SECONDS = 30
const KEYS_MAX = 50
const ANSWER_BYTES_MAX = 256 * 1024

const publishedKeys = z.object({
  keys: z
    .array(z.looseObject({ kty: z.string(), kid: z.string().optional(), issuer: z.string().optional() }))
    .min(1)
    .max(KEYS_MAX),
})

/** Finds the key of a token. It imports each key once, so it is kept as well. */
type FindKey = ReturnType<typeof createLocalJWKSet>

interface Kept {
  findKey: FindKey
  /** The issuers that single keys are restricted to, by key id. */
  issuers: ReadonlyMap<string, string>
  readAt: number
  until: number
}

export interface KeysPlace {
  host: string
  path: string
}

export interface IssuerKeysOptions {
  calls: ProviderCalls
  /** The name of the issuer, for people. */
  issuedBy: string
  /** Finds where the keys are published. Rejects with `ProviderFailure`. */
  find: () => Promise<KeysPlace>
  rereadSeconds?: number
}

export interface VerifiedToken {
  payload: JWTPayload
  /** The only issuer that may sign with the key, as the provider publishes it; null if it names none. */
  issuerOfKey: string | null
}

/** The public keys of an issuer of tokens, which are read when they are first needed and kept. */
export class IssuerKeys {
  readonly #options: IssuerKeysOptions
  #kept: Kept | null = null
  #reading: Promise<Kept> | null = null

  constructor(options: IssuerKeysOptions) {
    this.#options = options
  }

  /**
   * Checks signature, time and the given options of a token that is signed by RS256. Rejects with an error of jose if it
   * does not hold, and with `unavailable` if the keys cannot be read.
   */
  async verify(token: string, given: JWTVerifyOptions): Promise<VerifiedToken> {
    const options = { ...given, algorithms: ['RS256'], clockTolerance: CLOCK_SKEW_SECONDS }
    try {
      return await verifyWith(await this.#findKept(), token, options)
    } catch (error) {
      const isOfNewKey = error instanceof errors.JWKSNoMatchingKey
      if (!isOfNewKey || !this.#mayReread()) throw error
      return verifyWith(await this.#read(), token, options)
    }
  }

  /**
   * As `verify`, for the ID token of a sign-in: throws `rejected` if it does not hold, and `unavailable` if the keys are not
   * there when the signal aborts.
   */
  async verifyIdToken(idToken: string, given: JWTVerifyOptions, signal: AbortSignal): Promise<VerifiedToken> {
    const { issuedBy } = this.#options
    return within(signal, this.verify(idToken, given)).catch((error: unknown) => {
      if (error instanceof ProviderFailure) throw error
      if (signal.aborted) throw keysUnavailable(issuedBy)
      throw new ProviderFailure('rejected', `${issuedBy} signed in with an ID token that does not hold.`, {
        cause: error,
      })
    })
  }

  async #findKept(): Promise<Kept> {
    return this.#kept && performance.now() < this.#kept.until ? this.#kept : this.#read()
  }

  #mayReread(): boolean {
    const { rereadSeconds = REREAD_SECONDS } = this.#options
    return this.#kept === null || performance.now() - this.#kept.readAt > rereadSeconds * 1_000
  }

  #read(): Promise<Kept> {
    this.#reading ??= this.#fetch().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #fetch(): Promise<Kept> {
    const { calls, find, issuedBy } = this.#options
    const answer = await calls.call({
      ...(await find()),
      method: 'GET',
      answerBytesMax: ANSWER_BYTES_MAX,
      firstByteSeconds: 10,
      wholeSeconds: 10,
    })
    const { data: found } = publishedKeys.safeParse(answer.status === 200 ? readJson(answer) : null)
    if (!found) throw keysUnavailable(issuedBy)
    const readAt = performance.now()
    this.#kept = {
      findKey: createLocalJWKSet(found),
      issuers: new Map(
        found.keys.flatMap(({ kid, issuer }) => (kid === undefined || !issuer ? [] : [[kid, issuer]])),
      ),
      readAt,
      until: readAt + keptSeconds(answer) * 1_000,
    }
    return this.#kept
  }
}

function keysUnavailable(issuedBy: string): ProviderFailure {
  return new ProviderFailure('unavailable', `${issuedBy} does not provide its public keys now.`)
}

async function verifyWith(
  { findKey, issuers }: Kept,
  token: string,
  options: JWTVerifyOptions,
): Promise<VerifiedToken> {
  const { payload } = await jwtVerify(token, findKey, options)
  const { kid } = decodeProtectedHeader(token)
  return { payload, issuerOfKey: (kid === undefined ? null : issuers.get(kid)) ?? null }
}

function keptSeconds({ headers }: ProviderAnswer): number {
  const [, seconds = '0'] = /max-age=(\d{1,9})/.exec(String(headers['cache-control'])) ?? []
  return Math.min(Math.max(Number(seconds), KEPT_SECONDS.min), KEPT_SECONDS.max)
}
