import type { HostedSessionKind } from '@waxwing/contract/operation.ts'
import { refuse } from '../features/refuse.ts'
import type { HostedSessions } from '../features/hosted-session.ts'
import type { Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { Clock } from '../kit/clock.ts'
import { createMinuteCounts } from '../kit/minute-counts.ts'
import type { Call } from './call.ts'

const REQUESTS_MAX = 300
const UNKNOWN_TOKENS_MAX = 20
const CLIENTS_MAX = 100_000

/** Rate limits for clients without a credential. */
export interface HostedWindows {
  /** Counts a request, or refuses it. */
  countRequest(client: string): void
  /** Counts a token that belongs to no session. */
  countUnknown(client: string): void
}

/** Counts in this process, in windows of one minute of the clock. */
export function createHostedWindows(clock: Clock): HostedWindows {
  const requests = createMinuteCounts(clock, CLIENTS_MAX)
  const unknown = createMinuteCounts(clock, CLIENTS_MAX)
  return {
    countRequest(client) {
      if (requests.get(client) >= REQUESTS_MAX || unknown.get(client) >= UNKNOWN_TOKENS_MAX) {
        refuse('rate_limited', undefined, { retryAfterSeconds: requests.secondsLeft() })
      }
      requests.add(client)
    },
    countUnknown: client => unknown.add(client),
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
  windows.countRequest(client)
  const session = await sessions.find(params['token'] ?? '')
  if (!session) {
    windows.countUnknown(client)
    return refuse(`${kind}_not_found`)
  }
  if (session.ended) refuse(session.ended)
  const { tenantId, id, accountIds } = session
  return { tenantId, credential: { kind: 'connect_session', id, scopes: [], accountIds }, rates: null }
}
