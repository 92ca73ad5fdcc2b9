import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { waitUntil } from '../../../test/wait-until.ts'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { egressGuard } from '../../kit/egress/guard.ts'
import { checkSmtp } from './check.ts'

const guard = egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) })
const SENT_BYTES_MAX = 16 * 1024 * 1024

async function startServer(serve: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A server that sends the same text without end, from the beginning or after the client's first word. */
async function startFlood(text: string, greeting: string | null) {
  let sent = 0
  const server = await startServer(socket => {
    const chunk = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)))
    const pour = () => {
      if (!socket.writable) return
      sent += chunk.length
      if (socket.write(chunk)) setImmediate(pour)
    }
    socket.on('drain', pour)
    if (greeting === null) return pour()
    socket.write(greeting)
    socket.once('data', pour)
  })
  return { ...server, sent: () => sent }
}

const check = (port: number) =>
  checkSmtp(
    { guard, clientName: '[127.0.0.1]' },
    { host: '127.0.0.1', port, security: 'none', user: 'someone' },
    'secret',
  )

const TOO_MUCH = 'The server sends more than was asked for.'
const NO_SMTP = 'The server sent something that is not SMTP.'

test.each([
  ['empty lines', '\r\n', null, /do not answer as an SMTP server/],
  ['a greeting of endless lines', '220-welcome\r\n', null, TOO_MUCH],
  ['greeting after greeting', '220 welcome\r\n', null, TOO_MUCH],
  ['a line without end', 'x', null, TOO_MUCH],
  ['endless extensions', '250-SIZE\r\n', '220 ready\r\n', TOO_MUCH],
  ['empty lines in place of extensions', '\n', '220 ready\r\n', NO_SMTP],
])('a server that sends %s is given up early', async (_, text, greeting, message) => {
  await using server = await startFlood(text, greeting)

  await expect(check(server.port)).rejects.toThrow(message)

  expect(server.sent()).toBeLessThan(SENT_BYTES_MAX)
})

/** Simulates the clock of all time limits. Intervals, by which a server drips, keep the real one. */
function simulateTime() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  vi.spyOn(AbortSignal, 'timeout').mockImplementation(milliseconds => {
    const over = new AbortController()
    setTimeout(() => over.abort(new DOMException('The time is up.', 'TimeoutError')), milliseconds)
    return over.signal
  })
}

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('gives up a server that drips its greeting after 20 seconds', async () => {
  let drops = 0
  await using server = await startServer(socket => {
    const timer = setInterval(() => {
      drops++
      socket.write('2')
    }, 50)
    socket.on('close', () => clearInterval(timer))
  })
  const untilDropsCome = (seen = drops) => waitUntil('more of the greeting', async () => drops > seen + 2)
  simulateTime()

  let failure: unknown = null
  check(server.port).catch((error: unknown) => {
    failure = error
  })
  await untilDropsCome()
  await vi.advanceTimersByTimeAsync(19_000)
  await untilDropsCome()
  expect(failure).toBe(null)
  await vi.advanceTimersByTimeAsync(1_000)
  await waitUntil('the end of the check', async () => failure !== null)
  expect(failure).toMatchObject({
    kind: 'unavailable',
    message: 'The server did not answer within 20 seconds.',
  })
})

test.each([
  [
    'what another service says',
    'SSH-2.0-OpenSSH_9.2\r\n',
    'unsupported',
    /^This host and port do not answer as an SMTP server/,
  ],
  ['a refusal, printable', '554 go\u001b[2J away\r\n', 'unavailable', /: 554 go \[2J away$/],
  ['a refusal, cut', `554 ${'x'.repeat(5000)}\r\n`, 'unavailable', /^.{200,250}$/],
])('describes a greeting to callers: %s', async (_, greeting, kind, message) => {
  await using server = await startServer(socket => socket.write(greeting))

  await expect(check(server.port)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) })
})
