import { halvesOf as halvesOfGoogle } from './google/scopes.ts'
import { CLOUDS } from './microsoft/clouds.ts'
import { halvesOf as halvesOfMicrosoft } from './microsoft/scopes.ts'
import type { Halves, SignInPlace } from './sign-in.ts'

/**
 * Reads what the scopes of a grant allow with calendars and contacts.
 * @param isShared whether those of a mailbox are meant that others share with the user who gave the grant
 */
export function halvesOfScopes(
  { provider, cloud }: SignInPlace,
  scopes: readonly string[],
  isShared: boolean,
): Halves {
  if (provider === 'google') return halvesOfGoogle(scopes)
  return halvesOfMicrosoft(CLOUDS[cloud ?? 'global'], scopes, isShared)
}
