import type { Secret } from '../kit/secret.ts'
import type { OAuthProvider, SignInClient } from './sign-in.ts'

/** The settings of the operator's OAuth apps. */
export interface OperatorsApps {
  googleClientId: string | null
  googleClientSecret: Secret | null
}

/** An OAuth app of the operator, with the names of the settings that it comes from. */
export interface OperatorsApp extends SignInClient {
  provider: OAuthProvider
  settings: { id: string; secret: string }
}

/** The OAuth apps of the operator, at most one for a provider. */
export function operatorsApps({
  googleClientId: clientId,
  googleClientSecret: clientSecret,
}: OperatorsApps): readonly OperatorsApp[] {
  if (clientId === null || clientSecret === null) return []
  const settings = { id: 'WAXWING_GOOGLE_CLIENT_ID', secret: 'WAXWING_GOOGLE_CLIENT_SECRET' }
  return [{ provider: 'google', clientId, clientSecret, settings }]
}
