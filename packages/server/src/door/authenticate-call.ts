import type { Authenticator, Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { FailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { refuse } from '../calls/refuse.ts'
import type { Call } from './call.ts'

/**
 * Identifies the caller, or refuses. A client that failed too often in this minute is refused before any lookup, unless
 * it presents a key that was recently valid.
 */
export async function authenticateCall(
  { authenticator, brake }: { authenticator: Authenticator; brake: FailureBrake },
  { client, credential }: Pick<Call, 'client' | 'credential'>,
): Promise<Identity> {
  // Counts no failure: nothing was presented, so nothing was guessed.
  if (credential === null) return refuse('unauthenticated')
  const presented = authenticator.present(credential)
  const fingerprint = presented?.fingerprint ?? ''
  const waitSeconds = await brake.waitSeconds(client, fingerprint)
  if (waitSeconds > 0) refuse('rate_limited', undefined, { retryAfterSeconds: waitSeconds })

  const authentication = presented ? await presented.authenticate() : ({ outcome: 'refused' } as const)
  if (authentication.outcome !== 'accepted') {
    await brake.recordFailure(client, fingerprint)
    return refuse(authentication.outcome === 'expired' ? 'api_key_expired' : 'unauthenticated')
  }
  if (authentication.credential.kind === 'api_key') brake.recordSuccess(fingerprint)
  return authentication
}
