import { describe, expect, test } from 'vitest'
import { isReason, RateLimitedError, ServiceError, Waxwing, WaxwingError } from '../src/index.ts'
import { breakOff, json, openOddService, refusal, type Reply } from './odd-service.ts'

const ACCOUNT = 'a-1'
const SEND = {
  accountId: ACCOUNT,
  to: [{ address: 'ada@example.com' }],
  subject: 'Hello',
  text: 'Hello, Ada.',
}
const soon = { 'retry-after': '0' }

async function failureOf(call: PromiseLike<unknown>): Promise<WaxwingError> {
  const error = await Promise.resolve(call).then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof WaxwingError)) throw new Error(`not a WaxwingError: ${String(error)}`)
  return error
}

/** An address at which nobody listens any more. */
async function openAndClose() {
  await using service = await openOddService(breakOff)
  return service
}

async function openClient(replies: Reply[], options: Partial<ConstructorParameters<typeof Waxwing>[0]> = {}) {
  const service = await openOddService(...replies)
  const waxwing = new Waxwing({ baseUrl: service.address, key: 'wk_secret', ...options })
  return { ...service, waxwing }
}

describe('one flat object', () => {
  test('becomes path, query and body', async () => {
    await using odd = await openClient([json({})])
    await odd.waxwing.calendarEvents.update({
      accountId: 'a/1',
      eventId: 'e 1',
      scope: 'series',
      subject: 'New',
    })
    await odd.waxwing.messages.list({
      accountId: ACCOUNT,
      unread: true,
      limit: 5,
      importance: 'high',
    })
    await odd.waxwing.changes.list({ types: ['send.sent', 'send.failed'] })
    await odd.waxwing.accounts.get({ accountId: '..%2f' })
    expect(odd.seen.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['PATCH', '/v1/accounts/a%2F1/calendar-events/e%201?scope=series', '{"subject":"New"}'],
      ['GET', '/v1/accounts/a-1/messages?unread=true&limit=5&importance=high', ''],
      ['GET', '/v1/changes?types=send.sent&types=send.failed', ''],
      ['GET', '/v1/accounts/..%252f', ''],
    ])
    expect(odd.seen[0]?.headers).toMatchObject({
      authorization: 'Bearer wk_secret',
      'content-type': 'application/json',
    })
  })

  test.each(['', '.', '..', undefined, 7, '\ud800'])(
    'is refused with %j as an id, before it is sent',
    async id => {
      await using odd = await openClient([json({})])
      const call = odd.waxwing.accounts.get({ accountId: id as string })
      await expect(call).rejects.toThrow(TypeError)
      expect(odd.seen).toEqual([])
    },
  )

  test('may have fields named as those of every object', async () => {
    await using odd = await openClient([json({})])
    const fields = JSON.parse('{"accountId": "a-1", "__proto__": {"name": "x"}, "constructor": 1}')
    await odd.waxwing.mailboxes.create(fields)
    expect(odd.seen[0]?.body).toBe('{"__proto__":{"name":"x"},"constructor":1}')
    expect(({} as { name?: string }).name).toBeUndefined()
  })
})

