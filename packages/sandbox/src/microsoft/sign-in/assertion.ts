import { createPublicKey } from 'node:crypto'
import {
  decodeJwt,
  decodeProtectedHeader,
  type JWTPayload,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose'
import type { Clock } from '../../world/clock.ts'
import { type Client, findCertificate } from './clients.ts'
import type { Endpoint } from './endpoint.ts'
import { signInError, type SignInError } from './errors.ts'

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const LIFETIME_SECONDS_MAX = 600
const CLOCK_SKEW_SECONDS = 300
const USED_KEPT = 10_000

/** Checks the assertions by which clients with a certificate prove themselves (RFC 7523 section 2.2). */
export interface Assertions {
  /** Finds the fault of an assertion; null if it is good. */
  check(client: Client, endpoint: Endpoint, assertion: string): Promise<SignInError | null>
}

export function openAssertions(clock: Clock): Assertions {
  const used = new Set<string>()
  return {
    async check(client, endpoint, assertion) {
      const read = readAssertion(assertion)
      if (!read) return signInError(50_027, 'invalid_client', 'JWT token is invalid or malformed.')
      const { header, claims } = read
      if (claims.iss !== client.clientId || claims.sub !== client.clientId)
        return signInError(
          700_021,
          'invalid_client',
          `Client assertion application identifier doesn't match 'client_id' parameter.`,
        )
      const problem =
        (await keyProblem(client, assertion, header, claims)) ??
        audienceProblem(claims, endpoint) ??
        timeProblem(claims, clock.now())
      if (problem) return problem
      if (!client.singleUseAssertions) return null
      const id = `${client.clientId} ${claims.jti}`
      if (claims.jti === undefined || used.has(id))
        return signInError(
          50_013,
          'invalid_client',
          claims.jti === undefined
            ? 'Assertion failed validation. [Reason - The assertion has no jti.]'
            : 'Assertion failed validation. [Reason - The assertion was used before.]',
        )
      used.add(id)
      const [oldest] = used
      if (used.size > USED_KEPT && oldest !== undefined) used.delete(oldest)
      return null
    },
  }
}

function readAssertion(assertion: string) {
  try {
    return { header: decodeProtectedHeader(assertion), claims: decodeJwt(assertion) }
  } catch {
    return null
  }
}

/** `x5t#S256` with PS256, or as older libraries sign: `x5t`, and RS256. */
async function keyProblem(
  client: Client,
  assertion: string,
  header: ProtectedHeaderParameters,
  claims: JWTPayload,
): Promise<SignInError | null> {
  const { 'x5t#S256': sha256, x5t: sha1 } = header as { 'x5t#S256'?: unknown; x5t?: unknown }
  const certificate =
    typeof sha256 === 'string'
      ? findCertificate(client, 'sha256', sha256)
      : typeof sha1 === 'string'
        ? findCertificate(client, 'sha1', sha1)
        : null
  if (!certificate)
    return signInError(
      700_027,
      'invalid_client',
      `The certificate with identifier used to sign the client assertion is not registered on application. [Reason - The key was not found., Please visit the Azure Portal and check the keys of app '${client.clientId}'.]`,
    )
  try {
    await jwtVerify(
      assertion,
      createPublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' })),
      {
        algorithms: ['PS256', 'RS256'],
        // The times are checked by the sandbox's clock, apart.
        currentDate: new Date((claims.nbf ?? claims.iat ?? 0) * 1000),
      },
    )
    return null
  } catch {
    return signInError(
      700_027,
      'invalid_client',
      'Client assertion failed signature validation. [Reason - The key was found but the signature does not fit.]',
    )
  }
}

function audienceProblem({ aud }: JWTPayload, { loginHost, name, tenant }: Endpoint): SignInError | null {
  const bases = [name, tenant?.id, tenant?.domain].map(one => `https://${loginHost}/${one}`)
  const audiences = bases.flatMap(base => [`${base}/oauth2/v2.0/token`, `${base}/v2.0`])
  return typeof aud === 'string' && audiences.includes(aud)
    ? null
    : signInError(
        700_023,
        'invalid_client',
        'Client assertion audience claim does not match Realm issuer. Review the documentation for more information.',
      )
}

function timeProblem({ nbf, iat, exp = 0 }: JWTPayload, now: number): SignInError | null {
  const from = nbf ?? iat ?? 0
  const seconds = now / 1000
  const isGood =
    exp - from <= LIFETIME_SECONDS_MAX &&
    from <= seconds + CLOCK_SKEW_SECONDS &&
    exp > seconds - CLOCK_SKEW_SECONDS
  const text = (time: number) => new Date(time * 1000).toISOString()
  return isGood
    ? null
    : signInError(
        700_024,
        'invalid_client',
        `Client assertion is not within its valid time range. Current time: ${text(seconds)}, assertion valid from ${text(from)}, expiry time of assertion ${text(exp)}.`,
      )
}
