/** An OAuth client of a Google project. */
export interface Client {
  readonly clientId: string
  clientSecret: string
  /** Exact redirect URIs. `loopback` stands for every URI whose host is loopback. */
  redirectUris: readonly string[]
  /** Shown on the consent page. */
  name: string
  /** In Testing, refresh tokens die after 7 days. */
  publishing: 'production' | 'testing'
  /** Whether each refresh replaces the refresh token, and the old one dies. Google's do not; other providers' do. */
  singleUseRefreshTokens: boolean
}

/** A service account with delegation over the mailboxes of a domain. */
export interface ServiceAccount {
  readonly email: string
  readonly clientId: string
  readonly keyId: string
  /** Its keys in PEM. The private one is null if the seed brought the public one. */
  keys(): { publicKey: string; privateKey: string | null }
  /** Domain whose users it may act for, with exactly these scopes. */
  readonly domain: string
  readonly scopes: readonly string[]
}

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost'])

export function isRedirectAllowed(client: Client, redirectUri: string): boolean {
  if (client.redirectUris.includes(redirectUri)) return true
  if (!client.redirectUris.includes('loopback') || !URL.canParse(redirectUri)) return false
  const { protocol, hostname, hash } = new URL(redirectUri)
  return /^https?:$/.test(protocol) && LOOPBACK_HOSTS.has(hostname) && hash === ''
}
