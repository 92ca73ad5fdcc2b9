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