describe('a POST', () => {
  test('is sent again with the same key and the same bytes', async () => {
    await using odd = await openClient([breakOff, refusal('internal_error', 500, soon), json({ id: 'o-1' })])
    const send = { ...SEND, headers: [{ name: 'X-Round', value: '1' }] }
    const call = odd.waxwing.outbox.create(send)
    send.subject = 'Changed meanwhile'
    expect(await call).toEqual({ id: 'o-1' })
    const [first, ...others] = odd.seen
    expect(others).toHaveLength(2)
    for (const other of others) {
      expect(other.body).toBe(first?.body)
      expect(other.headers['idempotency-key']).toBe(first?.headers['idempotency-key'])
    }
    expect(first?.headers['idempotency-key']).toMatch(/^[0-9a-f]{32}$/)
  })

  test('waits for an earlier request with its key', async () => {
    await using odd = await openClient([refusal('idempotency_key_in_progress', 409), json({ id: 'o-1' })])
    expect(await odd.waxwing.outbox.create(SEND, { idempotencyKey: 'mine' })).toEqual({ id: 'o-1' })
    expect(odd.seen.map(({ headers }) => headers['idempotency-key'])).toEqual(['mine', 'mine'])
  })

  test('whose first request still runs has an unknown outcome', async () => {
    const running = refusal('idempotency_key_in_progress', 409)
    await using odd = await openClient([breakOff, running, refusal('overloaded', 503, soon)], { retries: 1 })
    const error = await failureOf(odd.waxwing.outbox.create(SEND))
    expect(error).toMatchObject({ code: 'overloaded', outcome: 'unknown' })
  })

  test('that a proxy refuses after a lost answer may have been done', async () => {
    const page: Reply = response => response.writeHead(404).end('<html>no such host, wk_live_secret</html>')
    await using odd = await openClient([breakOff, page], { retries: 1 })
    const error = await failureOf(odd.waxwing.outbox.create(SEND))
    expect(error).toMatchObject({ code: 'unreadable_answer', outcome: 'unknown' })
    expect(error.message).not.toContain('wk_live_secret')
  })

  test('has the key of its headers, if the program gives it there', async () => {
    await using odd = await openClient([json({ id: 'o-1' })])
    await odd.waxwing.outbox.create(SEND, { headers: { 'Idempotency-Key': 'mine' } })
    expect(odd.seen[0]?.headers['idempotency-key']).toBe('mine')
  })

  test('whose answers are all lost has an unknown outcome', async () => {
    await using odd = await openClient([breakOff], { retries: 1 })
    const error = await failureOf(odd.waxwing.outbox.create(SEND))
    expect(error).toMatchObject({ code: 'no_connection', outcome: 'unknown', status: undefined })
    expect(odd.seen).toHaveLength(2)
  })

  test('that a repetition refuses for now may have been done before', async () => {
    await using odd = await openClient([breakOff, refusal('rate_limited', 429, soon)], { retries: 2 })
    const error = await failureOf(odd.waxwing.outbox.create(SEND))
    expect(error).toBeInstanceOf(RateLimitedError)
    expect(error.outcome).toBe('unknown')
  })

  test('that a repetition refuses was not done', async () => {
    await using odd = await openClient([breakOff, refusal('unknown_mailbox', 400)])
    expect(await failureOf(odd.waxwing.outbox.create(SEND))).toMatchObject({
      outcome: 'not_applied',
      status: 400,
    })
  })

  test('is not repeated after a refusal that is kept under its key', async () => {
    await using odd = await openClient([refusal('storage_unavailable', 400)])
    await failureOf(odd.waxwing.outbox.create(SEND))
    expect(odd.seen).toHaveLength(1)
  })

  test('of a hosted page has no key and no second try', async () => {
    const mailbox = { token: 't', email: 'ada@example.com', password: 'x' }
    const connect = (waxwing: Waxwing) =>
      waxwing.hostedConnectSessions.connectImap(
        mailbox as Parameters<typeof waxwing.hostedConnectSessions.connectImap>[0],
      )
    for (const reply of [breakOff, refusal('internal_error', 500, soon), refusal('overloaded', 503, soon)]) {
      await using odd = await openClient([reply])
      await failureOf(connect(odd.waxwing))
      expect(odd.seen).toHaveLength(1)
      expect(odd.seen[0]?.headers['idempotency-key']).toBeUndefined()
    }
  })
})

describe.each(['PATCH', 'DELETE'])('a %s', method => {
  const call = ({ waxwing }: { waxwing: Waxwing }) =>
    method === 'PATCH'
      ? waxwing.messages.update({ accountId: ACCOUNT, messageId: 'm-1', isRead: true })
      : waxwing.messages.delete({ accountId: ACCOUNT, messageId: 'm-1' })

  test.each([
    ['a lost answer', breakOff, 'unknown'],
    ['a 500', refusal('internal_error', 500, soon), 'unknown'],
    ['a 502', refusal('provider_unavailable', 502, soon), 'unknown'],
    ['a page of a proxy', ((response: Parameters<Reply>[0]) => response.end('<html>')) as Reply, 'unknown'],
    ['a 409', refusal('provider_conflict', 409), 'not_applied'],
  ])('is not repeated after %s', async (_, reply, outcome) => {
    await using odd = await openClient([reply])
    expect(await failureOf(call(odd))).toMatchObject({ outcome })
    expect(odd.seen).toHaveLength(1)
  })

  test('is not repeated after the 503 of a proxy', async () => {
    await using odd = await openClient([response => response.writeHead(503, soon).end('<html>')])
    expect(await failureOf(call(odd))).toMatchObject({ outcome: 'unknown' })
    expect(odd.seen).toHaveLength(1)
  })

  test('that its provider refuses half way has an unknown outcome, and is repeated', async () => {
    await using odd = await openClient(
      [refusal('provider_throttled', 429, soon), refusal('provider_conflict', 409)],
      { retries: 1 },
    )
    expect(await failureOf(call(odd))).toMatchObject({ status: 409, outcome: 'unknown' })
  })

  test.each([429, 503])('is repeated after %d', async status => {
    await using odd = await openClient([refusal('overloaded', status, soon), json({ id: 'm-1' })])
    await call(odd)
    expect(odd.seen).toHaveLength(2)
  })

  test('is repeated where no connection was made', async () => {
    const { address } = await openAndClose()
    let tries = 0
    const waxwing = new Waxwing({
      baseUrl: address,
      fetch: (...given) => {
        tries++
        return fetch(...given)
      },
      retries: 1,
    })
    expect(await failureOf(call({ waxwing }))).toMatchObject({
      code: 'no_connection',
      outcome: 'not_applied',
    })
    expect(tries).toBe(2)
  })
})

