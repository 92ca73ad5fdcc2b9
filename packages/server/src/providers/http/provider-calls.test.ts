import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pauseFor } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type HttpsServer, startHttpsServer } from '../../../test/https-server.ts'
import { makeCertificates } from '../../../test/servers/certificate.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { type EgressGuard, egressGuard } from '../../kit/egress/guard.ts'
import { ProviderFailure } from '../failure.ts'
import { AnswerUnread } from './exchange.ts'
import { type ProviderCall, ProviderCalls } from './provider-calls.ts'
import { retryAfterSeconds } from './retry-after.ts'

const HOST = 'mail.own.test'
let certificates: string
let authority: string

beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'waxwing-calls-'))
  authority = await makeCertificates(certificates, [HOST])
})
afterAll(() => rm(certificates, { recursive: true }))

/** Lets the calls reach a port of this machine in place of the host's 443. */
function guardTo(port: number): EgressGuard {
  const allowed = egressGuard({
    allow: parseEgressAllow(['127.0.0.1/32']),
    resolve: async () => ['127.0.0.1'],
  })
  return { resolve: target => allowed.resolve({ ...target, port }) }
}

const callsTo = (web: HttpsServer) =>
  new ProviderCalls({ guard: guardTo(web.port), authorities: trustAlso(authority), standIns: null })

const get = (path: string, more: Partial<ProviderCall> = {}): ProviderCall => ({
  host: HOST,
  method: 'GET',
  path,
  ...more,
})

async function failureOf(work: Promise<unknown>): Promise<ProviderFailure> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof ProviderFailure)) throw new Error('No ProviderFailure', { cause: error })
  return error
}

