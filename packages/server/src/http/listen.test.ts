import { once } from 'node:events'
import { connect } from 'node:net'
import { Hono } from 'hono'
import { describe, expect, test, vi } from 'vitest'
import { useTestDoors } from '../../test/use-doors.ts'
import type { App } from './app.ts'
import { listen } from './listen.ts'

/** Sends bytes as given and reads until the server closes or has sent the expected number of answers. */
function exchange(port: number, bytes: string, answers = 1): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let received = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
  socket.setTimeout(60_000, () => socket.destroy(new Error(`No answer within 60 s: ${received}`)))
  socket.on('data', data => {
    received += data.toString('latin1')
    if (received.split('HTTP/1.1 ').length > answers && received.endsWith('}')) socket.end()
  })
  socket.on('error', reject)
  socket.on('close', () => resolve(received))
  return promise
}

const HOST = 'Host: localhost\r\n'

const { openDoor } = useTestDoors()

// Each test has a door of its own, and some wait for seconds, so they run at once.
describe.concurrent('listen', () => {
  test('refuses a credential without permission before any byte of the body arrives', async () => {
    await using door = await openDoor()
    const key = await door.createKey(['read'])
    const head = `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\n`
    const answer = await exchange(
      door.port,
      `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(answer).toContain('"missing_scope"')
  })

  test.each([
    ['text that is not HTTP', 'hello\r\n\r\n', 400],
    ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n', 400],
    ['two lengths', `POST /v1/echo HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    [
      'a length and chunks, as in request smuggling',
      `POST /v1/echo HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['two Hosts', `GET /v1/echo HTTP/1.1\r\n${HOST}${HOST}\r\n`, 400],
    ['two different Hosts', `GET /v1/echo HTTP/1.1\r\n${HOST}Host: other\r\n\r\n`, 400],
    [
      'a transfer coding besides chunks',
      `POST /v1/echo HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      501,
    ],
    [
      'chunks in chunks',
      `POST /v1/echo HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'chunks in HTTP/1.0',
      `POST /v1/echo HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['an unknown Expect', `POST /v1/echo HTTP/1.1\r\n${HOST}Expect: x\r\nContent-Length: 2\r\n\r\n`, 417],
    ['headers beyond 16 KiB', `GET / HTTP/1.1\r\n${HOST}X-Long: ${'x'.repeat(17 * 1024)}\r\n\r\n`, 431],
  ])('refuses %s in the shape of every other error', async (_, bytes, status) => {
    await using door = await openDoor()
    const answer = await exchange(door.port, bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain('x-request-id: ')
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({ defined: false, status })
    // Log and metrics must show the same status as the client saw.
    expect(door.answers.map(line => line.split(' ').at(-1))).toEqual([String(status)])
    expect(door.answeredIds).toEqual([/x-request-id: (\S+)/i.exec(answer)?.[1]])
  })

  test('names the supported value when it refuses an expectation or a transfer coding', async () => {
    await using door = await openDoor()
    const send = (headers: string) =>
      exchange(door.port, `POST /v1/echo HTTP/1.1\r\n${HOST}${headers}\r\n\r\n`)
    expect(await send('Expect: x')).toContain('Only Expect: 100-continue is supported.')
    expect(await send('Transfer-Encoding: gzip, chunked')).toContain('with Transfer-Encoding: chunked alone.')
  })

  test.each([
    '/v1/accounts/../settings',
    '/v1/accounts/./../settings',
    '/v1/accounts/..',
    '/v1/./settings',
    '/v1/accounts/%2e%2e/settings',
    '/v1/accounts/.%2E/settings',
    '/v1/accounts/..%2fsettings',
    '/v1/accounts/..%5csettings',
    '/v1/accounts\\..\\settings',
    '/v1/%73ettings',
    '/v1/settings#/v1/accounts',
    'http://localhost/v1/accounts/../settings',
  ])('refuses %s, which a proxy may interpret differently', async target => {
    await using door = await openDoor()
    const answer = await exchange(door.port, `GET ${target} HTTP/1.1\r\n${HOST}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    const body = JSON.parse(answer.slice(answer.indexOf('{')))
    expect(body).toMatchObject({ defined: false, code: 'bad_request' })
    expect(body.message).toMatch(target.includes('#') ? /not valid HTTP/ : /needless percent-encoding/)
  })

  test.each(['/health/live?a=/../b', '/health/live?%2e', 'http://localhost/health/live'])(
    'answers %s, whose path is unambiguous',
    async target => {
      await using door = await openDoor()
      const answer = await exchange(door.port, `GET ${target} HTTP/1.1\r\n${HOST}\r\n`)
      expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    },
  )

  test('sends 100 Continue only after the sender was authorized', async () => {
    await using door = await openDoor()
    const send = (key: string) =>
      exchange(
        door.port,
        `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n',
      )
    expect(await send('none')).toMatch(/^HTTP\/1\.1 401 /)
    expect(await send(await door.createKey(['read']))).toMatch(/^HTTP\/1\.1 403 /)

    const continued = await exchange(
      door.port,
      `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}Authorization: Bearer ${await door.createKey()}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}',
      2,
    )
    expect(continued).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
  })

  test.each(['100-continue', 'x'])('ignores Expect: %s of HTTP/1.0', async expectation => {
    await using door = await openDoor()
    const answer = await exchange(
      door.port,
      `POST /v1/accounts/x/echo HTTP/1.0\r\nAuthorization: Bearer ${await door.createKey()}\r\n` +
        `Content-Type: application/json\r\nContent-Length: 2\r\nExpect: ${expectation}\r\n\r\n{}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 202 /)
  })

  test('answers a GET with an endless body, and reads none of it', async () => {
    await using door = await openDoor()
    const socket = connect(door.port, '127.0.0.1')
    let received = ''
    socket.on('data', data => (received += data.toString('latin1')))
    const closed = new Promise<void>(resolve => socket.on('error', () => {}).on('close', () => resolve()))
    socket.write(`GET /health/live HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n`)
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    while (!socket.closed && socket.bytesWritten < 128 * 1024 * 1024) {
      const isTaken = socket.write(chunk)
      if (!isTaken) await Promise.race([closed, new Promise(resolve => socket.once('drain', resolve))])
    }
    socket.destroy()

    expect(received).toMatch(/^HTTP\/1\.1 200 /)
    expect(received.toLowerCase()).toContain('connection: close')
    // The rest is what the system buffers on the way.
    expect(socket.bytesWritten).toBeLessThan(32 * 1024 * 1024)
  })

  test('logs nothing about downloads that clients abort', async () => {
    await using door = await openDoor()
    const key = await door.createKey()
    for (let count = 0; count < 20; count += 1) {
      const leave = new AbortController()
      const answer = await fetch(`${door.address}/v1/download`, {
        headers: { authorization: `Bearer ${key}` },
        signal: leave.signal,
      })
      await answer.body?.getReader().read()
      leave.abort()
    }
    await vi.waitFor(() => expect(door.calls.inFlightTotal).toBe(0), { timeout: 60_000 })
    // The handler of each is producing its next piece, and ends with it.
    await vi.waitFor(() => expect(door.piecesUnderWay()).toBe(0), { timeout: 60_000 })
    expect(door.lines).toEqual([])
  })

  test('names the setting of a host that does not resolve', async () => {
    const app: App = new Hono()
    await expect(listen(app, { host: 'no-such-host.invalid', port: 0 })).rejects.toThrow(
      'no-such-host.invalid, does not resolve. Set WAXWING_HOST',
    )
  })

  test('answers HTTP/1.0 without Host, as health checks of load balancers send it', async () => {
    await using door = await openDoor()
    const answer = await exchange(door.port, 'GET /health/ready HTTP/1.0\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('disconnects clients that send headers or bodies too slowly, and answers others meanwhile', async () => {
    // Long enough for all of them to be in progress at the same time.
    const patience = { headersMilliseconds: 6000, requestMilliseconds: 12_000, lookMilliseconds: 100 }
    await using door = await openDoor({ patience })
    const key = await door.createKey()
    const authorization = `Authorization: Bearer ${key}\r\n`
    const body = `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}${authorization}X-Request-Id: mine\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`
    const slow = Array.from({ length: 100 }, (_, nth) =>
      exchange(door.port, nth % 10 > 0 ? `GET / HTTP/1.1\r\n${HOST}` : body),
    )
    await vi.waitFor(() => expect(door.calls.inFlightTotal).toBe(10), { timeout: 60_000 })

    const answer = await exchange(door.port, `GET /v1/echo HTTP/1.1\r\n${HOST}${authorization}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    const cuts = await Promise.all(slow)
    for (const cut of cuts) expect(cut).toMatch(/^HTTP\/1\.1 408 /)
    expect(cuts.filter(cut => /x-request-id: mine/i.test(cut))).toHaveLength(10)
    await vi.waitFor(() => expect(door.calls.inFlightTotal).toBe(0), { timeout: 60_000 })
  })

  test('carries out no request on a connection that it has refused as too slow', async () => {
    const paths: string[] = []
    const app: App = new Hono()
    app.all('*', context => {
      paths.push(context.req.path)
      return context.text('')
    })
    const patience = { headersMilliseconds: 500, requestMilliseconds: 1000, lookMilliseconds: 100 }
    const { port, close } = await listen(app, { host: '127.0.0.1', port: 0 }, { patience })
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const [refusal] = (await once(socket, 'data')) as [Buffer]
    expect(refusal.toString()).toMatch(/^HTTP\/1\.1 408 /)

    // The server may reset it.
    socket.on('error', () => {})
    socket.end(`POST /late HTTP/1.1\r\n${HOST}Content-Length: 0\r\n\r\n`)
    // It is answered after the late one was read.
    await exchange(port, `GET /next HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)
    expect(paths).not.toContain('/late')
    await close()
  })

  test('does not log a client that leaves in the middle of its body as a fault', async () => {
    await using door = await openDoor()
    const key = await door.createKey()
    const head = `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\n`
    const socket = connect(door.port, '127.0.0.1')
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"note":`)
    await vi.waitFor(async () => expect(await door.keyUses()).toBe(1), { timeout: 60_000 })
    socket.destroy()

    await vi.waitFor(() => expect(door.answers).toEqual(['POST 400']), { timeout: 60_000 })
    expect(door.lines).toEqual([])
  })

  test('completes requests in progress when it closes, and accepts no new ones', async () => {
    await using door = await openDoor()
    const { entered, release } = door.hold('slow')
    const headers = { authorization: `Bearer ${await door.createKey()}`, 'x-request-id': 'slow' }
    const slow = fetch(`${door.address}/v1/echo`, { headers })
    await entered

    const closed = door.close()
    await expect(fetch(`${door.address}/health/live`)).rejects.toThrow()
    release()

    expect((await slow).status).toBe(200)
    await closed
  })

  test('disconnects requests that have not ended at the deadline', async () => {
    await using door = await openDoor()
    const { entered, release } = door.hold('stuck')
    const headers = { authorization: `Bearer ${await door.createKey()}`, 'x-request-id': 'stuck' }
    const stuck = fetch(`${door.address}/v1/echo`, { headers })
    const refused = expect(stuck).rejects.toThrow()
    await entered

    await door.close({ deadlineMilliseconds: 20 })
    await refused
    release()
  })

  test('ends the connections of requests that it answers while it closes', async () => {
    await using door = await openDoor()
    const { entered, release } = door.hold('last')
    const key = await door.createKey()
    const answer = exchange(
      door.port,
      `GET /v1/echo HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\nX-Request-Id: last\r\n\r\n`,
    )
    await entered
    const closed = door.close()
    release()
    expect((await answer).toLowerCase()).toMatch(/^http\/1\.1 200 [^]*\r\nconnection: close\r\n/)
    await closed
  })

  test('ends connections with their next answer from the moment that the process is leaving', async () => {
    const app: App = new Hono()
    app.get('/', context => context.text('{}'))
    let isLeaving = false
    const listener = await listen(app, { host: '127.0.0.1', port: 0 }, { isLeaving: () => isLeaving })
    const socket = connect(listener.port, '127.0.0.1')
    let received = ''
    socket.on('data', data => (received += data.toString('latin1').toLowerCase()))
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.write(`GET / HTTP/1.1\r\n${HOST}\r\n`)
    await vi.waitFor(() => expect(received).toMatch(/connection: keep-alive\r\n[^]*{}$/), { timeout: 60_000 })
    isLeaving = true
    received = ''
    socket.write(`GET / HTTP/1.1\r\n${HOST}\r\n`)
    await closed
    expect(received).toMatch(/^http\/1\.1 200 [^]*connection: close\r\n/)
    await listener.close()
  })

  test('gives answers that have begun longer than requests, and ends those, too', async () => {
    await using door = await openDoor()
    const { entered, release } = door.hold('outlasted')
    const headers = { authorization: `Bearer ${await door.createKey()}` }
    const download = await fetch(`${door.address}/v1/download`, { headers })
    const reader = download.body?.getReader()
    const stuck = fetch(`${door.address}/v1/echo`, { headers: { ...headers, 'x-request-id': 'outlasted' } })
    const refused = expect(stuck).rejects.toThrow()
    const silent = connect(door.port, '127.0.0.1')
    const silentClosed = new Promise(resolve => silent.once('close', resolve))
    silent.on('error', () => {}).write('GET /health/live HTTP/1.1\r\n')
    await entered

    const closed = door.close({ deadlineMilliseconds: 20, begunMilliseconds: 8000 })
    await refused
    await silentClosed
    for (let count = 0; count < 20; count += 1) expect((await reader?.read())?.done).toBe(false)
    const readOn = async () => {
      while (!(await reader?.read())?.done);
    }
    await expect(readOn()).rejects.toThrow()
    await closed
    release()
  })
})
