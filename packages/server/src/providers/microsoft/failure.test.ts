import { expect, test } from 'vitest'
import { tokenEndpointFailure } from './failure.ts'

const answerOf = (status: number, json: unknown) => ({
  status,
  headers: {},
  content: Buffer.from(typeof json === 'string' ? json : JSON.stringify(json)),
})

const refusal = (error: string, code?: number) => ({
  error,
  ...(code !== undefined && { error_codes: [code], error_description: `AADSTS${code}: words` }),
})

test.each<[what: string, status: number, body: unknown, kind: string, reason: string | null]>([
  ['a changed password', 400, refusal('invalid_grant', 50173), 'grant_refused', null],
  ['a token unused for too long', 400, refusal('invalid_grant', 700082), 'grant_refused', null],
  ['an expired token', 400, refusal('invalid_grant', 70008), 'grant_refused', null],
  ['a second factor', 400, refusal('interaction_required', 50076), 'grant_refused', null],
  ['enrolment in a second factor', 400, refusal('interaction_required', 50079), 'grant_refused', null],
  ['a code that was redeemed', 400, refusal('invalid_grant', 54005), 'grant_refused', null],
  ['another redirect', 400, refusal('invalid_grant', 500112), 'rejected', null],
  ['a wrong secret', 401, refusal('invalid_client', 7000215), 'misconfigured', 'invalid_client'],
  ['an expired secret', 401, refusal('invalid_client', 7000222), 'misconfigured', 'invalid_client'],
  ['a foreign certificate', 401, refusal('invalid_client', 700027), 'misconfigured', 'invalid_client'],
  ['an unknown app', 400, refusal('unauthorized_client', 700016), 'misconfigured', 'invalid_client'],
  ['the times of an assertion', 401, refusal('invalid_client', 700024), 'unavailable', null],
  ['no consent', 400, refusal('invalid_grant', 65001), 'scope_missing', null],
  ['no consent of an administrator', 400, refusal('invalid_grant', 90094), 'scope_missing', null],
  ['a policy against consent', 400, refusal('invalid_grant', 90093), 'scope_missing', null],
  ['a risky app', 400, refusal('invalid_grant', 900941), 'scope_missing', null],
  [
    'a user who may not use the app',
    400,
    refusal('invalid_grant', 50105),
    'mailbox_gone',
    'provider_forbidden',
  ],
  ['a client in a loop', 400, refusal('invalid_grant', 50196), 'throttled', null],
  ['a busy directory', 400, refusal('invalid_request', 90055), 'throttled', null],
  ['a directory that is away', 400, refusal('invalid_request', 90090), 'unavailable', null],
  ['an empty parameter', 400, refusal('invalid_request', 90100), 'rejected', null],
  ['a user of another cloud', 401, refusal('invalid_client', 900382), 'rejected', null],
  ['a transient error', 400, refusal('temporarily_unavailable', 90033), 'unavailable', null],
  ['a wrong scope', 400, refusal('invalid_scope', 70011), 'rejected', null],
  ['an unknown resource', 400, refusal('invalid_resource', 500011), 'rejected', null],
  ['an error of OAuth alone', 400, refusal('invalid_grant'), 'grant_refused', null],
  ['a page of a proxy', 403, '<html>', 'rejected', null],
  ['a page of a proxy that fails', 502, '<html>', 'unavailable', null],
  ['a failed server with words of a refusal', 503, refusal('invalid_grant', 50173), 'unavailable', null],
  ['too many requests', 429, refusal('invalid_grant', 50173), 'throttled', null],
])('means the right thing by %s', (_, status, body, kind, reason) => {
  expect(tokenEndpointFailure(answerOf(status, body))).toMatchObject({ kind, reason })
})

test('finds the code in the description if it is nowhere else', () => {
  const body = {
    error: 'invalid_client',
    error_description: 'AADSTS700024: Client assertion is not within its time',
  }
  expect(tokenEndpointFailure(answerOf(401, body))).toMatchObject({ kind: 'unavailable' })
})
