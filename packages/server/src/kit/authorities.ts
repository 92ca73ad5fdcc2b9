import { X509Certificate } from 'node:crypto'
import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls'

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const CERTIFICATES_MAX = 1000

/** The certificates in a PEM file. Throws if there are none, or if one is damaged. */
export function readCertificates(pem: string): string[] {
  const blocks = pem.match(CERTIFICATE) ?? []
  if (blocks.length === 0) throw new Error('it holds no certificate in PEM')
  if (blocks.length > CERTIFICATES_MAX) throw new Error(`it holds more than ${CERTIFICATES_MAX} certificates`)
  for (const [index, block] of blocks.entries()) {
    try {
      void new X509Certificate(block)
    } catch {
      throw new Error(`certificate ${index + 1} in it is damaged`)
    }
  }
  return blocks
}

/**
 * The context of every TLS connection to servers of accounts: it trusts these authorities (PEM) in addition to the
 * public ones. Undefined if there are none, which means Node's own trust. Created once, because that takes 30 ms. At
 * least TLS 1.2.
 */
export function trustAlso(pem: string | null): SecureContext | undefined {
  if (pem === null) return undefined
  return createSecureContext({
    ca: [...getCACertificates('default'), ...readCertificates(pem)],
    minVersion: 'TLSv1.2',
  })
}
