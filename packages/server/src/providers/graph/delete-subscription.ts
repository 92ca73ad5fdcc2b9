import { randomUUID } from 'node:crypto'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { DeleteSubscription } from '../kept-subscription.ts'
import { CLOUDS } from '../microsoft/clouds.ts'
import { segment } from './api.ts'
import { graphFailure } from './failure.ts'

/** It is gone, or the token is: nothing can be done with that, and Graph sends nothing for a user whose grant has ended. */
const NOTHING_LEFT: ReadonlySet<number> = new Set([204, 401, 403, 404])

export function graphDeleteSubscription(
  calls: ProviderCalls,
  now: () => number = Date.now,
): DeleteSubscription {
  return async ({ cloud, id, resourceId, accessToken }, signal) => {
    if (resourceId !== null) return
    const answer = await calls.call({
      host: CLOUDS[cloud].graph,
      method: 'DELETE',
      path: `/v1.0/subscriptions/${segment(id)}`,
      headers: {
        authorization: `Bearer ${accessToken.reveal()}`,
        prefer: 'IdType="ImmutableId"',
        'client-request-id': randomUUID(),
      },
      isRepeatable: true,
      signal,
    })
    if (!NOTHING_LEFT.has(answer.status)) throw graphFailure(answer, now(), true)
  }
}
