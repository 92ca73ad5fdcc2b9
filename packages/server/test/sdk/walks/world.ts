import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import type { OperationName } from '../../../../sdk/coverage.ts'
import { type Call, type Download, Waxwing } from '../../../../sdk/src/index.ts'
import { Secret } from '../../../src/kit/secret.ts'
import { type DnsServer, startDnsServer } from '../../dns-server.ts'
import { SANDBOX_APPS } from '../../graph/delegates.ts'
import { type Receiver, startReceiver } from '../../notifications/receiver.ts'
import { openTestApp, type TestApp, type TestAppOptions } from '../../open-app.ts'
import { type DovecotServer, startDovecot } from '../../servers/dovecot.ts'
import type { TestUser } from '../../servers/mail-server.ts'
import { type PostfixServer, startPostfix } from '../../servers/postfix.ts'
import { type SandboxServer, startSandbox } from '../../servers/sandbox.ts'
import { openWorld } from '../../servers/world.ts'
import { QUICK_PACE, waitForFirstSync } from '../../sync/followed-account.ts'
import { waitUntil } from '../../wait-until.ts'

/** A request as `fetch` is given it. */
interface Sent {
  method: string
  url: string
  contentType: string | null
  authorization: string | null
  body: string
}

type Bare = `${'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'} /${string}`

export interface SdkWorld extends AsyncDisposable {
  app: TestApp
  dovecot: DovecotServer
  postfix: PostfixServer
  sandbox: SandboxServer
  receiver: Receiver
  waxwing: Waxwing
  /** The client of a person who has a link and no key. */
  hosted: Waxwing
  /** The operations that were called. */
  called: Set<OperationName>
  /** The answers of each, but files. */
  answers: Map<OperationName, unknown[]>
  /**
   * Calls an operation, which must succeed with one request: the one that a bare `fetch` would send.
   * @param bare the method, and what follows `/v1`
   * @returns the body; of a read, the body that the bare `fetch` has as well
   */
  check<T>(name: OperationName, bare: Bare, call: () => Call<T>, body?: object): Promise<T>
  /** The servers of a user, as fields of an account. */
  serversOf(user: TestUser): ReturnType<typeof serversOf>
  /** An account whose first sync is done, with these messages. */
  account(messages?: readonly string[]): Promise<{ accountId: string; email: string }>
}

/** The service with Dovecot, Postfix, the sandbox, a receiver of webhooks, and a client of it. */
export async function openSdkWorld(config: TestAppOptions['config'] = {}): Promise<SdkWorld> {
  await using opened = new AsyncDisposableStack()
  const dovecot = opened.use(await startDovecot())
  const postfix = opened.use(await startPostfix(dovecot))
  const sandbox = opened.use(await startSandbox())
  const receiver = opened.use(await startReceiver())
  const dns: DnsServer = opened.use(
    await startDnsServer({ 'company.test': { MX: ['10 aspmx.l.google.com'] } }),
  )
  const app = opened.use(
    await openTestApp({
      roles: ['api', 'jobs', 'sync'],
      egressAllow: ['127.0.0.1/32'],
      allowPlaintext: true,
      pace: QUICK_PACE,
      autoconfig: { records: dns.resolver, ispdbUrl: 'https://ispdb.test/', httpsPort: 9 },
      config: {
        sandboxUrl: sandbox.controlUrl,
        ...SANDBOX_APPS,
        googleClientId: 'sandbox',
        googleClientSecret: new Secret('sandbox-secret'),
        webhookAllow: ['127.0.0.1/32'],
        webhookAllowHttp: true,
        ...config,
      },
    }),
  )
  const sent: Sent[] = []
  const recording: typeof fetch = async (...given) => {
    sent.push(await sentBy(...given))
    return fetch(...given)
  }
  const options = { baseUrl: app.address, fetch: recording, retries: 0 }
  const waxwing = new Waxwing({ ...options, key: app.key })
  const called = new Set<OperationName>()
  const answers = new Map<OperationName, unknown[]>()

  async function check<T>(name: OperationName, bare: Bare, call: () => Call<T>, body?: object): Promise<T> {
    called.add(name)
    const [method = '', path = ''] = bare.split(' ')
    const isHosted = path.startsWith('/hosted/')
    const given = new Request(`${app.address}/v1${path}`, {
      method,
      headers: {
        ...(isHosted ? {} : { authorization: `Bearer ${app.key}` }),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const before = sent.length
    const answered = await comparable(await call())
    expect({ name, sent: sent.slice(before) }).toEqual({ name, sent: [await sentBy(given.clone())] })
    if (!answered.isFile) answers.set(name, [...(answers.get(name) ?? []), answered.body])
    if (method !== 'GET') return answered.body
    // Between the two reads, a pass may change the account.
    let own = answered
    await waitUntil(`${name} to answer as a bare fetch`, async () => {
      const answer = await fetch(given.clone())
      const other = own.isFile ? await answer.bytes() : await answer.json()
      if (isDeepStrictEqual(own.compared, other)) return true
      own = await comparable(await call())
      return null
    })
    return own.body
  }

  const servers = (user: TestUser) => serversOf({ dovecot, postfix }, user)
  async function account(messages: readonly string[] = []) {
    const user = await dovecot.addUser()
    await using world = await openWorld(dovecot, user)
    await world.createMailbox('Drafts').catch(() => {})
    await world.deliver(messages.map(raw => ({ raw })))
    const { id } = await waxwing.accounts.createImap({
      email: user.email,
      password: user.password,
      ...servers(user),
    })
    await waitForFirstSync(app, id)
    return { accountId: id, email: user.email }
  }

  const owned = opened.move()
  return {
    app,
    dovecot,
    postfix,
    sandbox,
    receiver,
    waxwing,
    hosted: new Waxwing(options),
    called,
    answers,
    check,
    serversOf: servers,
    account,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function serversOf(
  { dovecot, postfix }: { dovecot: DovecotServer; postfix: PostfixServer },
  { user }: TestUser,
) {
  return {
    imap: { host: dovecot.host, port: dovecot.port, security: 'none' as const, user },
    smtp: { host: postfix.host, port: postfix.port, security: 'none' as const, user },
    appendSent: false,
  }
}

async function sentBy(...given: Parameters<typeof fetch>): Promise<Sent> {
  const request = new Request(...given)
  const { method, url, headers } = request
  const [contentType, authorization] = [headers.get('content-type'), headers.get('authorization')]
  return { method, url, contentType, authorization, body: await request.text() }
}

/** The body of an answer, and what of it can be compared: of a file, its bytes. */
async function comparable<T>(body: T): Promise<{ body: T; compared: unknown; isFile: boolean }> {
  if (!isDownload(body)) return { body, compared: body, isFile: false }
  const bytes = await body.bytes()
  return { body: { ...body, bytes: async () => bytes }, compared: bytes, isFile: true }
}

function isDownload(body: unknown): body is Download {
  return typeof body === 'object' && body !== null && 'bytes' in body && typeof body.bytes === 'function'
}
