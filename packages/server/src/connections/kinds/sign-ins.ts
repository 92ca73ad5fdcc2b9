import { googleSignIn } from '../../providers/google/sign-in.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import type { OAuthProvider, SignIn, SignIns } from '../../providers/sign-in.ts'

export interface SignInOptions {
  calls: ProviderCalls
  /** The origins that stand in for the hosts of providers, also for the browser; null: the providers themselves. */
  standIns: ReadonlyMap<string, URL> | null
}

const OPENED: ReadonlyArray<readonly [OAuthProvider, (options: SignInOptions) => SignIn]> = [
  ['google', googleSignIn],
]

/** The providers at which users sign in. `waxwing doctor` asks each whether it has the OAuth apps. */
export const SIGN_IN_PROVIDERS: readonly OAuthProvider[] = OPENED.map(([provider]) => provider)

export function openSignIns(options: SignInOptions): SignIns {
  return Object.fromEntries(OPENED.map(([provider, open]) => [provider, open(options)]))
}