/** A server that sends the given text unencrypted, and calls in which it stands in for the host. */
async function startRaw(serve: (socket: Socket, count: number) => void) {
  let count = 0
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket, (count += 1))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const calls = new ProviderCalls({
    guard: guardTo(port),
    authorities: undefined,
    standIns: new Map([[HOST, new URL(`http://127.0.0.1:${port}`)]]),
  })
  return {
    calls,
    connections: () => count,
    async [Symbol.asyncDispose]() {
      await calls[Symbol.asyncDispose]()
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

describe('a call', () => {
  test('brings status, headers and content, and reuses its connection', async () => {
    await using web = await startHttpsServer(certificates)
    await using calls = callsTo(web)
    web.pages[`${HOST}/a`] = (_, response) => response.writeHead(404, { 'retry-after': '7' }).end('no')
    // undici frees a connection shortly after the answer was read.
    await waitUntil('a call over a connection that is there', async () => {
      const before = web.connections
      const { status, headers, content } = await calls.call(get('/a?b=c'))
      expect([status, headers['retry-after'], content.toString()]).toEqual([404, '7', 'no'])
      return before > 0 && web.connections === before
    })
    expect(web.requests[0]).toBe(`GET ${HOST}/a?b=c`)
  })

  test('follows no redirect', async () => {
    await using web = await startHttpsServer(certificates)
    await using calls = callsTo(web)
    web.pages[`${HOST}/a`] = (_, response) => response.writeHead(302, { location: '/b' }).end()
    expect((await calls.call(get('/a'))).status).toBe(302)
    expect(web.requests).toHaveLength(1)
  })

  test('is not sent to a server whose certificate is not trusted', async () => {
    await using web = await startHttpsServer(certificates)
    await using calls = new ProviderCalls({
      guard: guardTo(web.port),
      authorities: undefined,
      standIns: null,
    })
    const failure = await failureOf(calls.call(get('/a', { method: 'POST', body: 'x' })))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    expect(web.requests).toEqual([])
  })

  test('is not sent to a server whose certificate has another name', async () => {
    await using web = await startHttpsServer(certificates)
    await using calls = callsTo(web)
    const failure = await failureOf(calls.call(get('/a', { host: 'other.own.test' })))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
  })

  test('is not sent to an address that the guard refuses', async () => {
    const guard = egressGuard({ allow: parseEgressAllow([]), resolve: async () => ['10.0.0.1'] })
    await using calls = new ProviderCalls({ guard, authorities: undefined, standIns: null })
    const failure = await failureOf(calls.call(get('/a')))
    expect(failure).toMatchObject({ kind: 'not_allowed', isBeforeAcceptance: true })
  })

  test('goes only to hosts that have a stand-in, if there are any', async () => {
    await using raw = await startRaw(socket => socket.end('HTTP/1.1 204 No Content\r\n\r\n'))
    expect((await raw.calls.call(get('/a'))).status).toBe(204)
    const failure = await failureOf(raw.calls.call(get('/a', { host: 'other.own.test' })))
    expect(failure).toMatchObject({ kind: 'not_allowed', isBeforeAcceptance: true })
  })

  test('marks its outcome as open if the answer never begins', async () => {
    await using raw = await startRaw(() => {})
    const failure = await failureOf(
      raw.calls.call(get('/a', { method: 'POST', body: 'x', firstByteSeconds: 0.2 })),
    )
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
  })

  test('ends with its signal', async () => {
    const stop = new AbortController()
    await using raw = await startRaw(socket => socket.once('data', () => stop.abort()))
    const failure = await failureOf(raw.calls.call(get('/a', { signal: stop.signal })))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    const unsent = await failureOf(raw.calls.call(get('/a', { signal: stop.signal })))
    expect(unsent.isBeforeAcceptance).toBe(true)
  })

  test('bounds an answer that never ends in bytes and in time', async () => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n'
    await using raw = await startRaw(socket => {
      socket.on('data', data => {
        const isEndless = data.includes('/endless')
        socket.write(head)
        if (isEndless) socket.write(Buffer.alloc(300_000))
      })
    })
    const endless = await failureOf(raw.calls.call(get('/endless', { answerBytesMax: 200_000 })))
    expect(endless.message).toBe('The provider sent more than an answer may have.')
    const slow = await failureOf(raw.calls.call(get('/slow', { wholeSeconds: 0.3 })))
    expect(slow.message).toBe('The provider took too long.')
  })

  test.each([
    ['a header that is too large', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(40_000)}\r\n\r\n`],
    ['what is not HTTP', 'SSH-2.0-OpenSSH_9\r\n'],
    ['an answer that is torn', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'],
  ])('fails with %s', async (_, answer) => {
    await using raw = await startRaw(socket => socket.once('data', () => socket.end(answer)))
    const failure = await failureOf(raw.calls.call(get('/a', { isRepeatable: false })))
    expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
  })

  test('is repeated on another connection only if it may be', async () => {
    // Each connection answers once, and is closed without notice when it is used again.
    await using raw = await startRaw(socket => {
      let answered = 0
      socket.on('data', () => {
        if (answered++ === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')
        else socket.destroy()
      })
    })
    await raw.calls.call(get('/a'))
    expect((await raw.calls.call(get('/a'))).content.toString()).toBe('ok')
    expect(raw.connections()).toBe(2)
    const failure = await failureOf(raw.calls.call(get('/a', { method: 'POST', body: 'x' })))
    expect(failure.isBeforeAcceptance).toBe(false)
  })

  test('rejects with the error of a body that fails', async () => {
    await using web = await startHttpsServer(certificates)
    await using calls = callsTo(web)
    web.pages[`${HOST}/a`] = (request, response) => request.resume().on('end', () => response.end('ok'))
    async function* body(fails: boolean) {
      yield Buffer.from('ab')
      if (fails) throw new Error('The blob is gone')
      yield Buffer.from('cd')
    }
    const post = (fails: boolean) =>
      calls.call(get('/a', { method: 'POST', headers: { 'content-length': '4' }, body: body(fails) }))
    expect((await post(false)).content.toString()).toBe('ok')
    await expect(post(true)).rejects.toThrow('The blob is gone')
  })

  test('streams content no faster than it is read, and ends when it is disposed of', async () => {
    const bytes = 64 * 1024 * 1024
    let written = 0
    let isClosed = false
    await using raw = await startRaw(socket => {
      socket.on('close', () => (isClosed = true))
      socket.once('data', () => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`)
        const fill = () => {
          while (written < bytes && !socket.destroyed) {
            written += 65_536
            if (!socket.write(Buffer.alloc(65_536))) return
          }
        }
        socket.on('drain', fill)
        fill()
      })
    })
    {
      await using answer = await raw.calls.open(get('/a', { answerBytesMax: bytes }))
      for await (const chunk of answer.content) {
        expect(chunk.length).toBeGreaterThan(0)
        break
      }
      expect(written).toBeLessThan(bytes)
    }
    await expect.poll(() => isClosed).toBe(true)
  })

  test('ends content whose reader pauses for too long in all, however short each pause is', async () => {
    const bytes = 16 * 1024 * 1024
    await using raw = await startRaw(socket => {
      socket.once('data', () =>
        socket.write(
          Buffer.concat([
            Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes}\r\n\r\n`),
            Buffer.alloc(bytes),
          ]),
        ),
      )
    })
    await using answer = await raw.calls.open(get('/a', { answerBytesMax: bytes, unreadSeconds: 0.3 }))
    let isReceived = false
    void answer.received.then(() => (isReceived = true))
    let read = 0
    const reading = (async () => {
      for await (const chunk of answer.content) {
        read += chunk.length
        // As long as a slow client takes for a piece.
        await pauseFor(20)
      }
    })()
    await expect(reading).rejects.toBeInstanceOf(AnswerUnread)
    expect([isReceived, read > 0, read < bytes]).toEqual([true, true, true])
  })

  test.each([
    ['with a length', 'content-length: 65536\r\n', 65_536],
    ['that ends with its connection', '', 65_536],
    ['that is cut off', 'content-length: 65537\r\n', null],
  ])('outlives its connection %s', async (_, header, bytes) => {
    let isClosed = false
    await using raw = await startRaw(socket => {
      socket.once('close', () => (isClosed = true))
      const head = `HTTP/1.1 200 OK\r\nconnection: close\r\n${header}\r\n`
      socket.once('data', () => socket.end(head + 'x'.repeat(65_536)))
    })
    await using answer = await raw.calls.open(get('/'))
    await waitUntil('the server has closed the connection', async () => isClosed)
    const read = Array.fromAsync(answer.content)

    if (bytes === null) await expect(read).rejects.toMatchObject({ kind: 'unavailable' })
    else expect(Buffer.concat(await read)).toHaveLength(bytes)
  })

  test('has received all before it is read, if it is small', async () => {
    await using raw = await startRaw(socket =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok')),
    )
    await using answer = await raw.calls.open(get('/a', { wholeSeconds: 0.5 }))
    await answer.received
    const chunks = []
    for await (const chunk of answer.content) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe('ok')
  })
})

test.each([
  ['120', 120],
  ['0', 0],
  ['999999999', 86_400],
  ['Thu, 01 Jan 1970 00:01:30 GMT', 30],
  ['Thu, 01 Jan 1970 00:00:30 GMT', 0],
  ['soon', null],
  [undefined, null],
])('retryAfterSeconds reads %s', (value, seconds) => {
  expect(retryAfterSeconds({ 'retry-after': value }, 60_000)).toBe(seconds)
})