describe('an odd answer', () => {
  test.each([
    [
      'HTML',
      '<html><body>Welcome\u0007 to the Wi-Fi</body></html>',
      /not one of Waxwing: <html><body>Welcome to the/,
    ],
    ['half JSON', '{"items": [', /not one of Waxwing/],
    ['nothing', '', /it is empty/],
  ])('of %s is an error that shows it', async (_, body, message) => {
    await using odd = await openClient([response => response.end(body)], { retries: 1 })
    const error = await failureOf(odd.waxwing.accounts.list())
    expect(error).toMatchObject({ code: 'unreadable_answer', message: expect.stringMatching(message) })
    expect(odd.seen).toHaveLength(2)
  })

  test('that is cut off is asked for again', async () => {
    const cut: Reply = response => {
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        .write('{"items"')
      setTimeout(() => response.destroy(), 20)
    }
    await using odd = await openClient([cut, json({ items: [], nextCursor: null })])
    expect(await odd.waxwing.accounts.list()).toEqual({ items: [], nextCursor: null })
  })

  test('that leads elsewhere is not followed, and does not get the key', async () => {
    await using other = await openOddService(json({}))
    const redirect: Reply = response => response.writeHead(307, { location: other.address }).end()
    await using odd = await openClient([redirect])
    const error = await failureOf(odd.waxwing.outbox.create(SEND))
    expect(error).toMatchObject({ code: 'redirected', message: expect.stringContaining('baseUrl') })
    expect([odd.seen.length, other.seen.length]).toEqual([1, 0])
  })

  test('of an older service names the operation that it lacks', async () => {
    const missing = { defined: false, code: 'not_found', status: 404, message: 'Not found.' }
    await using odd = await openClient([json(missing, 404)])
    const error = await failureOf(odd.waxwing.calendars.list({ accountId: ACCOUNT }))
    expect(error).toMatchObject({
      isDefined: false,
      message: expect.stringContaining('GET /v1/accounts/{accountId}/calendars'),
    })
  })

  test.each([
    ['-5', 2],
    ['soon', 2],
    [new Date(Date.now() - 5000).toUTCString(), 2],
    ['604800', 1],
    [new Date(Date.now() + 604_800_000).toUTCString(), 1],
  ])('with Retry-After %s is waited for only if that is short', async (value, tries) => {
    await using odd = await openClient([refusal('overloaded', 503, { 'retry-after': value })], { retries: 1 })
    const error = await failureOf(odd.waxwing.accounts.list())
    expect(error).toBeInstanceOf(ServiceError)
    expect(odd.seen).toHaveLength(tries)
    if (tries === 1) expect(error.retryAfterSeconds).toBeGreaterThan(604_000)
  })

  test('with issues tells them, typed', async () => {
    const data = { issues: [{ path: ['to'], message: 'is missing' }] }
    const body = { defined: true, code: 'invalid_input', status: 400, message: 'Not valid.', data }
    await using odd = await openClient([json(body, 400)])
    const error = await failureOf(odd.waxwing.outbox.create(SEND))
    expect(error).toMatchObject({ requestId: 'r-1', isDefined: true, outcome: 'not_applied' })
    if (!isReason(error, 'invalid_input')) throw error
    expect(error.data.issues[0]?.path).toEqual(['to'])
  })
})

describe('a signal', () => {
  test('that aborts before, during and between tries rejects with its reason', async () => {
    const reason = new Error('enough')
    await using odd = await openClient([refusal('overloaded', 503, { 'retry-after': '30' }), () => {}])
    const early = odd.waxwing.accounts.list({}, { signal: AbortSignal.abort(reason) })
    await expect(early).rejects.toBe(reason)
    expect(odd.seen).toEqual([])

    const pausing = new AbortController()
    const paused = odd.waxwing.outbox.create(SEND, { signal: pausing.signal })
    await expect.poll(() => odd.seen.length).toBe(1)
    pausing.abort(reason)
    await expect(paused).rejects.toBe(reason)

    const waiting = new AbortController()
    const hanging = odd.waxwing.outbox.create(SEND, { signal: waiting.signal })
    await expect.poll(() => odd.seen.length).toBe(2)
    waiting.abort(reason)
    await expect(hanging).rejects.toBe(reason)
  })

  test('of time ends a try that has no answer', async () => {
    await using odd = await openClient([() => {}], { timeoutMs: 30, retries: 1 })
    expect(await failureOf(odd.waxwing.accounts.list())).toMatchObject({ code: 'timeout' })
    expect(odd.seen).toHaveLength(2)
  })
})

