import { createHash } from 'node:crypto'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import { cloudOf } from '../clouds.ts'
import type { Client } from './clients.ts'
import { issuerOf } from './discovery.ts'

const ID_TOKEN_SECONDS = 3600

export interface IdTokenRequest {
  readonly user: User
  readonly client: Client
  /** Scopes of OpenID Connect. */
  readonly identity: readonly string[]
  readonly nonce: string | null
}

/** Signs an ID token (OpenID Connect Core section 2) with Microsoft's claims. */
export async function signIdToken(ground: MicrosoftGround, request: IdTokenRequest): Promise<string> {
  const { user, client, identity, nonce } = request
  const { loginHost } = cloudOf(user)
  const { id: tid } = ground.tenants.of(user)
  const issuedAt = Math.floor(ground.clock.now() / 1000)
  const keys = ground.keys.at(loginHost)
  return keys.sign({
    ver: '2.0',
    iss: issuerOf(loginHost, tid),
    sub: pairwiseSubject(user, client),
    aud: client.clientId,
    exp: issuedAt + ID_TOKEN_SECONDS,
    iat: issuedAt,
    nbf: issuedAt,
    ...(identity.includes('profile') && { name: user.name, preferred_username: user.email, oid: user.id }),
    ...(identity.includes('email') && { email: user.email }),
    tid,
    ...(nonce !== null && { nonce }),
  })
}

/** Each client knows a user by another subject. */
export const pairwiseSubject = (user: User, { clientId }: Client): string =>
  createHash('sha256').update(`${user.id} ${clientId}`).digest('base64url')

/** The value by which Microsoft's libraries name an account. */
export const clientInfo = ({ tenants }: MicrosoftGround, user: User): string =>
  Buffer.from(JSON.stringify({ uid: user.id, utid: tenants.of(user).id })).toString('base64url')
