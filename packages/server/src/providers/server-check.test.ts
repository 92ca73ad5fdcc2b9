import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer, TLSSocket } from 'node:tls'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { makeCertificates } from '../../test/servers/certificate.ts'
import { parseEgressAllow } from '../kit/egress/allow-list.ts'
import { egressGuard } from '../kit/egress/guard.ts'
import { serverCheck } from './server-check.ts'

const GREETINGS = { imap: '* OK ready\r\n', smtp: '220 ready\r\n' } as const
const KINDS = ['imap', 'smtp'] as const
/** All tests wait at once for the times of a check. */
vi.setConfig({ maxConcurrency: 10 })
/** Delay of servers that catch clients which send too early. */
const DELAYED_GREETING_MS = 6_000
const check = serverCheck({
  guard: egressGuard({ allow: parseEgressAllow(['127.0.0.1/32']) }),
  clientName: '[127.0.0.1]',
  allowPlaintext: true,
})

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waxwing-check-'))
  await makeCertificates(folder)
})
afterAll(() => rm(folder, { recursive: true }))

const certificate = () => ({
  key: readFileSync(join(folder, 'server.key')),
  cert: readFileSync(join(folder, 'server.crt')),
})

/** A server on a port for TLS, which greets after the handshake; without `isTls`, one in plain text. */
async function startServer({ isTls, greet }: { isTls: boolean; greet(socket: Socket | TLSSocket): void }) {
  const sockets = new Set<Socket>()
  const serve = (socket: Socket) => {
    socket.on('error', () => {})
    greet(socket)
  }
  const server = isTls ? createTlsServer(certificate(), serve) : createServer(serve)
  server.on('tlsClientError', () => {})
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connectionCount: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

const tryLogin = (kind: 'imap' | 'smtp', port: number, security: 'tls' | 'starttls' | 'none') =>
  check[kind]({ host: '127.0.0.1', port, security, user: 'ada' }, 'secret')

describe.concurrent.each(KINDS)('a check of an %s server', kind => {
  test.each(['starttls', 'none'] as const)('with %s reports that the port is one for TLS', async security => {
    await using server = await startServer({ isTls: true, greet: socket => socket.write(GREETINGS[kind]) })

    await expect(tryLogin(kind, server.port, security)).rejects.toMatchObject({
      kind: 'unsupported',
      message: `${kind.toUpperCase()}: The server speaks TLS from the start on port ${server.port}. Use security tls, or another port.`,
    })
    expect(server.connectionCount()).toBe(2)
  })

  test('with tls reports that the port is not one for TLS', async () => {
    await using server = await startServer({ isTls: false, greet: socket => socket.write(GREETINGS[kind]) })

    await expect(tryLogin(kind, server.port, 'tls')).rejects.toMatchObject({
      message: expect.stringMatching(
        /it does not speak TLS from the start on this port\. Use security starttls/,
      ),
    })
  })

  test('waits for a greeting that comes late, and does not take the server for one that speaks TLS', async () => {
    const late: Socket[] = []
    await using server = await startServer({
      isTls: false,
      greet(socket) {
        late.push(socket)
        // The second connection begins a handshake. Only then does the first one get its greeting.
        if (late.length === 2) socket.once('data', () => late[0]!.write(GREETINGS[kind]))
        socket.on('data', data => {
          if (socket !== late[0]) return void socket.end('500 what?\r\n')
          const tag = data.toString('latin1').split(' ')[0]
          socket.write(kind === 'imap' ? `${tag} NO [UNAVAILABLE] not now\r\n` : '421 not now\r\n')
        })
      },
    })

    await expect(tryLogin(kind, server.port, 'none')).rejects.toThrow(/not now/)
    expect(server.connectionCount()).toBe(2)
  })

  test('waits for a greeting from a port that speaks TLS as well', async () => {
    const accepted: Socket[] = []
    await using server = await startServer({
      isTls: false,
      greet(socket) {
        accepted.push(socket)
        if (accepted.length === 2) {
          const secured = new TLSSocket(socket, { isServer: true, ...certificate() })
          secured.on('error', () => {})
          secured.resume()
          // Only after the handshake does the first connection get its greeting.
          secured.once('close', () => accepted[0]!.write(GREETINGS[kind]))
          return
        }
        socket.on('data', data => {
          const tag = data.toString('latin1').split(' ')[0]
          socket.write(kind === 'imap' ? `${tag} NO [UNAVAILABLE] not now\r\n` : '421 not now\r\n')
        })
      },
    })

    await expect(tryLogin(kind, server.port, 'none')).rejects.toThrow(/not now/)
    expect(server.connectionCount()).toBe(2)
  })

  test('sends nothing to a server that delays its greeting', async () => {
    await using server = await startServer({
      isTls: false,
      greet(socket) {
        socket.on('data', data => {
          const tag = data.toString('latin1').split(' ')[0]
          socket.write(kind === 'imap' ? `${tag} NO [UNAVAILABLE] not now\r\n` : '421 not now\r\n')
        })
        setTimeout(() => socket.write(GREETINGS[kind]), DELAYED_GREETING_MS)
      },
    })

    await expect(tryLogin(kind, server.port, 'none')).rejects.toThrow(/not now/)
    expect(server.connectionCount()).toBe(1)
  })
})
