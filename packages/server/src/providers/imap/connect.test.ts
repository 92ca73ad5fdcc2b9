import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { trustAlso } from '../../kit/authorities.ts'
import { connectImap, type ImapEndpoint } from './connect.ts'

const server = useServer(() => startDovecot({ tls: true }))
const never = new AbortController().signal
/** Time that a server may take to greet. */
const GREETING_MILLISECONDS = 30_000

async function connectTo(endpoint: Partial<ImapEndpoint>, signal = never) {
  const user = await server().addUser()
  const { host, port, ca } = server()
  const { client } = await connectImap(
    {
      addresses: [host],
      servername: 'localhost',
      port,
      security: 'starttls',
      authorities: trustAlso(ca),
      ...endpoint,
    },
    user,
    signal,
  )
  client.close()
  return client
}

/** A minimal server: it answers each line of the client with the result of `answer`. */
async function openImpostor(greeting: string, answer: (line: string) => string) {
  const lines: string[] = []
  const sockets = new Set<Socket>()
  const listener = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.write(greeting)
    socket.on('data', bytes => {
      for (const line of bytes.toString('latin1').split('\r\n').filter(Boolean)) {
        lines.push(line)
        socket.write(answer(line))
      }
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    lines,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      listener.close()
      await once(listener, 'close')
    },
  }
}

const tagOf = (line: string) => line.split(' ')[0]

describe('connectImap', () => {
  test.each(['tls', 'starttls', 'none'] as const)('logs in with %s', async security => {
    const port = security === 'tls' ? (server().tlsPort ?? 0) : server().port
    const client = await connectTo({ security, port })
    expect(client.secureConnection).toBe(security !== 'none')
  })

  test.each([
    ['SMTP', '220 mail.example.com ESMTP ready\r\n'],
    ['SMTP in several lines', '220-mail.example.com ESMTP\r\n220 ready\r\n'],
    ['SMTP of few words', '220 ready\r\n'],
    ['POP3', '+OK POP3 ready <1.2@mail.example.com>\r\n'],
    ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ])('reports at once that %s answers', async (_, greeting) => {
    await using impostor = await openImpostor(greeting, () => '')
    await expect(connectTo({ port: impostor.port })).rejects.toMatchObject({
      kind: 'unsupported',
      message: `The server on port ${impostor.port} is not an IMAP server. Check host and port.`,
    })
    expect(impostor.lines).toEqual([])
  })

  test.each([
    ['of an authority that is not trusted', { authorities: undefined }],
    ['of another name', { servername: 'mail.example.com' }],
  ])('refuses a certificate %s', async (_, endpoint) => {
    await expect(
      connectTo({ security: 'tls', port: server().tlsPort ?? 0, ...endpoint }),
    ).rejects.toMatchObject({ kind: 'unavailable' })
    await expect(connectTo(endpoint)).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('reports a wrong password as login_failed', async () => {
    const { host, port } = server()
    const endpoint = { addresses: [host], servername: 'localhost', port, security: 'none' } as const
    await expect(connectImap(endpoint, { user: 'nobody', password: 'wrong' }, never)).rejects.toMatchObject({
      kind: 'login_failed',
    })
  })

  test('sends nothing secret to a server that does not offer STARTTLS', async () => {
    await using impostor = await openImpostor(
      '* OK ready\r\n',
      line => `* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n${tagOf(line)} OK done\r\n`,
    )

    await expect(connectTo({ port: impostor.port })).rejects.toMatchObject({ kind: 'unsupported' })

    expect(impostor.lines.map(line => line.split(' ')[1])).toEqual(['CAPABILITY'])
  })

  test('sends nothing secret to a server that claims to be logged in already', async () => {
    await using impostor = await openImpostor(
      '* PREAUTH welcome\r\n',
      line => `* CAPABILITY IMAP4rev1\r\n${tagOf(line)} OK done\r\n`,
    )

    await expect(connectTo({ port: impostor.port })).rejects.toMatchObject({ kind: 'unsupported' })
  })

  test('refuses a server that sends data between its consent to STARTTLS and the handshake', async () => {
    await using impostor = await openImpostor('* OK ready\r\n', line =>
      line.endsWith('STARTTLS')
        ? `${tagOf(line)} OK begin\r\n* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n2 OK injected\r\n`
        : `* CAPABILITY IMAP4rev1 STARTTLS AUTH=PLAIN\r\n${tagOf(line)} OK done\r\n`,
    )

    await expect(connectTo({ port: impostor.port })).rejects.toMatchObject({ kind: 'unavailable' })

    expect(impostor.lines.map(line => line.split(' ')[1])).toEqual(['CAPABILITY', 'STARTTLS'])
  })

  test('ends when the signal aborts', async () => {
    await using impostor = await openImpostor('', () => '')
    const begunAt = performance.now()

    await expect(connectTo({ port: impostor.port }, AbortSignal.timeout(100))).rejects.toMatchObject({
      kind: 'unavailable',
    })
    await expect(connectTo({ port: impostor.port }, AbortSignal.abort())).rejects.toMatchObject({
      kind: 'unavailable',
    })

    expect(performance.now() - begunAt).toBeLessThan(GREETING_MILLISECONDS)
  })
})
