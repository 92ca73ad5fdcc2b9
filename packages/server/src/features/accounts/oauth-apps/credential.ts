import { readCertificate } from '../../../providers/app-certificate.ts'
import type { ClientCredential } from '../../../providers/sign-in.ts'
import { Secret } from '../../../kit/secret.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { AppSecrets } from '../../../accounts/apps/secrets.ts'
import type { StoredCredential } from './record.ts'

/** Fields of a request that give a credential. */
export interface GivenCredential {
  clientSecret?: string | undefined
  certificate?: string | undefined
  privateKey?: string | undefined
}

/**
 * The credential that a request gives; null if it gives none. Refuses a secret beside a certificate, half of a
 * certificate with its key, an expired certificate, and a key of another one.
 */
export function readCredential(given: GivenCredential, now: Date): ClientCredential | null {
  const { clientSecret, certificate, privateKey } = given
  const hasCertificate = certificate !== undefined || privateKey !== undefined
  if (clientSecret !== undefined && hasCertificate) refuse('credential_conflict')
  if (clientSecret !== undefined) return { type: 'secret', secret: new Secret(clientSecret) }
  if (!hasCertificate) return null
  if (certificate === undefined || privateKey === undefined) refuse('credential_missing')
  const read = readCertificate({ certificate, privateKey }, now)
  if (typeof read === 'string') refuse(read)
  return { type: 'certificate', certificate, privateKey: new Secret(privateKey) }
}

/** Seals the secret part of a credential for the row of its app. */
export function storedCredential(
  secrets: AppSecrets,
  app: { id: string; tenantId: string },
  credential: ClientCredential,
): StoredCredential {
  return credential.type === 'secret'
    ? { credentialType: 'secret', secret: secrets.seal(app, credential.secret), certificate: null }
    : {
        credentialType: 'certificate',
        secret: secrets.seal(app, credential.privateKey),
        certificate: credential.certificate,
      }
}
