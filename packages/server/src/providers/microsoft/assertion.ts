import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { ProviderFailure } from '../failure.ts'
import type { SignInClient } from '../sign-in.ts'
import { readCertificate } from '../app-certificate.ts'

/** Microsoft recommends 5 to 10 minutes (learn.microsoft.com/entra/identity-platform/certificate-credentials). */
const LIFE_SECONDS = 600

/** The fields of a form by which an app proves itself (RFC 6749 section 2.3.1, RFC 7523 section 2.2). */
export async function proofOf(
  { clientId, credential }: SignInClient,
  { tokenUrl, now }: { tokenUrl: string; now: number },
): Promise<Record<string, string>> {
  if (credential.type === 'secret') return { client_id: clientId, client_secret: credential.secret.reveal() }
  const { certificate, privateKey } = credential
  const read = readCertificate({ certificate, privateKey: privateKey.reveal() }, new Date(now))
  if (typeof read === 'string')
    throw new ProviderFailure('misconfigured', 'The certificate of the OAuth app cannot be used any more.', {
      reason: 'invalid_client',
    })
  const seconds = Math.floor(now / 1_000)
  const assertion = await new SignJWT()
    .setProtectedHeader({ alg: 'PS256', typ: 'JWT', 'x5t#S256': read.thumbprint })
    .setAudience(tokenUrl)
    .setIssuer(clientId)
    .setSubject(clientId)
    // Each assertion is taken once.
    .setJti(randomUUID())
    .setIssuedAt(seconds)
    .setNotBefore(seconds)
    .setExpirationTime(seconds + LIFE_SECONDS)
    .sign(read.key)
  return {
    client_id: clientId,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  }
}
