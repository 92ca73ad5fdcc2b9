import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

const PEM_CERTIFICATE = '-----BEGIN CERTIFICATE-----'
/** Microsoft takes no shorter keys, and PS256 needs RSA. */
const KEY_BITS_MIN = 2048

/** A certificate by which an app proves itself. */
export interface AppCertificate {
  /** The SHA-256 digest of the certificate in DER, in base64url: `x5t#S256` of RFC 7515 section 4.1.8. */
  thumbprint: string
  notAfter: Date
  key: KeyObject
}

/**
 * `invalid_certificate`: not PEM, no RSA key of 2048 bits, or expired. `credential_mismatch`: the key is of another
 * certificate, or cannot be read.
 */
export type CertificateProblem = 'invalid_certificate' | 'credential_mismatch'

/** Reads a certificate and its private key, both in PEM. A key with a passphrase counts as no key. */
export function readCertificate(
  { certificate: pem, privateKey }: { certificate: string; privateKey: string },
  now: Date,
): AppCertificate | CertificateProblem {
  const certificate = parseCertificate(pem)
  const key = parseKey(privateKey)
  if (!certificate || certificate.validToDate <= now) return 'invalid_certificate'
  if (!key || !certificate.checkPrivateKey(key)) return 'credential_mismatch'
  const thumbprint = createHash('sha256').update(certificate.raw).digest('base64url')
  return { thumbprint, notAfter: certificate.validToDate, key }
}

/** Time at which a certificate expires; null if the text is none. */
export function expiryOf(pem: string): Date | null {
  return parseCertificate(pem)?.validToDate ?? null
}

function parseCertificate(pem: string): X509Certificate | null {
  if (!pem.includes(PEM_CERTIFICATE)) return null
  try {
    const certificate = new X509Certificate(pem)
    return isStrongRsa(certificate.publicKey) ? certificate : null
  } catch {
    return null
  }
}

function parseKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey({ key: pem, format: 'pem' })
    return isStrongRsa(key) ? key : null
  } catch {
    return null
  }
}

function isStrongRsa({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= KEY_BITS_MIN
}
