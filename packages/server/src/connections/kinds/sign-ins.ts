import { googleSignIn } from '../../providers/google/sign-in.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { microsoftSignIns } from '../../providers/microsoft/sign-in.ts'
import { type OAuthProvider, type SignIns, signInsOf } from '../../providers/sign-in.ts'

export interface SignInOptions {
  calls: ProviderCalls
  /** The origins that stand in for the hosts of providers, also for the browser; null: the providers themselves. */
  standIns: ReadonlyMap<string, URL> | null
}

/** The providers at which users are offered to sign in. `waxwing doctor` asks each whether it has the OAuth apps. */
export const SIGN_IN_PROVIDERS: readonly OAuthProvider[] = ['google', 'microsoft']

/** The sign-ins of each provider, one for each of its clouds. */
export function openSignIns(options: SignInOptions): SignIns {
  return signInsOf([googleSignIn(options), ...microsoftSignIns(options)], SIGN_IN_PROVIDERS)
}