test('a thread that is refused half way may be changed in part', async () => {
  await using odd = await openClient([refusal('provider_conflict', 409)])
  const change = { accountId: ACCOUNT, threadId: 't-1', isRead: true }
  expect(await failureOf(odd.waxwing.threads.update(change))).toMatchObject({ outcome: 'unknown' })
})

describe('a key', () => {
  test('that cannot be had, or does not come, ends the call', async () => {
    await using odd = await openClient([json({})], { key: () => Promise.reject(new Error('no store')) })
    expect(await failureOf(odd.waxwing.settings.get())).toMatchObject({
      code: 'no_key',
      outcome: 'not_applied',
    })
    const waxwing = new Waxwing({ baseUrl: odd.address, key: () => new Promise(() => {}), timeoutMs: 20 })
    expect(await failureOf(waxwing.settings.get())).toMatchObject({ code: 'no_key' })
    const leaving = new AbortController()
    const hanging = new Waxwing({ baseUrl: odd.address, key: () => new Promise(() => {}) }).settings.get(
      {},
      { signal: leaving.signal },
    )
    leaving.abort(new Error('enough'))
    await expect(hanging).rejects.toThrow('enough')
    expect(odd.seen).toEqual([])
  })

  test('from a function is asked for once more after a 401', async () => {
    const keys = ['wat_old', 'wat_new', 'wat_newer']
    await using odd = await openClient([refusal('unauthenticated', 401), json({ id: 'a' })], {
      key: async () => keys.shift() ?? '',
    })
    await odd.waxwing.accounts.get({ accountId: ACCOUNT })
    expect(odd.seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer wat_old', 'Bearer wat_new'])
  })

  test('with a line break is refused without being shown', () => {
    const make = () => new Waxwing({ baseUrl: 'http://localhost', key: 'wk_secret\n' })
    expect(make).toThrow(TypeError)
    expect(make).not.toThrow(/wk_secret/)
  })

  test('is in no error and in no printed client', async () => {
    await using odd = await openClient([refusal('missing_scope', 403)])
    const error = await failureOf(odd.waxwing.accounts.list())
    const { inspect } = await import('node:util')
    const shown = inspect([odd.waxwing, error], { depth: 20, showHidden: true }) + JSON.stringify(odd.waxwing)
    expect(shown).not.toContain('wk_secret')
  })

  test('is not sent if there is none', async () => {
    await using odd = await openClient([json({})])
    await new Waxwing({ baseUrl: odd.address }).openapi()
    expect(odd.seen[0]?.headers.authorization).toBeUndefined()
    expect(odd.seen[0]?.url).toBe('/v1/openapi.json')
  })
})

test('an address may have a path, and nothing else', async () => {
  await using odd = await openOddService(json({}))
  await new Waxwing({ baseUrl: `${odd.address}/mail/` }).settings.get()
  expect(odd.seen[0]?.url).toBe('/mail/v1/settings')
  for (const baseUrl of ['mail.example.com', 'ftp://x', 'https://x?y', 'https://u:p@x'])
    expect(() => new Waxwing({ baseUrl })).toThrow(TypeError)
})

test('an answer has its status, its ETag and its limits', async () => {
  const headers = {
    etag: '"7"',
    'idempotent-replayed': 'true',
    'ratelimit-limit': '60',
    'ratelimit-remaining': '59',
    'ratelimit-reset': '12',
  }
  await using odd = await openClient([json({ id: 'm-1' }, 200, headers)])
  const answered = await odd.waxwing.drafts
    .replace({ accountId: ACCOUNT, messageId: 'm-1', subject: 'x' }, { ifMatch: '"6"' })
    .withResponse()
  expect(answered).toMatchObject({
    body: { id: 'm-1' },
    status: 200,
    requestId: 'r-1',
    etag: '"7"',
    isReplayed: true,
    rateLimit: { limit: 60, remaining: 59, resetSeconds: 12 },
  })
  expect(odd.seen[0]?.headers['if-match']).toBe('"6"')
  expect(odd.seen).toHaveLength(1)
})
