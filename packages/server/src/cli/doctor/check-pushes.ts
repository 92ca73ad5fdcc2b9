import { isPublicBase } from '../../kit/link-base.ts'
import { signInAbilitiesOf } from '../../providers/abilities.ts'
import type { OAuthProvider } from '../../providers/sign-in.ts'
import { type Finding, ok, warning } from './finding.ts'

/**
 * Whether providers that post changes of mailboxes to the base address can reach it. No finding if none of these apps is at
 * such a provider.
 */
export function checkPushes(
  { baseUrl, sandboxUrl }: { baseUrl: string | null; sandboxUrl: string | null },
  apps: ReadonlyArray<{ provider: OAuthProvider }>,
): Finding[] {
  const providers = [...new Set(apps.map(({ provider }) => provider))].map(signInAbilitiesOf)
  return providers
    .filter(({ pushesToBase }) => pushesToBase)
    .map(({ name }) => {
      if (sandboxUrl !== null)
        return ok('pushes', `${name} is played by the sandbox, which reaches any address.`)
      if (baseUrl !== null && isPublicBase(baseUrl))
        return ok('pushes', `${name} is asked to post changes of mailboxes to ${baseUrl}.`)
      return warning(
        'pushes',
        `${baseUrl ?? 'The address of the API'} is not a public https address, so ${name} cannot post changes of mailboxes ` +
          'to it: they are looked at every 30 seconds.',
        'Set WAXWING_BASE_URL to an https address with a public name, or leave it if that is enough.',
      )
    })
}
