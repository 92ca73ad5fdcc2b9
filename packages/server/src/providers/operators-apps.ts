import type { Secret } from '../kit/secret.ts'
import type { SignInClient, SignInPlace } from './sign-in.ts'

/** The settings of the operator's OAuth apps. */
export interface OperatorsApps {
  googleClientId: string | null
  googleClientSecret: Secret | null
}

/** An OAuth app of the operator, with the names of the settings that it comes from. */
export interface OperatorsApp extends SignInClient, SignInPlace {
  settings: { id: string; secret: string }
}

/** The OAuth apps of the operator, at most one for a provider and cloud. */
export function operatorsApps({
  googleClientId: clientId,
  googleClientSecret: secret,
}: OperatorsApps): readonly OperatorsApp[] {
  if (clientId === null || secret === null) return []
  const settings = { id: 'WAXWING_GOOGLE_CLIENT_ID', secret: 'WAXWING_GOOGLE_CLIENT_SECRET' }
  return [{ provider: 'google', cloud: null, clientId, credential: { type: 'secret', secret }, settings }]
}
