import { randomUUID } from 'node:crypto'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import { CLOUDS } from '../clouds.ts'
import type { Tenant } from '../tenants.ts'
import type { Client } from './clients.ts'
import { ACCESS_TOKEN_SECONDS, type AccessToken } from './grants.ts'
import { pairwiseSubject } from './id-token.ts'

const GRAPH_ID = '00000003-0000-0000-c000-000000000000'

export interface NewAccessToken {
  /** Null for an app that acts for itself. */
  readonly user: User | null
  readonly client: Client
  readonly tenant: Tenant
  readonly scopes: readonly string[]
  readonly roles: readonly string[]
}

/** Issues a token for Graph of the tenant's cloud: a JWT, or for persons' own accounts an opaque text. */
export async function issueAccessToken(ground: MicrosoftGround, given: NewAccessToken): Promise<AccessToken> {
  const cloud = CLOUDS[given.tenant.cloud]
  const token =
    given.tenant.domain === null
      ? `EwB4${randomUUID()}${randomUUID()}`.replaceAll('-', '')
      : await signAccessToken(ground, given)
  return ground.grants.keepAccessToken({ token, cloud, ...given })
}

async function signAccessToken(
  ground: MicrosoftGround,
  { user, client, tenant, scopes, roles }: NewAccessToken,
): Promise<string> {
  const issuedAt = Math.floor(ground.clock.now() / 1000)
  const keys = ground.keys.at(CLOUDS[tenant.cloud].loginHost)
  return keys.sign({
    aud: GRAPH_ID,
    iss: `https://sts.windows.net/${tenant.id}/`,
    iat: issuedAt,
    nbf: issuedAt,
    exp: issuedAt + ACCESS_TOKEN_SECONDS,
    app_displayname: client.name,
    appid: client.clientId,
    idtyp: user ? 'user' : 'app',
    // An app's own object in the tenant is not played; its id stands for it.
    oid: user?.id ?? client.clientId,
    sub: user ? pairwiseSubject(user, client) : client.clientId,
    ...(user && { name: user.name, upn: user.email, unique_name: user.email, scp: scopes.join(' ') }),
    ...(roles.length > 0 && { roles: [...roles] }),
    tid: tenant.id,
    uti: randomUUID(),
    ver: '1.0',
  })
}
