import { AsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import type { WebhookAttempt } from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../open-app.ts'
import { makeCertificates } from '../servers/certificate.ts'
import { waitUntil } from '../wait-until.ts'
import { createEndpoint, listAttempts } from './open-webhooks.ts'

/** Treatment of a connection by a receiver once the first bytes of a request have arrived. */
type Manner = (socket: Socket) => void

const ok = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
const say =
  (...texts: string[]): Manner =>
  socket => {
    for (const text of texts) socket.write(text)
  }
/** Writes a byte each second. */
const drip =
  (first: string): Manner =>
  socket => {
    socket.write(first)
    const timer = setInterval(() => socket.write('x'), 1_000)
    socket.on('close', () => clearInterval(timer))
  }

let sent = 0
const flood: Manner = socket => {
  socket.write(`${ok}content-length: 1073741824\r\n\r\n`)
  const block = Buffer.alloc(65_536, 'x')
  const more = () => {
    while (!socket.destroyed && socket.writableLength < block.length) {
      sent += block.length
      if (!socket.write(block)) break
    }
  }
  socket.on('drain', more)
  more()
}

/** Each receiver, and the attempt that the API shows of it. */
const MANNERS: Record<string, { manner: Manner; shown: Partial<WebhookAttempt> }> = {
  'never answers': { manner: () => {}, shown: { statusCode: null, error: 'timeout' } },
  'drips its headers': { manner: drip(`${ok}x: `), shown: { statusCode: null, error: 'timeout' } },
  'drips its content': {
    manner: drip(`${ok}content-length: 1000\r\n\r\nthanks`),
    shown: { statusCode: 200, error: null, responseExcerpt: expect.stringMatching(/^thanksx+$/) },
  },
  'resets the connection': {
    manner: socket => socket.resetAndDestroy(),
    shown: { statusCode: null, error: 'connection_reset' },
  },
  'closes the connection': {
    manner: socket => socket.end(),
    shown: { statusCode: null, error: 'connection_reset' },
  },
  'sends a gigabyte': {
    manner: flood,
    shown: { statusCode: 200, error: null, responseExcerpt: 'x'.repeat(1_000) },
  },
  'sends a gigabyte of headers': {
    manner: say(ok, ...Array.from({ length: 100 }, (_, index) => `x-${index}: ${'y'.repeat(1_000)}\r\n`)),
    shown: { statusCode: null, error: 'invalid_answer' },
  },
  'sends garbage': {
    manner: say('\u0000\u0001 garbage\r\n\r\n'),
    shown: { statusCode: null, error: 'invalid_answer' },
  },
  'answers like a mail server': {
    manner: say('220 mail ESMTP\r\n'),
    shown: { statusCode: null, error: 'invalid_answer' },
  },
  'switches protocols': {
    manner: say('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    shown: { statusCode: null, error: 'invalid_answer' },
  },
  'gives early hints before its answer': {
    manner: say('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n', `${ok}content-length: 2\r\n\r\nok`),
    shown: { statusCode: 200, error: null, responseExcerpt: 'ok' },
  },
  'sends more than it announced': {
    manner: say(`${ok}content-length: 2\r\n\r\nok HTTP/1.1 500 No\r\n\r\n`),
    shown: { statusCode: 200, error: null, responseExcerpt: 'ok' },
  },
  'sends a compressed bomb': {
    manner: say(
      'HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\u001F\u008B\b',
    ),
    shown: { statusCode: 200, error: null, responseExcerpt: null },
  },
  'answers 410': {
    manner: say('HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n'),
    shown: { statusCode: 410, error: null, responseExcerpt: null },
  },
  'answers 429': {
    manner: say('HTTP/1.1 429 Slow down\r\nretry-after: 5\r\ncontent-length: 0\r\n\r\n'),
    shown: { statusCode: 429, error: null },
  },
  'answers with control characters': {
    manner: say(
      'HTTP/1.1 500 No\r\ncontent-type: text/html\r\ncontent-length: 16\r\n\r\n<b>\u001B[31m\r\nr\u00E9d\u0000</b>',
    ),
    shown: { statusCode: 500, error: null, responseExcerpt: expect.stringMatching(/^<b>\[31m r/) },
  },
}

/** Bound to the file, which closes them: the service may hold a connection for longer than a test. */
const listen = AsyncResource.bind(async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
})

let app: TestApp
let certificates = ''
const opened = new AsyncDisposableStack()

async function serve(manner: Manner, secure: 'trusted' | 'old' | null = null): Promise<number> {
  const onConnection = (socket: Socket) => {
    socket.on('error', () => {})
    socket.once('data', () => manner(socket))
  }
  const key = await readFile(join(certificates, 'server.key'))
  const cert = await readFile(join(certificates, 'server.crt'))
  const old =
    secure === 'old'
      ? ({ maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const)
      : {}
  const server = secure ? createTlsServer({ key, cert, ...old }, onConnection) : createServer(onConnection)
  server.on('tlsClientError', () => {})
  opened.defer(() => void server.close())
  return listen(server)
}

beforeAll(async () => {
  certificates = await mkdtemp(join(tmpdir(), 'waxwing-webhooks-'))
  opened.defer(() => rm(certificates, { recursive: true }))
  const authority = await makeCertificates(certificates, ['hooks.example.com'])
  app = opened.use(
    await openTestApp({
      roles: ['api', 'jobs'],
      certificateAuthority: authority,
      config: { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true },
      resolve: name => resolve(name),
    }),
  )
})
afterAll(() => opened.disposeAsync())

const addresses: Record<string, string[]> = {}
const resolve = (name: string): Promise<string[]> => {
  const found = addresses[name]
  return found
    ? Promise.resolve(found)
    : Promise.reject(Object.assign(new Error(name), { code: 'ENOTFOUND' }))
}

/** Posts one event to a URL. @returns its attempt, once it is in the log */
async function tryOnce(url: string, name?: string): Promise<WebhookAttempt> {
  if (name) addresses[name] = ['127.0.0.1']
  const { endpoint } = await createEndpoint(app, url)
  if (name && /unknown/.test(name)) delete addresses[name]
  await app.post(`/v1/webhooks/${endpoint.id}/test`, {})
  const [attempt] = await waitUntil(`an attempt at ${url}`, async () => {
    const attempts = await listAttempts(app, endpoint.id)
    return attempts.length > 0 && attempts
  })
  return attempt!
}

describe('an attempt', () => {
  test.concurrent.for(Object.entries(MANNERS))(
    'is in the log when the receiver %s',
    async ([, { manner, shown }], { expect: expectHere }) => {
      const attempt = await tryOnce(`http://127.0.0.1:${await serve(manner)}/hook`)
      expectHere(attempt).toMatchObject({ attempt: 1, isTest: true, responseExcerpt: null, ...shown })
    },
  )

  test('takes only the beginning of a gigabyte', async () => {
    await tryOnce(`http://127.0.0.1:${await serve(flood)}/hook`)
    // The limit is what fits into the buffers of both ends of some connections.
    expect(sent).toBeLessThan(64 * 1024 * 1024)
  })

  test('does not follow a redirect', async () => {
    let visits = 0
    const elsewhere = await serve(() => visits++)
    const target = `HTTP/1.1 307 Elsewhere\r\nlocation: http://127.0.0.1:${elsewhere}/\r\ncontent-length: 0\r\n\r\n`
    expect(await tryOnce(`http://127.0.0.1:${await serve(say(target))}/hook`)).toMatchObject({
      statusCode: 307,
    })
    expect(visits).toBe(0)
  })

  test.each<[string, () => Promise<[url: string, name?: string]>, Partial<WebhookAttempt>]>([
    [
      'is refused',
      async () => {
        const port = await serve(() => {})
        const closed = createServer()
        const free = await listen(closed)
        closed.close()
        return [`http://127.0.0.1:${free === port ? 1 : free}/`]
      },
      { error: 'connection_refused' },
    ],
    [
      'has the certificate of a trusted authority',
      async () => [
        `https://hooks.example.com:${await serve(say(`${ok}content-length: 0\r\n\r\n`), 'trusted')}/`,
        'hooks.example.com',
      ],
      { statusCode: 200, error: null },
    ],
    [
      'has the certificate of another name',
      async () => [`https://other.example.com:${await serve(() => {}, 'trusted')}/`, 'other.example.com'],
      { error: 'tls_failed' },
    ],
    [
      'speaks only an old TLS',
      async () => [`https://hooks.example.com:${await serve(() => {}, 'old')}/`, 'hooks.example.com'],
      { error: 'tls_failed' },
    ],
    [
      'speaks no TLS',
      async () => [
        `https://hooks.example.com:${await serve(say('HTTP/1.1 400 No\r\n\r\n'))}/`,
        'hooks.example.com',
      ],
      { error: 'tls_failed' },
    ],
    [
      'has a name that does not exist any more',
      async () => ['https://unknown.example.com:8443/', 'unknown.example.com'],
      { error: 'dns_failed' },
    ],
  ])('shows when the receiver %s', async (_, prepare, shown) => {
    expect(await tryOnce(...(await prepare()))).toMatchObject({ statusCode: null, ...shown })
  })
})
