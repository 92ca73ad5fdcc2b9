import { googleSignIn } from '../../providers/google/sign-in.ts'
import type { ProviderCalls } from '../../providers/http/provider-calls.ts'
import { type OAuthProvider, type SignIn, type SignIns, signInsOf } from '../../providers/sign-in.ts'

export interface SignInOptions {
  calls: ProviderCalls
  /** The origins that stand in for the hosts of providers, also for the browser; null: the providers themselves. */
  standIns: ReadonlyMap<string, URL> | null
}

/** The sign-ins of each provider, one for each of its clouds. */
const OPENED: ReadonlyArray<readonly [OAuthProvider, (options: SignInOptions) => readonly SignIn[]]> = [
  ['google', options => [googleSignIn(options)]],
]

/** The providers at which users sign in. `waxwing doctor` asks each whether it has the OAuth apps. */
export const SIGN_IN_PROVIDERS: readonly OAuthProvider[] = OPENED.map(([provider]) => provider)

export function openSignIns(options: SignInOptions): SignIns {
  return signInsOf(OPENED.flatMap(([, open]) => open(options)))
}
