import { describe, expect, test } from 'vitest'
import { type TestDoor, useTestDoors } from '../../test/use-doors.ts'
import { makeCredential } from '../features/tenancy/credentials/rules.ts'
import { newId } from '../kit/ids.ts'

const { openDoor } = useTestDoors()

const ECHO = '/v1/accounts/x/echo'
const MEBIBYTE = 1024 * 1024

/** Sends a request with a key that has every scope. An object is sent as JSON. */
async function send(
  door: TestDoor,
  method: string,
  path: string,
  init: RequestInit & { json?: unknown } = {},
) {
  const headers = new Headers(init.headers)
  if (!headers.has('authorization')) headers.set('authorization', `Bearer ${await door.createKey()}`)
  if ('json' in init) headers.set('content-type', 'application/json')
  const body = 'json' in init ? JSON.stringify(init.json) : init.body
  const answer = await fetch(door.address + path, { ...init, method, headers, body: body ?? null })
  const content = await answer.text()
  return { status: answer.status, headers: answer.headers, body: content === '' ? null : JSON.parse(content) }
}

const json = { 'content-type': 'application/json' }

describe('X-Request-Id', () => {
  test('is the caller’s own if it is valid, otherwise a new one', async () => {
    await using door = await openDoor()
    for (const id of ['a', 'A-z_0.9:x', 'x'.repeat(128)]) {
      const { headers } = await send(door, 'GET', '/v1/echo', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toBe(id)
    }
    for (const id of ['', 'x'.repeat(129), 'a b', 'a/b', 'é']) {
      const { headers } = await send(door, 'GET', '/v1/echo', { headers: { 'x-request-id': id } })
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  })

  test('stands on refusals and on what lies outside the interface', async () => {
    await using door = await openDoor()
    for (const path of ['/v1/echo?no', '/v1/nothing', '/health/live', '/']) {
      const answer = await fetch(door.address + path, { headers: { 'x-request-id': 'mine' } })
      expect(answer.headers.get('x-request-id')).toBe('mine')
    }
  })
})

describe('the route', () => {
  test('that does not exist is not_found, even without a credential', async () => {
    await using door = await openDoor()
    for (const path of ['/v1/nothing', '/v1/echo/', '/v1', '/v1/accounts//echo']) {
      const { status, body } = await send(door, 'GET', path, { headers: { authorization: '' } })
      expect({ path, status, body }).toMatchObject({
        status: 404,
        body: { defined: false, code: 'not_found', status: 404 },
      })
      expect(Object.keys(body)).toEqual(['defined', 'code', 'status', 'message'])
    }
  })

  test('with another method is method_not_allowed and says which there are', async () => {
    await using door = await openDoor()
    const read = await send(door, 'DELETE', '/v1/echo')
    expect(read).toMatchObject({ status: 405, body: { defined: false, code: 'method_not_allowed' } })
    expect(read.headers.get('allow')).toBe('GET, HEAD')
    const echo = await send(door, 'GET', ECHO)
    expect(echo.headers.get('allow')).toBe('POST')
  })

  test('answers HEAD as GET without its body', async () => {
    await using door = await openDoor()
    expect(await send(door, 'HEAD', '/v1/echo')).toMatchObject({ status: 200, body: null })
  })

  test('sets headers that keep answers out of caches and frames', async () => {
    await using door = await openDoor()
    const { headers } = await send(door, 'GET', '/v1/echo')
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })
})

describe('the body', () => {
  test('is read as sent, or as {} if there is none', async () => {
    await using door = await openDoor()
    const echoed = await send(door, 'POST', `${ECHO}?flag=true&limit=7&names=a,b&names=c`, {
      json: { note: '👋👋👋👋👋' },
    })
    expect(echoed).toMatchObject({
      status: 202,
      body: {
        params: { accountId: 'x' },
        query: { flag: true, limit: 7, names: ['a', 'b', 'c'] },
        body: { note: '👋👋👋👋👋' },
      },
    })
    expect((await send(door, 'POST', ECHO)).body).toMatchObject({ query: { limit: 50 }, body: {} })
  })

  test.each([
    ['that is not JSON', '{"note":'],
    ['of several values', '{} {}'],
    ['that is not UTF-8', new Uint8Array([0x22, 0xff, 0x22])],
    ['that is null', 'null'],
    ['that is a list', '[]'],
    ['that is nested too deep', '['.repeat(MEBIBYTE)],
  ])('%s is invalid_input as a whole', async (_, body) => {
    await using door = await openDoor()
    expect(await send(door, 'POST', ECHO, { body, headers: json })).toMatchObject({
      status: 400,
      body: { defined: true, code: 'invalid_input', status: 400, data: { issues: [{ path: [] }] } },
    })
  })

  test('names each unknown field by its path', async () => {
    await using door = await openDoor()
    const { body } = await send(door, 'POST', `${ECHO}?more=1&less=2`, {
      json: { one: 1, two: 2, nested: [{ id: 1 }, { id: 2, deep: true }], note: '123456' },
    })
    const paths = body.data.issues.map((issue: { path: unknown }) => JSON.stringify(issue.path))
    expect(paths.toSorted()).toEqual([
      '["less"]',
      '["more"]',
      '["nested",1,"deep"]',
      '["note"]',
      '["one"]',
      '["two"]',
    ])
  })

  test('gains nothing from __proto__, constructor or a repeated field', async () => {
    await using door = await openDoor()
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const body = `{"${name}":{"note":"x"}}`
      const refused = await send(door, 'POST', ECHO, { body, headers: json })
      expect(refused.body.data.issues).toMatchObject([{ path: [name] }])
      const query = await send(door, 'POST', `${ECHO}?${name}=1`)
      expect(query.body.data.issues).toMatchObject([{ path: [name] }])
    }
    const repeated = await send(door, 'POST', ECHO, { body: '{"note":"a","note":"b"}', headers: json })
    expect(repeated.body.body).toEqual({ note: 'b' })
    expect(({} as Record<string, unknown>)['note']).toBeUndefined()
  })

  test('names the path of text that PostgreSQL cannot store: U+0000, and half of a surrogate pair', async () => {
    await using door = await openDoor()
    const body = await send(door, 'POST', ECHO, { json: { free: { list: ['a', 'b\0'] } } })
    expect(body.body.data.issues).toMatchObject([{ path: ['free', 'list', 1] }])
    const half = await send(door, 'POST', ECHO, { body: '{"free":{"a":"\\ud83d"}}', headers: json })
    expect(half.body.data.issues).toMatchObject([{ path: ['free', 'a'] }])
    const pair = await send(door, 'POST', ECHO, { body: '{"note":"\\ud83d\\udc4b"}', headers: json })
    expect(pair.body.body).toEqual({ note: '👋' })
    const escaped = await send(door, 'POST', ECHO, { body: '{"note":"\\\\u000"}', headers: json })
    expect(escaped.status).toBe(202)
    const query = await send(door, 'POST', `${ECHO}?names=%00`)
    expect(query.body.data.issues).toMatchObject([{ path: ['names'] }])
  })

  test.each([
    ['no content type', {}],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['text', { 'content-type': 'text/plain' }],
    ['another charset', { 'content-type': 'application/json; charset=latin1' }],
    ['two content types', { 'content-type': 'application/json, text/plain' }],
    ['compressed content', { ...json, 'content-encoding': 'gzip' }],
  ])('with %s is unsupported_media_type', async (_, headers: Record<string, string>) => {
    await using door = await openDoor()
    const body = new TextEncoder().encode('{}')
    expect(await send(door, 'POST', ECHO, { body, headers })).toMatchObject({
      status: 415,
      body: { defined: false, code: 'unsupported_media_type' },
    })
  })

  test('over 2 MiB is payload_too_large: by its declared size, before the credential is checked', async () => {
    await using door = await openDoor()
    const body = JSON.stringify({ filler: 'x'.repeat(2 * MEBIBYTE) })
    expect(
      await send(door, 'POST', ECHO, { body, headers: { ...json, authorization: 'none' } }),
    ).toMatchObject({
      status: 413,
      body: { defined: true, code: 'payload_too_large' },
    })
    const fitting = JSON.stringify({ filler: 'x'.repeat(2 * MEBIBYTE - 13) })
    expect(await send(door, 'POST', ECHO, { body: fitting, headers: json })).toMatchObject({ status: 202 })
  })

  test('over 2 MiB in chunks is payload_too_large while it is read, if the caller may send it', async () => {
    await using door = await openDoor()
    const stream = () => new Blob([JSON.stringify({ filler: 'x'.repeat(2 * MEBIBYTE) })]).stream()
    const chunked = (headers: Record<string, string>) =>
      send(door, 'POST', ECHO, {
        body: stream(),
        headers: { ...json, ...headers },
        duplex: 'half',
      } as RequestInit)
    expect(await chunked({})).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
    expect(await chunked({ authorization: 'none' })).toMatchObject({ status: 401 })
    const reader = await door.createKey(['read'])
    expect(await chunked({ authorization: `Bearer ${reader}` })).toMatchObject({ status: 403 })
  })
})

describe('the query', () => {
  test.each([
    ['flag=yes', 'flag'],
    ['flag=1', 'flag'],
    ['flag=true&flag=true', 'flag'],
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1e1', 'limit'],
    ['limit=', 'limit'],
    ['limit=+5', 'limit'],
  ])('%s is invalid_input', async (query, name) => {
    await using door = await openDoor()
    const { status, body } = await send(door, 'POST', `${ECHO}?${query}`)
    expect({ status, issues: body.data?.issues }).toMatchObject({ status: 400, issues: [{ path: [name] }] })
  })
})

describe('the credential', () => {
  test('is ignored if there are two Authorization headers', async () => {
    await using door = await openDoor()
    const key = await door.createKey()
    const headers = new Headers([
      ['authorization', `Bearer ${key}`],
      ['authorization', `Bearer ${key}`],
    ])
    const answer = await send(door, 'GET', '/v1/echo', { headers })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  test('is refused after 20 failures of the client in a minute, except a key that was recently valid', async () => {
    await using door = await openDoor({ trustProxy: ['127.0.0.1'] })
    door.stopClock()
    const [used, fresh] = [await door.createKey(), await door.createKey()]
    const ask = (key: string, client: string) =>
      send(door, 'GET', '/v1/echo', {
        headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': client },
      })
    expect((await ask(used, '198.51.100.1')).status).toBe(200)
    for (let count = 0; count < 20; count += 1) {
      expect((await ask(makeCredential('api_key', newId()), '198.51.100.1')).status).toBe(401)
    }

    const refused = await ask(fresh, '198.51.100.1')
    expect(refused).toMatchObject({ status: 429, body: { defined: true, code: 'rate_limited' } })
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(60)
    expect((await ask(used, '198.51.100.1')).status).toBe(200)
    expect((await ask(fresh, '198.51.100.2')).status).toBe(200)
    expect((await ask(used, '1.1.1.1, 198.51.100.1')).status).toBe(200)
    door.pass(seconds)
    expect((await ask(fresh, '198.51.100.1')).status).toBe(200)
  })
})

describe('CORS', () => {
  const origin = 'https://app.example.com'
  const preflight = { origin, authorization: '', 'access-control-request-method': 'POST' }

  test('allows a listed origin, without credentials, on answers of every kind', async () => {
    await using door = await openDoor({ corsOrigins: [origin] })
    const asked = await send(door, 'OPTIONS', ECHO, { headers: preflight })
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-methods')).toBe('POST')
    expect(asked.headers.get('access-control-allow-headers')).toContain('Authorization')
    for (const [path, status] of [
      ['/v1/echo', 200],
      ['/v1/echo?no', 400],
      ['/v1/nothing', 404],
    ] as const) {
      const { headers, status: answered } = await send(door, 'GET', path, { headers: { origin } })
      expect(answered).toBe(status)
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-expose-headers')).toContain('X-Request-Id')
      expect(headers.get('access-control-allow-credentials')).toBeNull()
      expect(headers.get('vary')).toBe('Origin')
    }
  })

  test('sends no headers to another origin', async () => {
    await using door = await openDoor({ corsOrigins: [origin] })
    for (const other of ['https://evil.example', `${origin}.evil.example`, 'null']) {
      const asked = await send(door, 'OPTIONS', ECHO, { headers: { ...preflight, origin: other } })
      expect(asked.status).toBe(405)
      expect(asked.headers.get('access-control-allow-origin')).toBeNull()
      const read = await send(door, 'GET', '/v1/echo', { headers: { origin: other } })
      expect(read.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})

describe('a fault', () => {
  test('answers internal_error without details, and is logged with its request id', async () => {
    await using door = await openDoor()
    const headers = { 'x-request-id': 'find-me' }
    const { status, body } = await send(door, 'GET', '/v1/echo?fault=throw', { headers })
    expect(status).toBe(500)
    expect(body).toMatchObject({ defined: true, code: 'internal_error' })
    expect(JSON.stringify(body)).not.toContain('secret detail')
    expect(door.lines.find(line => line.includes('find-me'))).toContain('secret detail')
  })

  test('is also an undeclared reason: a failure in tests, answered and logged in production', async () => {
    await using strict = await openDoor()
    expect((await send(strict, 'GET', '/v1/echo?fault=declared')).body.code).toBe('account_paused')
    expect((await send(strict, 'GET', '/v1/echo?fault=undeclared')).body.code).toBe('internal_error')

    await using production = await openDoor({ isStrict: false })
    const { status, body } = await send(production, 'GET', '/v1/echo?fault=undeclared')
    expect({ status, body }).toMatchObject({ status: 409, body: { defined: true, code: 'account_disabled' } })
    expect(production.lines.join()).toContain('account_disabled')
  })

  test('is also an answer that does not fit the contract, except in production, which does not check answers', async () => {
    await using strict = await openDoor()
    expect((await send(strict, 'GET', '/v1/echo?fault=answer')).status).toBe(500)
    await using production = await openDoor({ isStrict: false })
    expect(await send(production, 'GET', '/v1/echo?fault=answer')).toMatchObject({
      status: 200,
      body: { ok: false },
    })
  })
})

describe('public paths', () => {
  test('are the OpenAPI document and the health of the service', async () => {
    await using door = await openDoor()
    const anonymous = { headers: { authorization: '' } }
    expect((await send(door, 'GET', '/v1/openapi.json', anonymous)).body.openapi).toBe('3.1.1')
    expect(await send(door, 'GET', '/health/live', anonymous)).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    })
    expect(await send(door, 'GET', '/health/ready', anonymous)).toMatchObject({
      status: 200,
      body: { status: 'ok' },
    })
  })
})
