import type { Poster } from '../../../kit/egress/post.ts'
import { newId } from '../../../kit/ids.ts'
import type { EndpointTarget } from '../webhooks/target-store.ts'
import type { ClaimedDelivery } from './claims.ts'
import { excerptOf } from './excerpt.ts'
import type { AttemptResult } from './attempt-result.ts'
import { signedHeaders } from './signature.ts'

/** Posts a delivery to its endpoint. Never rejects. @param now the database's clock */
export async function makeAttempt(
  poster: Poster,
  { delivery, target, now }: { delivery: ClaimedDelivery; target: EndpointTarget; now(): number },
): Promise<AttemptResult> {
  const { eventId, body, tenantId, isTest, isProbe, tries, queuedAt } = delivery
  const id = newId()
  const startedAt = now()
  const timestampSeconds = Math.floor(startedAt / 1_000)
  const signed = signedHeaders({ eventId, body, timestampSeconds }, target.signingKeys)
  const posted = await poster.post({
    url: target.url,
    group: tenantId,
    headers: {
      ...signed,
      'content-type': 'application/json',
      'user-agent': 'waxwing-webhooks/1',
      accept: '*/*',
      'accept-encoding': 'identity',
    },
    body,
  })
  return {
    id,
    delivery,
    eventId,
    isTest,
    isProbe,
    tries,
    queuedAt,
    startedAt,
    statusCode: posted.statusCode,
    error: posted.error,
    retryAfter: oneOf(posted.headers['retry-after']) ?? null,
    responseExcerpt: excerptOf(oneOf(posted.headers['content-type']), posted.content),
    durationMilliseconds: posted.durationMilliseconds,
  }
}

function oneOf(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
