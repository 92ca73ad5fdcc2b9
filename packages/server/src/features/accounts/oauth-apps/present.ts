import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import type { CountedApp } from '../../../accounts/apps/store.ts'

/** @param baseUrl the address of the service, without a slash at the end */
export function presentApp(row: CountedApp, baseUrl: string): OAuthApp {
  const { id, provider, name, clientId, cloud, scopes, credentialType, gmailPush, accounts } = row
  return {
    id,
    provider,
    name,
    clientId,
    cloud,
    redirectUri: callbackUrl(baseUrl, provider),
    scopes,
    credentialType,
    gmailPush,
    accounts,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}

/** The URL to which the provider sends the browser after a sign-in. Registered with each app, so it never changes. */
export function callbackUrl(baseUrl: string, provider: OAuthApp['provider']): string {
  return `${baseUrl}/connect/callback/${provider}`
}
