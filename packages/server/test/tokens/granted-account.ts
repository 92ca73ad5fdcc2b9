import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import {
  type AccessTokenOptions,
  accessTokens,
  type TokenAccount,
  type TokensOf,
} from '../../src/connections/access-tokens.ts'
import type { Db } from '../../src/database/pool.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import {
  connectWithGrant,
  reconnectWithGrant,
} from '../../src/features/accounts/accounts/connect-with-grant.ts'
import { accountKeys } from '../../src/accounts/secrets.ts'
import type { OAuthClient } from '../../src/accounts/apps/clients.ts'
import { createTenant } from '../../src/features/tenancy/tenants/store.ts'
import { environmentKeyRing } from '../../src/kit/key-ring.ts'
import { newId } from '../../src/kit/ids.ts'
import { Secret } from '../../src/kit/secret.ts'
import type { AccessTokens } from '../../src/providers/access-tokens.ts'
import { googleSignIn } from '../../src/providers/google/sign-in.ts'
import { ProviderCalls } from '../../src/providers/http/provider-calls.ts'
import { type Grant, type SignIn, signInsOf } from '../../src/providers/sign-in.ts'
import type { TokenEndpoint } from './token-endpoint.ts'

export const CLIENT: OAuthClient = {
  provider: 'google',
  cloud: null,
  appId: null,
  clientId: 'a-client',
  credential: { type: 'secret', secret: new Secret('a-secret') },
  scopes: null,
}

export const newSecretKey = () => randomBytes(32).toString('base64')

export function grantOf(refreshToken: string, more: Partial<Grant> = {}): Grant {
  return {
    accessToken: new Secret(`ya29.${randomBytes(16).toString('base64url')}`),
    expiresInSeconds: 3600,
    refreshToken: new Secret(refreshToken),
    scopes: ['openid', 'https://www.googleapis.com/auth/gmail.modify'],
    halves: { calendar: 'writes', contacts: 'writes' },
    identity: { subject: 'google:1', email: 'ada@gmail.test', displayName: 'Ada' },
    ...more,
  }
}

interface GivenTokens extends Pick<AccessTokenOptions, 'waitSeconds' | 'callSeconds' | 'saveSeconds'> {
  signIn?: SignIn
  client?: OAuthClient | 'oauth_app_secret_unreadable'
}

/** Dependencies of a process of an installation that gives accounts their tokens. */
export function tokenWorld(db: Db, secretKey: string, origin: string) {
  const calls = new ProviderCalls({
    guard: {
      resolve: () => {
        throw new Error('nothing but the endpoint')
      },
    },
    authorities: undefined,
    standIns: new Map([['oauth2.googleapis.com', new URL(origin)]]),
  })
  const keys = accountKeys(environmentKeyRing(secretKey))
  const signIn = googleSignIn({ calls, standIns: null })
  /** Opens the tokens of a process. */
  const openTokens = ({ signIn: given = signIn, client = CLIENT, ...timing }: GivenTokens = {}): TokensOf =>
    accessTokens({
      db,
      accountKeys: keys,
      clients: { find: async () => client },
      signIns: signInsOf([given]),
      confirmSeconds: 0.05,
      ...timing,
    })
  return {
    keys,
    signIn,
    openTokens,
    /** The tokens of an account that share nothing in memory with others. */
    tokensOf: (account: TokenAccount, given: GivenTokens = {}): AccessTokens => openTokens(given)(account),
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}

const BOTH = { calendar: true, contacts: true }

export interface GrantedAccount {
  id: string
  tenantId: string
}

/** A tenant with an account that was granted by the endpoint. */
export async function openGrantedAccount(db: Db, secretKey: string, endpoint: TokenEndpoint) {
  const world = tokenWorld(db, secretKey, endpoint.origin.href)
  const tenant = await createTenant(db, newId())
  if (!tenant) throw new Error('the tenant exists')
  const tenantId = tenant.id
  const connect = (grant: Grant, client = CLIENT) =>
    inTransaction(db, tenantId, unit =>
      connectWithGrant({ ...unit, wake: () => {} }, world.keys, { client, grant, asked: BOTH }),
    )
  const reconnect = (id: string, grant: Grant) =>
    inTransaction(db, tenantId, unit =>
      reconnectWithGrant({ ...unit, wake: () => {} }, world.keys, id, { client: CLIENT, grant, asked: BOTH }),
    )
  const { id } = await connect(grantOf(endpoint.grant()))
  const account = { id, tenantId }
  return {
    ...world,
    account,
    connect,
    reconnect,
    /** As if these minutes had passed for the grants of the tenant. */
    turn: (minutes: number) => turnGrants(db, tenantId, minutes),
    status: async () =>
      db
        .selectFrom('account')
        .select(['status', 'status_reason'])
        .where('id', '=', id)
        .executeTakeFirstOrThrow(),
    events: async () => {
      const events = db.selectFrom('event').select('type').where('tenant_id', '=', tenantId)
      return (await events.orderBy('id').execute()).map(({ type }) => type)
    },
  }
}

async function turnGrants(db: Db, tenantId: string, minutes: number): Promise<void> {
  const earlier = sql`make_interval(mins => ${minutes})`
  await sql`
    update oauth_grant set issued_at = issued_at - ${earlier}, expires_at = expires_at - ${earlier},
      refresh_at = refresh_at - ${earlier}, refreshing_until = refreshing_until - ${earlier},
      retry_at = retry_at - ${earlier}, previous_until = previous_until - ${earlier}
    where account_id in (select id from account where tenant_id = ${tenantId})
  `.execute(db)
}
