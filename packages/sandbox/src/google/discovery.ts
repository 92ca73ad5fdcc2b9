import { ISSUER } from './id-token.ts'

/** The document of OpenID Connect Discovery, with Google's values and the sandbox's addresses. */
export function discoveryDocument(origins: Readonly<Record<string, string>>): object {
  const at = (host: string, path: string) => `${origins[host] ?? `https://${host}`}${path}`
  return {
    issuer: ISSUER,
    authorization_endpoint: at('accounts.google.com', '/o/oauth2/v2/auth'),
    token_endpoint: at('oauth2.googleapis.com', '/token'),
    userinfo_endpoint: at('openidconnect.googleapis.com', '/v1/userinfo'),
    revocation_endpoint: at('oauth2.googleapis.com', '/revoke'),
    jwks_uri: at('www.googleapis.com', '/oauth2/v3/certs'),
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    scopes_supported: ['openid', 'email', 'profile'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    claims_supported: [
      'aud',
      'email',
      'email_verified',
      'exp',
      'family_name',
      'given_name',
      'iat',
      'iss',
      'name',
      'picture',
      'sub',
    ],
    code_challenge_methods_supported: ['plain', 'S256'],
    grant_types_supported: [
      'authorization_code',
      'refresh_token',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
    ],
  }
}
