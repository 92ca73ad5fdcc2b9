import { createHash, randomBytes } from 'node:crypto'
import type { Challenge } from './challenges.ts'

/** Names of RFC 7616 for the hashes of Node. */
const HASHES: Readonly<Record<string, string>> = { MD5: 'md5', 'SHA-256': 'sha256' }

const PRINTABLE = /^[\x20-\x7e]*$/

/** A challenge of Digest that can be answered. */
export interface DigestChallenge {
  algorithm: string
  realm: string
  nonce: string
  opaque: string | null
  /** Whether the server protects against repeats; only very old ones do not (RFC 2069). */
  hasQop: boolean
}

/** The strongest challenge that can be answered; null if none can be. */
export function chooseDigest(challenges: readonly Challenge[]): DigestChallenge | null {
  const usable = challenges.flatMap(({ scheme, parameters }) => {
    const { realm = '', nonce, opaque, qop } = parameters
    const algorithm = (parameters['algorithm'] || 'MD5').toUpperCase()
    const qops = qop?.split(',').map(one => one.trim().toLowerCase())
    const isUsable = HASHES[algorithm] !== undefined && qops?.includes('auth') !== false
    // These are sent back in a header.
    const isPlain = PRINTABLE.test(`${realm}${nonce}${opaque ?? ''}`)
    if (scheme !== 'digest' || !nonce || !isUsable || !isPlain) return []
    return [{ algorithm, realm, nonce, opaque: opaque ?? null, hasQop: qops !== undefined }]
  })
  return usable.find(({ algorithm }) => algorithm === 'SHA-256') ?? usable[0] ?? null
}

/** A request to be signed with a password. */
export interface DigestRequest {
  user: string
  password: string
  method: string
  /** Path and query, as they are sent. */
  uri: string
  /** How often the nonce was used, this time included. */
  count: number
  /** Default: a random one. */
  clientNonce?: string
}

/** The value of `Authorization` (RFC 7616 section 3.4). */
export function digestAuthorization(challenge: DigestChallenge, request: DigestRequest): string {
  const { algorithm, realm, nonce, opaque, hasQop } = challenge
  const { user, password, method, uri, clientNonce = randomBytes(16).toString('hex') } = request
  const hash = (...parts: string[]) =>
    createHash(HASHES[algorithm] ?? 'md5')
      .update(parts.join(':'))
      .digest('hex')
  const count = request.count.toString(16).padStart(8, '0')
  const [secret, action] = [hash(user, realm, password), hash(method, uri)]
  const response = hasQop
    ? hash(secret, nonce, count, clientNonce, 'auth', action)
    : hash(secret, nonce, action)
  return `Digest ${[
    ...userParameters(user),
    `realm=${quote(realm)}`,
    `uri=${quote(uri)}`,
    `algorithm=${algorithm}`,
    `nonce=${quote(nonce)}`,
    ...(hasQop ? [`nc=${count}`, `cnonce=${quote(clientNonce)}`, 'qop=auth'] : []),
    `response=${quote(response)}`,
    ...(opaque === null ? [] : [`opaque=${quote(opaque)}`]),
  ].join(', ')}`
}

/** A name beyond ASCII has a parameter of its own (RFC 7616 section 3.4). */
function userParameters(user: string): string[] {
  if (PRINTABLE.test(user)) return [`username=${quote(user)}`]
  const encoded = encodeURIComponent(user).replaceAll(
    /['()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return [`username*=UTF-8''${encoded}`]
}

function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
