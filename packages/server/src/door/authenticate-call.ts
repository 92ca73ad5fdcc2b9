import type { Authenticator, Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { FailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { refuse } from '../features/refuse.ts'
import type { Call } from './call.ts'

/**
 * Finds out who calls, or refuses. A client that failed too often in this minute is refused before anything is looked up,
 * unless it presents a key that was good a moment ago.
 */
export async function authenticateCall(
  { authenticator, brake }: { authenticator: Authenticator; brake: FailureBrake },
  { client, credential }: Pick<Call, 'client' | 'credential'>,
): Promise<Identity> {
  // Nothing is presented, so nothing is guessed.
  if (credential === null) return refuse('unauthenticated')
  const presented = authenticator.present(credential)
  const fingerprint = presented?.fingerprint ?? ''
  const waitSeconds = brake.waitSeconds(client, fingerprint)
  if (waitSeconds > 0) refuse('rate_limited', undefined, { retryAfterSeconds: waitSeconds })

  const authentication = presented ? await presented.authenticate() : ({ outcome: 'refused' } as const)
  if (authentication.outcome !== 'accepted') {
    brake.recordFailure(client, fingerprint)
    return refuse(authentication.outcome === 'expired' ? 'api_key_expired' : 'unauthenticated')
  }
  if (authentication.credential.kind === 'api_key') brake.recordSuccess(fingerprint)
  return authentication
}
