import type { HostedSessionKind } from '@waxwing/contract/operation.ts'
import { refuse } from '../calls/refuse.ts'
import type { HostedSessions } from '../wing/hosted-session.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { OpenWindows } from '../limits/limits.ts'
import type { Call } from './call.ts'

const REQUESTS_MAX = 300
const UNKNOWN_TOKENS_MAX = 20
const CLIENTS_MAX = 100_000

/** Rate limits for clients without a credential. */
export interface HostedWindows {
  /** Counts a request, or refuses it. */
  countRequest(client: string): Promise<void>
  /** Counts a token that belongs to no session. */
  countUnknown(client: string): Promise<void>
}

/** Counts in windows of one minute. */
export function createHostedWindows(openWindows: OpenWindows): HostedWindows {
  const windows = openWindows({ windowsMax: 2 * CLIENTS_MAX })
  const unknownOf = (client: string) => ({ name: `hosted-unknown:${client}`, limit: UNKNOWN_TOKENS_MAX })
  return {
    async countRequest(client) {
      const { isAccepted, resetSeconds } = await windows.count([
        { name: `hosted:${client}`, limit: REQUESTS_MAX },
        { ...unknownOf(client), isOnlyChecked: true },
      ])
      if (!isAccepted) refuse('rate_limited', undefined, { retryAfterSeconds: resetSeconds })
    },
    async countUnknown(client) {
      await windows.count([unknownOf(client)])
    },
  }
}

/**
 * Finds the session of a hosted call by its token, or refuses the call. An unknown token is refused before a session
 * that has ended.
 */
export async function identifyHosted(
  { sessions, windows }: { sessions: HostedSessions; windows: HostedWindows },
  kind: HostedSessionKind,
  { client, params }: Pick<Call, 'client' | 'params'>,
): Promise<Identity> {
  await windows.countRequest(client)
  const session = await sessions.find(params['token'] ?? '')
  if (!session) {
    await windows.countUnknown(client)
    return refuse(`${kind}_not_found`)
  }
  if (session.ended) refuse(session.ended)
  const { tenantId, id, accountIds } = session
  return {
    tenantId,
    credential: { kind: 'connect_session', id, label: null, scopes: [], accountIds },
    rates: null,
  }
}
