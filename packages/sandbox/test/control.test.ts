import { describe, expect, test, vi } from 'vitest'
import { readAnswer } from './read-answer.ts'
import { useSandbox } from './use-sandbox.ts'

const used = useSandbox()
const { ask, origin } = used

test('lists an origin for each host, with pages on localhost', async () => {
  const { data } = await ask('GET', '/hosts')
  expect(data['gmail.googleapis.com']).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(data['accounts.google.com']).toMatch(/^http:\/\/localhost:\d+$/)
})

test('refuses web pages and names that are not local', async () => {
  const fromPage = await fetch(`${used.sandbox.controlUrl}/hosts`, {
    headers: { origin: 'https://evil.test' },
  })
  expect(fromPage.status).toBe(403)
})

test('begins with users of each provider and cloud, and forgets others at a reset', async () => {
  await ask('POST', '/users', { email: 'dora@gmail.test' })
  expect((await ask('GET', '/users')).data.items).toHaveLength(11)
  expect((await ask('POST', '/reset')).status).toBe(204)
  const { items } = (await ask('GET', '/users')).data
  expect(items.map(({ email, provider, cloud }: Record<string, string>) => [email, provider, cloud])).toEqual(
    [
      ['ada@gmail.test', 'google', null],
      ['ben@gmail.test', 'google', null],
      ['cleo@corp.test', 'google', null],
      ['eva@office.test', 'microsoft', 'global'],
      ['finn@office.test', 'microsoft', 'global'],
      ['greta@outlook.test', 'microsoft', 'global'],
      ['hugo@agency.test', 'microsoft', 'gcc-high'],
      ['ivy@base.test', 'microsoft', 'dod'],
      ['jun@shanghai.test', 'microsoft', 'china'],
      ['desk@office.test', 'microsoft', 'global'],
    ],
  )
})

test('lists the clients of each provider and cloud, of which two share their registrations', async () => {
  const { items } = (await ask('GET', '/clients')).data
  expect(
    items.map(({ provider, cloud, clientId }: Record<string, string>) => [provider, cloud, clientId]),
  ).toEqual([
    ['google', undefined, 'sandbox'],
    ...['global', 'gcc-high', 'china'].map(cloud => ['microsoft', cloud, 'sandbox']),
  ])
})

test.each([
  [
    'POST',
    '/users',
    { provider: 'microsoft', cloud: 'mars', email: 'a@b.test' },
    /^cloud: microsoft has no cloud/,
  ],
  [
    'POST',
    '/users',
    { provider: 'microsoft', cloud: 'china', email: 'a@outlook.test' },
    /^cloud: china has no/,
  ],
  ['PATCH', '/users/greta@outlook.test', { delegates: ['eva@office.test'] }, /^delegates: /],
  ['POST', '/clients', { provider: 'microsoft', clientId: 'a', audience: 'AzureADMyOrg' }, /^tenant: /],
  ['POST', '/clients', { provider: 'microsoft', clientId: 'a', certificates: ['x'] }, /^certificates\.0: /],
  [
    'POST',
    '/grants',
    { user: 'eva@office.test', clientId: 'none', scopes: ['User.Read'] },
    /no client none in global/,
  ],
  ['POST', '/grants', { user: 'eva@office.test', clientId: 'sandbox', scopes: ['Mail.Fly'] }, /AADSTS650053/],
  [
    'POST',
    '/grants',
    { user: 'eva@office.test', clientId: 'sandbox', scopes: ['User.Read'], cloud: 'china' },
    /^cloud: eva@office\.test is a user of global/,
  ],
  [
    'POST',
    '/authorizations',
    { user: 'eva@office.test', url: 'https://graph.microsoft.com/common/oauth2/v2.0/authorize' },
    /^url: /,
  ],
  ['POST', '/token-refusals', { code: 1 }, /^code: must be one of 50076/],
  ['PATCH', '/tenants', { domain: 'office.test', cloud: 'mars' }, /^cloud: /],
  ['POST', '/consents/withdraw', { user: 'eva@office.test', clientId: 'none' }, /There is no client none/],
])('refuses %s %s with %j', async (method, path, body, error) => {
  const refused = await ask(method, path, body)
  expect(refused).toMatchObject({ status: 422, data: { error: expect.stringMatching(error) } })
})

