import { z } from 'zod'
import type { ProviderCalls } from '../http/provider-calls.ts'
import type { PushTokens } from '../push-tokens.ts'
import { IdTokens } from './id-token.ts'

/** cloud.google.com/pubsub/docs/authenticate-push-subscriptions */
const claims = z.object({ email: z.email().max(320), email_verified: z.literal(true) })

export function googlePushTokens(calls: ProviderCalls): PushTokens {
  const tokens = new IdTokens(calls)
  return {
    async signerOf(token, audience) {
      const { data } = claims.safeParse(await tokens.findClaims(token, audience))
      return data?.email ?? null
    },
  }
}
