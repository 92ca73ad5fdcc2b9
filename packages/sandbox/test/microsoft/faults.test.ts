import { expect, test } from 'vitest'
import { useMicrosoft } from './use-microsoft.ts'

const used = useMicrosoft()
const GRAPH = 'graph.microsoft.com'

const tokenOf = async (user: string): Promise<string> =>
  (await used.ask('POST', '/grants', { user, clientId: 'sandbox', scopes: ['Mail.ReadWrite'] })).data
    .accessToken

const inbox = (token: string) => used.get(GRAPH, '/v1.0/me/mailFolders/inbox', token)

test('a fault strikes Graph and the sign-in in their own words', async () => {
  const token = await tokenOf('eva@office.test')
  await used.ask('POST', '/faults', { does: 'rate_limit', host: GRAPH, count: 1, retryAfterSeconds: 7 })
  const throttled = await inbox(token)
  expect([throttled.status, throttled.headers.get('retry-after')]).toEqual([429, '7'])
  await used.ask('POST', '/faults', { does: 'unauthorized', host: GRAPH, count: 1 })
  expect((await inbox(token)).data.error.code).toBe('InvalidAuthenticationToken')
  await used.ask('POST', '/faults', { does: 'error', host: GRAPH, count: 1 })
  expect(await inbox(token)).toMatchObject({ status: 503, data: { error: { code: 'ServiceUnavailable' } } })
  await used.ask('POST', '/faults', { does: 'error', host: 'login.microsoftonline.com', count: 1 })
  const { status, data } = await used.token({ grant_type: 'refresh_token' })
  expect([status, data.error, data.error_codes]).toEqual([503, 'temporarily_unavailable', [90_033]])
  expect((await inbox(token)).status).toBe(200)
})
