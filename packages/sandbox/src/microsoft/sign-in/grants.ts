import type { Clock } from '../../world/clock.ts'
import type { Random } from '../../world/random.ts'
import type { User } from '../../world/users.ts'
import type { Cloud } from '../clouds.ts'
import type { Tenant } from '../tenants.ts'
import type { Client } from './clients.ts'
import type { AskedScopes } from './scopes.ts'

export const ACCESS_TOKEN_SECONDS = 3599
const REFRESH_TOKEN_SECONDS = 90 * 24 * 3600
/** Expired access tokens are cleared out when there are more than this. */
const ACCESS_TOKENS_KEPT = 10_000
/** The oldest refresh tokens are forgotten beyond this number, as if nobody had ever had them. */
const REFRESH_TOKENS_KEPT = 100_000

export interface RefreshToken {
  readonly token: string
  readonly user: User
  readonly client: Client
  /** Scopes of the request that began it; a refresh that names none asks for these. */
  readonly asked: AskedScopes
  readonly issuedAt: number
  /** It expires when it was not used for 90 days. */
  usedAt: number
  /** Whether a refresh by a client of single-use tokens ended it. */
  isUsed: boolean
}

/** A token for Graph of one cloud. */
export interface AccessToken {
  readonly token: string
  /** Null for an app that acts for itself. */
  readonly user: User | null
  readonly client: Client
  readonly tenant: Tenant
  readonly cloud: Cloud
  /** Delegated permissions, such as `Mail.ReadWrite`; none for an app that acts for itself. */
  readonly scopes: readonly string[]
  /** Application permissions; none for a user. */
  readonly roles: readonly string[]
  readonly issuedAt: number
  readonly expiresAt: number
}

/** Permissions that were allowed, and the tokens that stand on them. */
export interface Grants {
  /** Permissions that the user, or an administrator for all users of the tenant, allowed a client. */
  allowed(user: User, tenant: Tenant, client: Client): string[]
  /** Whether the user, or an administrator, allowed a client anything, if only to sign in. */
  knows(user: User, tenant: Tenant, client: Client): boolean
  allow(user: User, client: Client, permissions: readonly string[]): void
  /** An administrator allows a client for all users of the tenant, and application permissions. */
  allowForAll(tenant: Tenant, client: Client, permissions: readonly string[], roles: readonly string[]): void
  /** Application permissions in the tenant; null for a client that no administrator allowed. */
  rolesOf(tenant: Tenant, client: Client): readonly string[] | null
  /** Ends what the user and the administrators of the tenant allowed. Tokens stay, and are refused. */
  withdraw(user: User, tenant: Tenant, client: Client): void
  issueRefreshToken(user: User, client: Client, asked: AskedScopes): RefreshToken
  keepAccessToken(token: Omit<AccessToken, 'issuedAt' | 'expiresAt'>): AccessToken
  findRefreshToken(token: string): RefreshToken | null
  isExpired(token: RefreshToken): boolean
  /** Null for a token that is unknown, expired, or of a user who is suspended or has a new password. */
  findAccessToken(token: string): AccessToken | null
  wasAccessToken(token: string): boolean
  /** Ends all tokens of a user that were issued before now. */
  changePassword(user: User): void
  /** Time of the last password, before which no token is valid, in milliseconds since 1970. */
  tokensValidFrom(user: User): number
}

export function openGrants(clock: Clock, random: Random): Grants {
  const consents = new Map<string, Set<string>>()
  const approvals = new Map<string, { permissions: Set<string>; roles: Set<string> }>()
  const refreshTokens = new Map<string, RefreshToken>()
  const accessTokens = new Map<string, AccessToken>()
  const validFrom = new Map<string, number>()
  const consentKey = (user: User, { clientId }: Client) => `${user.id} ${clientId}`
  const approvalKey = (tenant: Tenant, { clientId }: Client) => `${tenant.cloud} ${tenant.id} ${clientId}`
  const tokensValidFrom = (user: User) => validFrom.get(user.id) ?? 0

  return {
    allowed: (user, tenant, client) => [
      ...new Set([
        ...(consents.get(consentKey(user, client)) ?? []),
        ...(approvals.get(approvalKey(tenant, client))?.permissions ?? []),
      ]),
    ],
    knows: (user, tenant, client) =>
      consents.has(consentKey(user, client)) || approvals.has(approvalKey(tenant, client)),
    allow(user, client, permissions) {
      const key = consentKey(user, client)
      consents.set(key, new Set([...(consents.get(key) ?? []), ...permissions]))
    },
    allowForAll(tenant, client, permissions, roles) {
      const key = approvalKey(tenant, client)
      const before = approvals.get(key)
      approvals.set(key, {
        permissions: new Set([...(before?.permissions ?? []), ...permissions]),
        roles: new Set([...(before?.roles ?? []), ...roles]),
      })
    },
    rolesOf(tenant, client) {
      const found = approvals.get(approvalKey(tenant, client))
      return found ? [...found.roles] : null
    },
    withdraw(user, tenant, client) {
      consents.delete(consentKey(user, client))
      approvals.delete(approvalKey(tenant, client))
    },
    issueRefreshToken(user, client, asked) {
      const now = clock.now()
      const prefix = user.organization === null ? 'M.C5_SN1.0.U.-' : '1.A'
      const token = `${prefix}${random.letters(120)}`
      const issued = { token, user, client, asked, issuedAt: now, usedAt: now, isUsed: false }
      refreshTokens.set(token, issued)
      const [oldest] = refreshTokens.keys()
      if (refreshTokens.size > REFRESH_TOKENS_KEPT && oldest !== undefined) refreshTokens.delete(oldest)
      return issued
    },
    keepAccessToken(given) {
      const issuedAt = clock.now()
      if (accessTokens.size > ACCESS_TOKENS_KEPT)
        for (const [key, { expiresAt }] of accessTokens) if (expiresAt <= issuedAt) accessTokens.delete(key)
      const kept = { ...given, issuedAt, expiresAt: issuedAt + ACCESS_TOKEN_SECONDS * 1000 }
      accessTokens.set(kept.token, kept)
      return kept
    },
    findRefreshToken: token => refreshTokens.get(token) ?? null,
    isExpired: ({ usedAt }) => usedAt + REFRESH_TOKEN_SECONDS * 1000 <= clock.now(),
    findAccessToken(token) {
      const found = accessTokens.get(token)
      if (!found || found.expiresAt <= clock.now()) return null
      const { user, issuedAt } = found
      return user && (user.suspended || issuedAt < tokensValidFrom(user)) ? null : found
    },
    wasAccessToken: token => accessTokens.has(token),
    // One millisecond later: a token of this very moment ends, too.
    changePassword: user => void validFrom.set(user.id, clock.now() + 1),
    tokensValidFrom,
  }
}
