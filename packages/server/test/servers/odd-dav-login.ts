import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface OfferedDigest {
  algorithm: 'MD5' | 'SHA-256'
  /** Uses after which a nonce is forgotten. */
  usesMax: number
}

const REALM = 'odd'

/** Checks the logins of one user, by Basic or by Digest. */
export class OddLogin {
  readonly user = 'ada'
  readonly password = 'secret of ada'
  readonly #nonces = new Map<string, number>()

  check({ headers, method = '' }: IncomingMessage, digest: OfferedDigest | undefined): boolean {
    const given = headers.authorization ?? ''
    if (!digest) return given === `Basic ${Buffer.from(`${this.user}:${this.password}`).toString('base64')}`
    if (!this.#isSigned(given, method, digest.algorithm)) return false
    const nonce = parameterOf(given, 'nonce')
    const uses = (this.#nonces.get(nonce) ?? Infinity) + 1
    this.#nonces.set(nonce, uses)
    return uses <= digest.usesMax
  }

  challenge(response: ServerResponse, digest: OfferedDigest | undefined): void {
    const nonce = randomBytes(8).toString('hex')
    this.#nonces.set(nonce, 0)
    const challenge = digest
      ? `Digest realm="${REALM}", nonce="${nonce}", qop="auth", algorithm=${digest.algorithm}, opaque="o"`
      : `Basic realm="${REALM}"`
    response.writeHead(401, { 'www-authenticate': challenge }).end()
  }

  /** RFC 7616 section 3.4.1, apart from the code that is tested. */
  #isSigned(given: string, method: string, algorithm: OfferedDigest['algorithm']): boolean {
    if (!given.startsWith('Digest ')) return false
    const hash = (text: string) =>
      createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
        .update(text)
        .digest('hex')
    const of = (name: string) => parameterOf(given, name)
    const secret = hash(`${this.user}:${REALM}:${this.password}`)
    const action = hash(`${method}:${of('uri')}`)
    const expected = hash(`${secret}:${of('nonce')}:${of('nc')}:${of('cnonce')}:auth:${action}`)
    return of('response') === expected && of('opaque') === 'o'
  }
}

function parameterOf(given: string, name: string): string {
  return new RegExp(String.raw`\b${name}="?([^",]*)`).exec(given)?.[1] ?? ''
}
