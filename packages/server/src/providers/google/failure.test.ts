import { describe, expect, test } from 'vitest'
import { googleFailure } from './failure.ts'

const answer = (code: number, message: string, reason: string, headers = {}) => ({
  status: code,
  headers,
  content: Buffer.from(JSON.stringify({ error: { code, message, errors: [{ reason }] } })),
})
const metric = (limit: string) =>
  `Quota exceeded for quota metric 'Queries' and limit '${limit}' of service 'gmail.googleapis.com' for consumer 'project_number:1'.`

describe('googleFailure', () => {
  test.each([
    [403, metric('Queries per minute per user'), 'rateLimitExceeded', 'user'],
    [429, metric('Queries per minute per user'), 'rateLimitExceeded', 'user'],
    [403, 'User Rate Limit Exceeded', 'userRateLimitExceeded', 'user'],
    [429, 'Too many concurrent requests for user.', 'rateLimitExceeded', 'user'],
    [429, 'Rate Limit Exceeded', 'rateLimitExceeded', 'user'],
    [403, metric('Queries per minute'), 'rateLimitExceeded', 'project'],
    [429, metric('Queries per minute'), 'rateLimitExceeded', 'project'],
    [403, 'Rate Limit Exceeded', 'rateLimitExceeded', 'project'],
    [403, 'Daily Limit Exceeded', 'dailyLimitExceeded', 'project'],
  ])('for %i "%s" (%s) is that the quota of the %4$s is spent', (code, message, reason, owner) => {
    const failure = googleFailure('Gmail', answer(code, message, reason, { 'retry-after': '7' }), { now: 0 })
    expect(failure).toMatchObject({ kind: 'throttled', owner, retryAfterSeconds: 7, isBusy: false })
  })

  test.each([
    [403, 'accessNotConfigured', 'misconfigured'],
    [403, 'SERVICE_DISABLED', 'misconfigured'],
    [403, 'insufficientPermissions', 'scope_missing'],
    [403, 'forbidden', 'forbidden'],
    [404, 'notFound', 'not_found'],
    [400, 'invalidArgument', 'rejected'],
    [503, 'backendError', 'unavailable'],
  ])('for %i (%s) is %s', (code, reason, kind) => {
    expect(googleFailure('Gmail', answer(code, 'No.', reason), { now: 0 }).kind).toBe(kind)
  })
})
