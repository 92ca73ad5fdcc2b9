import type { Secret } from '../kit/secret.ts'
import type { OAuthProvider, SignInClient } from './sign-in.ts'

/** The OAuth apps of the operator, from the settings. */
export interface OperatorsApps {
  googleClientId: string | null
  googleClientSecret: Secret | null
}

/** An app of the operator, with the names of the settings that say it. */
export interface OperatorsApp extends SignInClient {
  settings: { id: string; secret: string }
}

/** The app of the operator for each provider that has one. */
export function operatorsApps({
  googleClientId: clientId,
  googleClientSecret: clientSecret,
}: OperatorsApps): Partial<Record<OAuthProvider, OperatorsApp>> {
  if (clientId === null || clientSecret === null) return {}
  const settings = { id: 'WAXWING_GOOGLE_CLIENT_ID', secret: 'WAXWING_GOOGLE_CLIENT_SECRET' }
  return { google: { clientId, clientSecret, settings } }
}
