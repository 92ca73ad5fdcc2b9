import { expect, test, vi } from 'vitest'
import { DESK, EVA, FINN, useOffice } from './use-office.ts'

const office = useOffice()

const limit = (settings: object) => office.control('PATCH', '/graph', { limits: 'on', ...settings })
const read = (user = EVA) => office.ask(user, 'GET', 'mailFolders/inbox')
const THROTTLED = { status: 429, data: { error: { code: 'ApplicationThrottled' } } }

test('lets four calls of an app run at once in a mailbox, and refuses the fifth', async () => {
  await office.token(EVA)
  await office.token(FINN)
  await limit({ callMilliseconds: 60_000 })
  await office.control('DELETE', '/calls')
  const running = [read(), read(), read(), read()]
  const haveCome = (count: number) =>
    vi.waitUntil(
      async () => (await office.control('GET', '/calls?path=/v1.0/me/*')).data.items.length === count,
      { timeout: 60_000, interval: 5 },
    )
  await haveCome(4)
  const refused = await read()
  expect(refused).toMatchObject(THROTTLED)
  expect(refused.data.error.message).toContain('MailboxConcurrency')
  expect(refused.headers.get('retry-after')).toBe('1')
  const other = read(FINN)
  await haveCome(6)
  await limit({ callMilliseconds: 0 })
  expect((await Promise.all([...running, other])).map(({ status }) => status)).toEqual(Array(5).fill(200))
  expect((await read()).status).toBe(200)
})

test('keeps the limits of Exchange unless it is set to others', async () => {
  const { data } = await office.control('PATCH', '/graph', {})
  expect(data).toMatchObject({
    callsMax: 10_000,
    windowSeconds: 600,
    concurrentMax: 4,
    sendsPerMinute: 30,
    retryAfter: 'given',
  })
})

test('counts calls in a window of the length that it is set to', async () => {
  await limit({ callsMax: 2, windowSeconds: 30 })
  expect([(await read()).status, (await read()).status, (await read()).status]).toEqual([200, 200, 429])
  await office.control('POST', '/clock', { advanceSeconds: 30 })
  expect((await read()).status).toBe(200)
})

test('allows a number of calls in ten minutes by its own clock', async () => {
  await limit({ callsMax: 5 })
  for (let call = 0; call < 5; call += 1) expect((await read()).status).toBe(200)
  const refused = await read()
  expect(refused).toMatchObject(THROTTLED)
  const seconds = Number(refused.headers.get('retry-after'))
  expect(seconds).toBeGreaterThan(500)
  expect(seconds).toBeLessThanOrEqual(600)
  // Each mailbox has calls of its own, and each app.
  expect((await read(FINN)).status).toBe(200)
  expect((await office.ask(EVA, 'GET', `/v1.0/users/${DESK}/mailFolders/inbox`)).status).toBe(200)
  const { data: other } = await office.control('POST', '/clients', {
    provider: 'microsoft',
    clientId: 'other',
    clientSecret: 'x',
  })
  const grant = { user: EVA, clientId: other.clientId, scopes: ['Mail.ReadWrite'] }
  const { data: granted } = await office.control('POST', '/grants', grant)
  const authorization = `Bearer ${granted.accessToken}`
  expect((await office.ask(EVA, 'GET', 'mailFolders/inbox', undefined, { authorization })).status).toBe(200)
  await office.control('POST', '/clock', { advanceSeconds: seconds })
  expect((await read()).status).toBe(200)
})

test('counts each part of a batch, and subscriptions, as calls', async () => {
  await limit({ callsMax: 6 })
  const requests = Array.from({ length: 5 }, (_, part) => ({
    id: `${part}`,
    method: 'GET',
    url: '/me/mailFolders/inbox',
  }))
  const batch = async () => {
    const { data } = await office.ask(EVA, 'POST', '/v1.0/$batch', { requests })
    return data.responses.map(({ status }: { status: number }) => status).toSorted()
  }
  expect(await batch()).toEqual([200, 200, 200, 200, 200])
  expect((await office.ask(EVA, 'GET', '/v1.0/subscriptions')).status).toBe(200)
  expect(await batch()).toEqual([429, 429, 429, 429, 429])
  expect((await office.ask(EVA, 'GET', '/v1.0/subscriptions')).status).toBe(429)
})

test('runs the parts of a batch four at a time, so that it refuses none of them itself', async () => {
  await office.token(EVA)
  await limit({ callMilliseconds: 50 })
  const requests = Array.from({ length: 8 }, (_, part) => ({
    id: `${part}`,
    method: 'GET',
    url: '/me/mailFolders/inbox',
  }))
  const { data } = await office.ask(EVA, 'POST', '/v1.0/$batch', { requests })
  expect(data.responses.map(({ status }: { status: number }) => status)).toEqual(Array(8).fill(200))
  const chained = requests.map((request, at) => ({
    ...request,
    ...(at > 0 && { dependsOn: [`${at - 1}`] }),
  }))
  await limit({ concurrentMax: 1, callMilliseconds: 0 })
  const one = await office.ask(EVA, 'POST', '/v1.0/$batch', { requests: chained })
  expect(one.data.responses.map(({ status }: { status: number }) => status)).toEqual(Array(8).fill(200))
})

test('sends Retry-After always, never or at random', async () => {
  await limit({ callsMax: 1, retryAfter: 'missing' })
  await read()
  const silent = await read()
  expect(silent).toMatchObject(THROTTLED)
  expect(silent.headers.get('retry-after')).toBeNull()
  await limit({ retryAfter: 'mixed' })
  const answers = []
  for (let call = 0; call < 20; call += 1) answers.push((await read()).headers.has('retry-after'))
  expect(new Set(answers)).toEqual(new Set([true, false]))
})

test('refuses settings that it does not know', async () => {
  for (const settings of [{ limits: 'some' }, { callsMax: 0 }, { unknown: 1 }])
    expect((await office.control('PATCH', '/graph', settings)).status).toBe(422)
})
