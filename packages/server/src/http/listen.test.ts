import { connect } from 'node:net'
import { Hono } from 'hono'
import { describe, expect, test, vi } from 'vitest'
import { openTestDoor } from '../../test/open-door.ts'
import type { App } from './app.ts'
import { listen } from './listen.ts'

/** Sends bytes as they are and reads until the server closes or has answered as often as expected. */
function exchange(port: number, bytes: string, answers = 1): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let received = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
  socket.setTimeout(10_000, () => socket.destroy(new Error(`No answer within 10 s: ${received}`)))
  socket.on('data', data => {
    received += data.toString('latin1')
    if (received.split('HTTP/1.1 ').length > answers && received.endsWith('}')) socket.end()
  })
  socket.on('error', reject)
  socket.on('close', () => resolve(received))
  return promise
}

const HOST = 'Host: localhost\r\n'

describe('listen', () => {
  test('answers before a byte of the body came where the credential may not send one', async () => {
    await using door = await openTestDoor()
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
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['no Host', 'GET /health/live HTTP/1.1\r\n\r\n', 400],
    ['two lengths', `POST /v1/echo HTTP/1.1\r\n${HOST}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400],
    [
      'a length and chunks, as smugglers send',
      `POST /v1/echo HTTP/1.1\r\n${HOST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['headers beyond 16 KiB', `GET / HTTP/1.1\r\n${HOST}X-Long: ${'x'.repeat(17 * 1024)}\r\n\r\n`, 431],
  ])('refuses %s in the shape of every other error', async (_, bytes, status) => {
    await using door = await openTestDoor()
    const answer = await exchange(door.port, bytes)
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
    expect(answer.toLowerCase()).toContain('x-request-id: ')
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toMatchObject({ defined: false, status })
  })

  test('says which setting names a host that does not resolve', async () => {
    const app: App = new Hono()
    await expect(listen(app, { host: 'no-such-host.invalid', port: 0 })).rejects.toThrow(
      'no-such-host.invalid, does not resolve. Set WAXWING_HOST',
    )
  })

  test('answers HTTP/1.0 without Host, as health checks of load balancers send it', async () => {
    await using door = await openTestDoor()
    const answer = await exchange(door.port, 'GET /health/ready HTTP/1.0\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  test('cuts off who dribbles headers or a body, and answers others meanwhile', async () => {
    const patience = { headersMilliseconds: 500, requestMilliseconds: 1000, lookMilliseconds: 100 }
    await using door = await openTestDoor({ patience })
    const key = await door.createKey()
    const authorization = `Authorization: Bearer ${key}\r\n`
    const body = `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}${authorization}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`
    const slow = Array.from({ length: 100 }, (_, nth) =>
      exchange(door.port, nth % 10 > 0 ? `GET / HTTP/1.1\r\n${HOST}` : body),
    )
    await vi.waitFor(() => expect(door.inFlight.total).toBe(10), { timeout: 60_000 })

    const answer = await exchange(door.port, `GET /v1/echo HTTP/1.1\r\n${HOST}${authorization}\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    for (const cut of await Promise.all(slow)) expect(cut).toMatch(/^HTTP\/1\.1 408 /)
    await vi.waitFor(() => expect(door.inFlight.total).toBe(0), { timeout: 60_000 })
  })

  test('takes a client that goes away in the middle of its body for no fault of ours', async () => {
    await using door = await openTestDoor()
    const key = await door.createKey()
    const head = `POST /v1/accounts/x/echo HTTP/1.1\r\n${HOST}Authorization: Bearer ${key}\r\n`
    const socket = connect(door.port, '127.0.0.1')
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"note":`)
    await vi.waitFor(async () => expect(await door.keyUses()).toBe(1), { timeout: 60_000 })
    socket.destroy()

    await vi.waitFor(() => expect(door.answers).toEqual(['POST 400']), { timeout: 60_000 })
    expect(door.lines).toEqual([])
  })

  test('lets a request under way end when it closes, and takes no new one', async () => {
    await using door = await openTestDoor()
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

  test('cuts off at the deadline what does not end', async () => {
    await using door = await openTestDoor()
    const { entered, release } = door.hold('stuck')
    const headers = { authorization: `Bearer ${await door.createKey()}`, 'x-request-id': 'stuck' }
    const stuck = fetch(`${door.address}/v1/echo`, { headers })
    const refused = expect(stuck).rejects.toThrow()
    await entered

    await door.close({ deadlineMilliseconds: 20 })
    await refused
    release()
  })
})
