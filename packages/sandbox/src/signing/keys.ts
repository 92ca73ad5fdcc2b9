import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { exportJWK, type JWK, type JWTPayload, SignJWT } from 'jose'
import { makeCertificate } from './certificate.ts'

const KEY_BITS = 2048

/** The keys with which a provider signs ID tokens and pushes. */
export interface SigningKeys {
  /** Signs claims with the current key (RS256). */
  sign(claims: JWTPayload): Promise<string>
  /** Public keys that verify what was signed, the current one first. */
  published(): Promise<PublishedKey[]>
  /** Signs with a new key from now on; the one before it stays published. */
  rotate(): Promise<void>
}

export interface PublishedKey {
  readonly keyId: string
  readonly jwk: JWK
  /** X.509 certificate in PEM. */
  readonly pem: string
}

type SigningKey = PublishedKey & { privateKey: KeyObject }

/**
 * `name` is that of the certificates, which sign themselves. The first key is made when it is first needed, since that
 * takes a fifth of a second and most worlds use the keys of one provider.
 */
export function openSigningKeys(name: string): SigningKeys {
  let keys: Promise<SigningKey[]> | null = null
  const made = () => (keys ??= makeKey(name).then(key => [key]))
  return {
    async sign(claims) {
      const [current] = await made()
      if (!current) throw new Error('there is no signing key')
      return new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: current.keyId, typ: 'JWT' })
        .sign(current.privateKey)
    },
    published: async () => (await made()).map(({ keyId, jwk, pem }) => ({ keyId, jwk, pem })),
    async rotate() {
      const before = await made()
      keys = Promise.resolve([await makeKey(name), ...before.slice(0, 1)])
    },
  }
}

async function makeKey(name: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: KEY_BITS })
  const jwk = await exportJWK(publicKey)
  const keyId = crypto.randomUUID().replaceAll('-', '')
  return {
    keyId,
    jwk: { ...jwk, alg: 'RS256', use: 'sig', kid: keyId },
    pem: makeCertificate(name, publicKey, privateKey),
    privateKey,
  }
}
