import { expect, test } from 'vitest'
import { useMicrosoft } from './use-microsoft.ts'

const used = useMicrosoft()
const GRAPH = 'graph.microsoft.com'
const EVA = 'eva@office.test'
const SCOPES = ['Mail.ReadWrite', 'Mail.ReadWrite.Shared', 'Mail.Send']

const tokenOf = async (user: string, clientId = 'sandbox'): Promise<string> =>
  (await used.ask('POST', '/grants', { user, clientId, scopes: SCOPES })).body.accessToken

const inbox = (token: string, of = 'me') => used.get(GRAPH, `/v1.0/${of}/mailFolders/inbox`, token)

/** As many calls at the same time. */
const storm = (count: number, token: string) => Promise.all(Array.from({ length: count }, () => inbox(token)))

test('an app has four calls at a mailbox at the same time, and is told when to come again', async () => {
  await used.ask('PATCH', '/graph', { callMilliseconds: 300 })
  const token = await tokenOf(EVA)
  const answers = await storm(8, token)
  const refused = answers.filter(({ status }) => status === 429)
  expect([answers.filter(({ status }) => status === 200).length, refused.length]).toEqual([4, 4])
  for (const { body, headers } of refused) {
    expect(body.error).toMatchObject({
      code: 'ApplicationThrottled',
      message: expect.stringContaining('MailboxConcurrency'),
    })
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  }
  expect((await inbox(token)).status).toBe(200)
})

test('a refusal does not say when to come again, if it is told not to', async () => {
  await used.ask('PATCH', '/graph', { callMilliseconds: 300, retryAfter: 'missing' })
  const refused = (await storm(6, await tokenOf(EVA))).filter(({ status }) => status === 429)
  expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual([null, null])
})

test('an app has so many calls at a mailbox in ten minutes of the clock', async () => {
  const { body: settings } = await used.ask('PATCH', '/graph', { callsMax: 3 })
  expect(settings).toMatchObject({ windowSeconds: 600, concurrentMax: 4, sendsPerMinute: 30 })
  const token = await tokenOf(EVA)
  const statuses: number[] = []
  for (let count = 0; count < 4; count += 1) statuses.push((await inbox(token)).status)
  expect(statuses).toEqual([200, 200, 200, 429])

  // Each mailbox has its own calls, and each app.
  expect((await inbox(await tokenOf('finn@office.test'))).status).toBe(200)
  expect((await inbox(token, 'users/desk@office.test')).status).toBe(200)
  await used.ask('POST', '/clients', { provider: 'microsoft', clientId: 'other', clientSecret: 'x' })
  expect((await inbox(await tokenOf(EVA, 'other'))).status).toBe(200)

  const { headers } = await inbox(token)
  const seconds = Number(headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(590)
  await used.ask('POST', '/clock', { advanceSeconds: seconds })
  expect((await inbox(await tokenOf(EVA))).status).toBe(200)
})

test('the default is 10,000 calls', async () => {
  expect((await used.ask('PATCH', '/graph', {})).body).toMatchObject({
    limits: 'on',
    callsMax: 10_000,
    retryAfter: 'given',
  })
})

test('each part of a batch counts as a call', async () => {
  await used.ask('PATCH', '/graph', { callsMax: 5 })
  const token = await tokenOf(EVA)
  const response = await fetch(`${used.origin(GRAPH)}/v1.0/$batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      requests: Array.from({ length: 7 }, (_, at) => ({
        id: `${at}`,
        method: 'GET',
        url: '/me/mailFolders/inbox',
        ...(at > 0 && { dependsOn: [] }),
      })),
    }),
  })
  const { responses } = (await response.json()) as { responses: { status: number }[] }
  const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429])
  const calls = (await used.ask('GET', `/calls?host=${GRAPH}`)).body.items
  expect(calls.filter(({ partOf }: { partOf: number | null }) => partOf !== null)).toHaveLength(7)
})

test('a fault strikes Graph and the sign-in in their own words', async () => {
  const token = await tokenOf(EVA)
  await used.ask('POST', '/faults', { does: 'rate_limit', host: GRAPH, count: 1, retryAfterSeconds: 7 })
  const throttled = await inbox(token)
  expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '7'])
  await used.ask('POST', '/faults', { does: 'unauthorized', host: GRAPH, count: 1 })
  expect((await inbox(token)).body.error.code).toBe('InvalidAuthenticationToken')
  await used.ask('POST', '/faults', { does: 'error', host: GRAPH, count: 1 })
  expect(await inbox(token)).toMatchObject({ status: 503, body: { error: { code: 'ServiceUnavailable' } } })
  await used.ask('POST', '/faults', { does: 'error', host: 'login.microsoftonline.com', count: 1 })
  const { status, body } = await used.token({ grant_type: 'refresh_token' })
  expect([status, body.error, body.error_codes]).toEqual([503, 'temporarily_unavailable', [90_033]])
  expect((await inbox(token)).status).toBe(200)
})
