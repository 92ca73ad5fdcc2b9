import type { Clock } from '../world/clock.ts'
import type { Random } from '../world/random.ts'
import type { User } from '../world/users.ts'
import type { Client } from './clients.ts'
import { isMailScope } from './scopes.ts'

export const ACCESS_TOKEN_SECONDS = 3599
const REFRESH_TOKENS_MAX = 100
const TESTING_SECONDS = 7 * 24 * 3600
/** Expired access tokens are cleared out when there are more than this. */
const ACCESS_TOKENS_KEPT = 10_000
const DEAD_TOKENS_KEPT = 10_000

/** The consent of a user to a client, on which tokens stand. */
export interface Grant {
  readonly user: User
  readonly client: Client
  /** All scopes that the user ever allowed this client. */
  scopes: ReadonlySet<string>
}

export interface RefreshToken {
  readonly token: string
  readonly grant: Grant
  readonly scopes: readonly string[]
  /** Null for a client in production, whose tokens do not expire. */
  readonly expiresAt: number | null
}

export interface AccessToken {
  readonly token: string
  readonly user: User
  /** Null for a service account that acts for the user. */
  readonly grant: Grant | null
  readonly scopes: readonly string[]
  readonly expiresAt: number
}

export interface Grants {
  find(user: User, client: Client): Grant | null
  /** Adds scopes to what the user allowed the client. */
  allow(user: User, client: Client, scopes: readonly string[]): Grant
  /** A user and client have at most 100 of them; beyond that the oldest dies. */
  issueRefreshToken(grant: Grant, scopes: readonly string[]): RefreshToken
  issueAccessToken(
    user: User,
    grant: Grant | null,
    scopes: readonly string[],
    lifetimeSeconds?: number,
  ): AccessToken
  /** Null for a token that is unknown, expired or revoked. */
  findRefreshToken(token: string): RefreshToken | null
  /** Whether there was such a token, which is expired or revoked now. */
  wasRefreshToken(token: string): boolean
  /** Null for a token that is unknown, expired or revoked, or whose user is suspended. */
  findAccessToken(token: string): AccessToken | null
  /** Ends one refresh token, whose siblings live on. */
  endRefreshToken(token: string): void
  /** Ends all that a user allowed a client: every token of both. */
  revoke(grant: Grant): void
  /** Ends one access token of a service account. */
  endAccessToken(token: string): void
  /** A new password ends each grant that includes mail. */
  endMailGrants(user: User): void
}

export function openGrants(clock: Clock, random: Random): Grants {
  const grants = new Map<string, Grant>()
  const refreshTokens = new Map<string, RefreshToken>()
  const accessTokens = new Map<string, AccessToken>()
  const dead = new Set<string>()
  const key = (user: User, client: Client) => `${user.id} ${client.clientId}`

  const all: Grants = {
    find: (user, client) => grants.get(key(user, client)) ?? null,
    allow(user, client, scopes) {
      const grant = all.find(user, client) ?? { user, client, scopes: new Set() }
      grant.scopes = new Set([...grant.scopes, ...scopes])
      grants.set(key(user, client), grant)
      return grant
    },
    issueRefreshToken(grant, scopes) {
      const expiresAt = grant.client.publishing === 'testing' ? clock.now() + TESTING_SECONDS * 1000 : null
      const issued = { token: `1//0${random.letters(100)}`, grant, scopes: [...scopes], expiresAt }
      refreshTokens.set(issued.token, issued)
      const siblings = [...refreshTokens.values()].filter(token => token.grant === grant)
      for (const { token } of siblings.slice(0, -REFRESH_TOKENS_MAX)) all.endRefreshToken(token)
      return issued
    },
    issueAccessToken(user, grant, scopes, lifetimeSeconds = ACCESS_TOKEN_SECONDS) {
      if (accessTokens.size > ACCESS_TOKENS_KEPT) clearExpired()
      const issued = {
        token: `ya29.a0${random.letters(160)}`,
        user,
        grant,
        scopes: [...scopes],
        expiresAt: clock.now() + lifetimeSeconds * 1000,
      }
      accessTokens.set(issued.token, issued)
      return issued
    },
    findRefreshToken(token) {
      const found = refreshTokens.get(token)
      return found && (found.expiresAt === null || found.expiresAt > clock.now()) ? found : null
    },
    findAccessToken(token) {
      const found = accessTokens.get(token)
      return found && found.expiresAt > clock.now() && !found.user.suspended ? found : null
    },
    wasRefreshToken: token => dead.has(token) || refreshTokens.has(token),
    endRefreshToken(token) {
      refreshTokens.delete(token)
      dead.add(token)
      const [oldest] = dead
      if (dead.size > DEAD_TOKENS_KEPT && oldest !== undefined) dead.delete(oldest)
    },
    endAccessToken: token => void accessTokens.delete(token),
    revoke(grant) {
      grants.delete(key(grant.user, grant.client))
      for (const { token, grant: its } of refreshTokens.values()) {
        if (its === grant) all.endRefreshToken(token)
      }
      deleteWhere(accessTokens, token => token.grant === grant)
    },
    endMailGrants(user) {
      for (const grant of grants.values()) {
        if (grant.user === user && [...grant.scopes].some(isMailScope)) all.revoke(grant)
      }
    },
  }

  function clearExpired() {
    deleteWhere(accessTokens, token => token.expiresAt <= clock.now())
  }

  return all
}

function deleteWhere<T>(tokens: Map<string, T>, isDead: (token: T) => boolean): void {
  for (const [key, token] of tokens) if (isDead(token)) tokens.delete(key)
}
