import { googleFailure } from '../google/failure.ts'
import { HOSTS } from '../google/hosts.ts'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { DeleteSubscription } from '../kept-subscription.ts'

/** It is gone, or the token is: nothing can be done with that, and the channel ends by itself. */
const NOTHING_LEFT: ReadonlySet<number> = new Set([200, 204, 401, 403, 404])

/** Stops a channel of an account that is no longer followed. */
export function googleStopChannel(calls: ProviderCalls, now: () => number = Date.now): DeleteSubscription {
  return async ({ id, resourceId, accessToken }, signal) => {
    if (resourceId === null) return
    const answer = await calls.call({
      host: HOSTS.calendar,
      method: 'POST',
      path: '/calendar/v3/channels/stop',
      headers: {
        authorization: `Bearer ${accessToken.reveal()}`,
        'content-type': 'application/json; charset=utf-8',
      },
      body: JSON.stringify({ id, resourceId }),
      isRepeatable: true,
      signal,
    })
    if (!NOTHING_LEFT.has(answer.status))
      throw googleFailure('Google Calendar', answer, { now: now(), isWrite: true })
  }
}
