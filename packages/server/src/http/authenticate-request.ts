import type { Authenticator, Identity } from '../features/tenancy/credentials/authenticate.ts'
import type { FailureBrake } from '../features/tenancy/credentials/failure-brake.ts'
import { refuse } from '../features/refuse.ts'

const BEARER = /^bearer +([^ ].*)$/i

/**
 * Tells who sends a request, or refuses it. A client that failed too often in this minute is refused before anything is
 * looked up, unless it presents a key that was good a moment ago.
 */
export async function authenticateRequest(
  { authenticator, brake }: { authenticator: Authenticator; brake: FailureBrake },
  client: string,
  authorization: string | null,
): Promise<Identity> {
  const text = BEARER.exec(authorization ?? '')?.[1]
  // Nothing is presented, so nothing is guessed.
  if (authorization === null || text === undefined) return refuse('unauthenticated')
  const presented = authenticator.present(text)
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
