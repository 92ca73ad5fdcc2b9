import { type KeyObject, sign } from 'node:crypto'

/** ASN.1 tags of DER (X.690). */
const TAG = {
  integer: 0x02,
  bitString: 0x03,
  null: 0x05,
  objectId: 0x06,
  utf8: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
  version: 0xa0,
} as const

/** 1.2.840.113549.1.1.11 */
const SHA256_WITH_RSA = Buffer.from('2a864886f70d01010b', 'hex')
/** 2.5.4.3 */
const COMMON_NAME = Buffer.from('550403', 'hex')
const VERSION_3 = Buffer.of(2)
const [NOT_BEFORE, NOT_AFTER] = ['200101000000Z', '491231235959Z']

/** A self-signed certificate (RFC 5280) of an RSA key, in PEM: a form in which providers publish keys. */
export function makeCertificate(name: string, publicKey: KeyObject, privateKey: KeyObject): string {
  const algorithm = der(TAG.sequence, der(TAG.objectId, SHA256_WITH_RSA), der(TAG.null))
  const subject = der(
    TAG.sequence,
    der(TAG.set, der(TAG.sequence, der(TAG.objectId, COMMON_NAME), der(TAG.utf8, Buffer.from(name)))),
  )
  const toBeSigned = der(
    TAG.sequence,
    der(TAG.version, der(TAG.integer, VERSION_3)),
    der(TAG.integer, Buffer.of(1)),
    algorithm,
    subject,
    der(TAG.sequence, der(TAG.utcTime, Buffer.from(NOT_BEFORE)), der(TAG.utcTime, Buffer.from(NOT_AFTER))),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = sign('sha256', toBeSigned, privateKey)
  // The first byte counts the unused bits.
  const certificate = der(TAG.sequence, toBeSigned, algorithm, der(TAG.bitString, Buffer.of(0), signature))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function der(tag: number, ...contents: Uint8Array[]): Buffer {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.of(tag, 0x80 | size.byteLength), size, content])
}