test.each([
  ['gmail.test', ['aspmx.l.google.com']],
  ['Corp.TEST', ['aspmx.l.google.com']],
  ['office.test', ['office-test.mail.protection.outlook.com']],
  ['outlook.test', ['outlook-com.olc.protection.outlook.com']],
  ['agency.test', ['agency-test.mail.protection.office365.us']],
  ['shanghai.test', ['shanghai-test.mail.protection.partner.outlook.cn']],
  ['test', []],
  ['elsewhere.test', []],
])('names the hosts that take the mail of %s', async (domain, items) => {
  expect((await ask('GET', `/mail-hosts/${domain}`)).data).toEqual({ items })
})

test('names the field that is wrong', async () => {
  const { status, data } = await ask('POST', '/users', { email: 'nobody' })
  expect(status).toBe(422)
  expect(data.error).toMatch(/^email: /)
})

test('turns the clock', async () => {
  const { data } = await ask('POST', '/clock', { now: '2030-01-01T00:00:00Z' })
  expect(data.now).toMatch(/^2030-01-01T00:00:0/)
})

test('logs calls without their secrets', async () => {
  await fetch(`${origin('www.googleapis.com')}/oauth2/v3/userinfo?access_token=ya29.secret&x=%zz&code=4%2F0A`)
  const { items } = (await ask('GET', '/calls')).data
  expect(items).toMatchObject([{ query: 'access_token=hidden&x=%zz&code=hidden', status: 401 }])
})

describe('faults', () => {
  const call = () => fetch(`${origin('www.googleapis.com')}/anything`)

  test('strike the calls that fit, as often as asked, and are in the call log', async () => {
    await ask('POST', '/faults', { does: 'rate_limit', path: '/any*', count: 1, retryAfterSeconds: 7 })
    const refused = await call()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '7'])
    expect((await call()).status).toBe(404)
    const { items } = (await ask('GET', '/calls')).data
    expect(items).toMatchObject([
      { path: '/anything', status: 429, fault: 'rate_limit' },
      { path: '/anything', status: 404, fault: null },
    ])
  })

  test('strike Microsoft in the words of its hosts', async () => {
    const [graph, login] = ['graph.microsoft.com', 'login.microsoftonline.com']
    const struck = async (host: string, fault: object) => {
      await ask('POST', '/faults', { host, count: 1, ...fault })
      const url = `${origin(host)}/common/oauth2/v2.0/token`
      const { status, headers, data } = await readAnswer(await fetch(url, { method: 'POST' }))
      return [status, host === login ? data.error_codes[0] : data.error.code, headers.get('retry-after')]
    }
    expect(await struck(graph, { does: 'rate_limit', retryAfterSeconds: 7 })).toEqual([
      429,
      'ApplicationThrottled',
      '7',
    ])
    expect(await struck(graph, { does: 'unauthorized' })).toEqual([401, 'InvalidAuthenticationToken', null])
    expect(await struck(graph, { does: 'error' })).toEqual([503, 'ServiceUnavailable', null])
    expect(await struck(graph, { does: 'quota' })).toEqual([403, 'ErrorQuotaExceeded', null])
    expect(await struck(login, { does: 'rate_limit' })).toEqual([429, 50_196, null])
    expect(await struck(login, { does: 'unauthorized' })).toEqual([401, 7_000_215, null])
    expect(await struck(login, { does: 'error', status: 500 })).toEqual([500, 90_033, null])
  })

  test('tear the body, and lose the answer', async () => {
    await ask('POST', '/faults', { does: 'torn', count: 1 })
    await expect(call().then(response => response.text())).rejects.toThrow('terminated')
    await ask('POST', '/faults', { does: 'lost', count: 1 })
    await expect(call()).rejects.toThrow('fetch failed')
    expect((await call()).status).toBe(404)
  })

  test('strike by lot, which a seed repeats', async () => {
    const strike = async (random: number) => {
      await ask('POST', '/reset', { random })
      await ask('POST', '/faults', { does: 'error', status: 500, probability: 0.3 })
      const statuses: number[] = []
      for (let count = 0; count < 40; count++) statuses.push((await call()).status)
      return statuses
    }
    const first = await strike(7)
    expect(new Set(first)).toEqual(new Set([404, 500]))
    expect(await strike(7)).toEqual(first)
    expect(await strike(8)).not.toEqual(first)
  })

  test('hang until the client goes', async () => {
    await ask('POST', '/faults', { does: 'hang', count: 1 })
    const client = new AbortController()
    const answer = fetch(`${origin('www.googleapis.com')}/anything`, { signal: client.signal })
    const calls = async () => (await ask('GET', '/calls')).data.items
    await vi.waitUntil(async () => (await calls())[0]?.fault === 'hang', { timeout: 60_000, interval: 5 })
    client.abort()
    await expect(answer).rejects.toThrow('aborted')
    expect(await calls()).toMatchObject([{ fault: 'hang', status: null }])
  })
})
