import { errors } from 'jose'
import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import { IssuerKeys } from '../oauth/issuer-keys.ts'
import { HOSTS } from './hosts.ts'

export const ISSUER = 'https://accounts.google.com'
/** Google's documents allow both forms. */
const ISSUERS = [ISSUER, 'accounts.google.com']

const claims = z.object({
  sub: z.string().min(1).max(255),
  nonce: z.string().optional(),
  name: z.string().optional(),
})

export interface SignedInUser {
  subject: string
  name: string | null
}

/** Checks ID tokens with Google's public keys. */
export class IdTokens {
  readonly #keys: IssuerKeys

  constructor(calls: ProviderCalls, { rereadSeconds }: { rereadSeconds?: number } = {}) {
    this.#keys = new IssuerKeys({
      calls,
      issuedBy: 'Google',
      find: async () => ({ host: HOSTS.certificates, path: '/oauth2/v3/certs' }),
      ...(rereadSeconds !== undefined && { rereadSeconds }),
    })
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
    const { payload } = await this.#keys.verifyIdToken(idToken, optionsFor(expected.audience), signal)
    const parsed = claims.safeParse(payload)
    if (!parsed.success || (expected.nonce !== null && parsed.data.nonce !== expected.nonce))
      throw new ProviderFailure('rejected', 'Google signed in with the ID token of another sign-in.')
    return { subject: parsed.data.sub, name: parsed.data.name ?? null }
  }

  /** The claims of a token that holds, or null. Throws `unavailable` if the keys cannot be read. */
  async findClaims(idToken: string, audience: string): Promise<unknown> {
    try {
      return (await this.#keys.verify(idToken, optionsFor(audience))).payload
    } catch (error) {
      if (error instanceof errors.JOSEError) return null
      throw error
    }
  }
}

function optionsFor(audience: string) {
  return { issuer: ISSUERS, audience, requiredClaims: ['exp', 'iat', 'sub'] }
}
