import { parseEgressAllow } from '../../src/kit/egress/allow-list.ts'
import { egressGuard } from '../../src/kit/egress/guard.ts'
import { Secret } from '../../src/kit/secret.ts'
import type { AccessTokens } from '../../src/providers/access-tokens.ts'
import { gmailAccount, type GmailAccountOptions } from '../../src/providers/gmail/account.ts'
import { QuotaGovernor } from '../../src/providers/google/governor.ts'
import { ProviderCalls } from '../../src/providers/http/provider-calls.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { SCOPES } from './gmail-client.ts'

const NO_QUOTA = 1e9

/** Calls of providers that a sandbox plays. */
export function callsTo({ hosts }: Pick<SandboxServer, 'hosts'>): ProviderCalls {
  return new ProviderCalls({
    guard: egressGuard({ allow: parseEgressAllow([]) }),
    authorities: undefined,
    standIns: new Map(Object.entries(hosts).map(([host, origin]) => [host, new URL(origin)])),
  })
}

export const boundless = new QuotaGovernor({
  userUnitsPerMinute: NO_QUOTA,
  projectUnitsPerMinute: NO_QUOTA,
})

/** Access tokens of a mailbox of the sandbox. */
export async function tokensFor(
  sandbox: SandboxServer,
  email: string,
  onAsk: () => Promise<void> = () => Promise.resolve(),
): Promise<AccessTokens> {
  const grant = async () => new Secret((await sandbox.grant(email, SCOPES)).accessToken)
  let token = await grant()
  return {
    async get() {
      await onAsk()
      return token
    },
    renew: async () => (token = await grant()),
  }
}

/** Opens the way to a mailbox of the sandbox. */
export async function reachSandbox(
  sandbox: SandboxServer,
  email: string,
  options: Partial<GmailAccountOptions> = {},
): Promise<
  AsyncDisposable & { connect(more?: Partial<GmailAccountOptions>): ReturnType<typeof gmailAccount> }
> {
  const calls = callsTo(sandbox)
  const tokens = await tokensFor(sandbox, email)
  return {
    connect: more =>
      gmailAccount({
        calls,
        tokens,
        quota: boundless.userOf('tests', email),
        signal: new AbortController().signal,
        pollSeconds: 0.1,
        ...options,
        ...more,
      }),
    [Symbol.asyncDispose]: () => calls[Symbol.asyncDispose](),
  }
}
