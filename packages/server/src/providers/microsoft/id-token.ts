import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import { IssuerKeys } from '../oauth/issuer-keys.ts'
import type { CloudRow } from './clouds.ts'
import type { Discovery, Metadata } from './discovery.ts'
import { isPersonal, type MicrosoftUser } from './subject.ts'

const READ_SECONDS = 10
const guid = z
  .string()
  .toLowerCase()
  .regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)

/** learn.microsoft.com/entra/identity-platform/id-token-claims-reference */
const claims = z.object({
  iss: z.string(),
  tid: guid,
  oid: guid,
  nonce: z.string().optional(),
  name: z.string().optional(),
  ver: z.literal('2.0'),
})

export interface SignedInUser extends MicrosoftUser {
  name: string | null
}

/** Checks ID tokens with the public keys of a cloud. */
export class IdTokens {
  readonly #row: CloudRow
  readonly #discovery: Discovery
  readonly #keys: IssuerKeys

  constructor(calls: ProviderCalls, discovery: Discovery, row: CloudRow) {
    this.#row = row
    this.#discovery = discovery
    this.#keys = new IssuerKeys({
      calls,
      issuedBy: 'Microsoft',
      find: async () => (await discovery.find(AbortSignal.timeout(READ_SECONDS * 1_000))).keys,
    })
  }

  /**
   * Checks signature, audience, time, issuer and directory, and the nonce unless it is null (OpenID Connect Core section
   * 3.1.3.7). Throws `rejected` if anything does not fit, and `unavailable` if the keys are not there when the signal aborts.
   */
  async check(
    idToken: string,
    expected: { audience: string; nonce: string | null },
    signal: AbortSignal,
  ): Promise<SignedInUser> {
    const metadata = await this.#discovery.find(signal)
    const { payload, issuerOfKey } = await this.#keys.verifyIdToken(
      idToken,
      { audience: expected.audience, requiredClaims: ['exp', 'iat', 'sub'] },
      signal,
    )
    const { data } = claims.safeParse(payload)
    if (!data || !this.#isFrom(data, metadata, issuerOfKey))
      throw new ProviderFailure('rejected', 'Microsoft signed in with the ID token of another issuer.')
    if (expected.nonce !== null && data.nonce !== expected.nonce)
      throw new ProviderFailure('rejected', 'Microsoft signed in with the ID token of another sign-in.')
    return { tid: data.tid, oid: data.oid, name: data.name ?? null }
  }

  /**
   * The issuer follows from the directory. A key that is published for one issuer signs for no other
   * (learn.microsoft.com/entra/identity-platform/access-tokens, "Validate the signing key issuer").
   */
  #isFrom(
    { iss, tid }: { iss: string; tid: string },
    metadata: Metadata,
    issuerOfKey: string | null,
  ): boolean {
    if (iss !== metadata.issuerOf(tid)) return false
    if (issuerOfKey !== null && issuerOfKey.replace('{tenantid}', () => tid) !== iss) return false
    return this.#row.hasPersonalAccounts || !isPersonal({ tid })
  }
}
