import { CLOUDS } from './microsoft/clouds.ts'
import { sharesMailboxes } from './microsoft/scopes.ts'
import type { Cloud, OAuthProvider } from './sign-in.ts'

/** Whether a grant has the scopes that its provider demands for opening mailboxes of others. */
export function mayOpenShared(
  { provider, cloud }: { provider: OAuthProvider; cloud: Cloud | null },
  scopes: readonly string[],
): boolean {
  return provider !== 'microsoft' || sharesMailboxes(CLOUDS[cloud ?? 'global'], scopes)
}
