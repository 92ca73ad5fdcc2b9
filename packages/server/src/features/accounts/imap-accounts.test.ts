import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Account } from '@waxwing/contract/accounts.ts'
import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, type TestAppOptions, openTestApp } from '../../../test/open-app.ts'
import { tablesWith } from '../../../test/database-text.ts'
import { startDnsServer } from '../../../test/dns-server.ts'
import { startHttpsServer } from '../../../test/https-server.ts'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { makeCertificates } from '../../../test/servers/certificate.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../../../test/servers/mail-server.ts'
import { type SmtpServer, type SmtpServerOptions, startSmtpServer } from '../../../test/smtp-server.ts'

let dovecot: MailServer
let certificates: string
let authorities: string

beforeAll(async () => {
  dovecot = await startDovecot({ tls: true })
  certificates = await mkdtemp(join(tmpdir(), 'waxwing-certificates-'))
  authorities = `${dovecot.ca}\n${await makeCertificates(certificates)}`
})
afterAll(async () => {
  await dovecot[Symbol.asyncDispose]()
  await rm(certificates, { recursive: true })
})

/** The API alone, which may reach the servers of this test and trusts their certificates. */
function openApp(options: TestAppOptions = {}): Promise<TestApp> {
  return openTestApp({
    egressAllow: ['localhost'],
    resolve: async () => ['127.0.0.1'],
    certificateAuthority: authorities,
    ...options,
  })
}

function openSmtp(user: TestUser, options: Partial<SmtpServerOptions> = {}): Promise<SmtpServer> {
  return startSmtpServer({ user: user.user, password: user.password, certificates, ...options })
}

function connection(user: TestUser, smtp: SmtpServer | null = null) {
  return {
    email: user.email,
    password: user.password,
    imap: { host: 'localhost', port: dovecot.tlsPort, security: 'tls' },
    smtp: smtp && { host: 'localhost', port: smtp.port, security: 'starttls' },
  }
}

async function eventsOf(app: TestApp): Promise<ChangeEvent[]> {
  const { body } = await app.get<{ items: ChangeEvent[] }>('/v1/changes?limit=200')
  return body.items
}

async function accountCount(app: TestApp): Promise<number> {
  const { body } = await app.get<{ items: Account[] }>('/v1/accounts')
  return body.items.length
}

describe('POST /v1/imap-accounts', () => {
  test('logs in to both servers, stores the account and announces it', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)

    const made = await app.post<Account>('/v1/imap-accounts', {
      ...connection(user, smtp),
      displayName: 'Ada',
      externalRef: 'crm-1',
      settings: { syncWindowDays: null, trackOpens: true },
      appendSent: false,
    })

    expect(made.status).toBe(200)
    expect(made.body).toMatchObject({
      provider: 'imap',
      email: user.email,
      displayName: 'Ada',
      externalRef: 'crm-1',
      status: 'active',
      statusReason: null,
      auth: { method: 'password' },
      settings: { syncWindowDays: null, trackOpens: true, calendarEnabled: false, contactsEnabled: false },
      settingsOverride: { syncWindowDays: null, trackOpens: true },
      runtime: null,
      initializedAt: null,
      imap: {
        imap: { host: 'localhost', port: dovecot.tlsPort, security: 'tls', user: user.email },
        smtp: { host: 'localhost', port: smtp.port, security: 'starttls', user: user.email },
        auth: 'password',
        appendSent: false,
        dav: null,
      },
    })
    expect(smtp.lines.filter(line => line.startsWith('AUTH'))).toHaveLength(1)
    expect((await app.get(`/v1/accounts/${made.body.id}`)).body).toEqual(made.body)
    expect(await eventsOf(app)).toMatchObject([
      {
        type: 'account.connected',
        accountId: made.body.id,
        data: { email: user.email, provider: 'imap', cloud: null, externalRef: 'crm-1', reauthorized: false },
      },
    ])
  })

  test('keeps no password in the clear, in no table and no log line', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user, { password: 'canary-of-smtp' })

    const made = await app.post<Account>('/v1/imap-accounts', {
      ...connection(user, smtp),
      smtpPassword: 'canary-of-smtp',
    })
    await app.post('/v1/imap-accounts', {
      ...connection(user, smtp),
      email: 'b@b.test',
      password: 'canary-refused',
    })

    expect(made.status).toBe(200)
    for (const secret of [user.password, 'canary-of-smtp', 'canary-refused']) {
      expect(await tablesWith(app.db, secret)).toEqual([])
      expect(app.logLines.join('')).not.toContain(secret)
      expect(JSON.stringify(made.body)).not.toContain(secret)
    }
    const { rows } = await app.database.pool.query('select name from account_secret order by name')
    expect(rows).toEqual([{ name: 'imap_password' }, { name: 'smtp_password' }])
  })

  test('connects an account that only reads', async () => {
    await using app = await openApp()

    const made = await app.post<Account>('/v1/imap-accounts', {
      ...connection(await dovecot.addUser()),
      smtpPassword: 'for nothing',
    })

    expect(made.body.imap).toMatchObject({ smtp: null, appendSent: true })
    expect(made.body.updatedAt >= made.body.createdAt).toBe(true)
    const { rows } = await app.database.pool.query('select name from account_secret')
    expect(rows).toEqual([{ name: 'imap_password' }])
  })

  test.each<[string, Record<string, unknown>, number, string, Partial<SmtpServerOptions>?]>([
    ['a wrong password', { password: 'wrong' }, 400, 'login_failed'],
    ['a wrong password of the SMTP server', { smtpPassword: 'wrong' }, 400, 'login_failed'],
    ['calendars', { dav: { calendarUrl: 'https://dav.example.com/' } }, 400, 'provider_unsupported'],
    ['calendars in the settings', { settings: { calendarEnabled: true } }, 400, 'provider_unsupported'],
    ['shared mailboxes', { settings: { sharedMailboxesEnabled: true } }, 400, 'provider_unsupported'],
    ['a honeypot alone', { settings: { trackingHoneypot: true } }, 400, 'honeypot_needs_click_tracking'],
    [
      'no encryption',
      { imap: { host: 'localhost', port: 143, security: 'none' } },
      400,
      'plaintext_not_allowed',
    ],
    ['a private server', { imap: { host: '127.0.0.1', port: 993 } }, 400, 'server_not_allowed'],
    ['a private SMTP server', { smtp: { host: '10.0.0.1', port: 465 } }, 400, 'server_not_allowed'],
    ['an unusual port', { imap: { host: 'mail.example.com', port: 22 } }, 400, 'server_not_allowed'],
    ['a server that is down', { imap: { host: 'localhost', port: 9 } }, 502, 'provider_unavailable'],
    ['an SMTP server without STARTTLS', {}, 400, 'provider_unsupported', { certificates: undefined }],
    ['an SMTP server in trouble', {}, 502, 'provider_unavailable', { authAnswer: '454 4.7.0 later' }],
    ['a name of no account', { email: 'not an address' }, 400, 'invalid_input'],
    ['a URL for a host', { imap: { host: 'imaps://mail.example.com', port: 993 } }, 400, 'invalid_input'],
    ['a host with its port', { imap: { host: 'mail.example.com:993', port: 993 } }, 400, 'invalid_input'],
    ['no host', { smtp: { host: ' ', port: 465 } }, 400, 'invalid_input'],
    ['a line break in the password', { password: 'a\r\nA2 LOGOUT' }, 400, 'invalid_input'],
    ['an unknown field', { passwort: 'x' }, 400, 'invalid_input'],
  ])('refuses %s, and stores nothing', async (_, change, status, code, smtpOptions) => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user, smtpOptions)

    const answer = await app.post('/v1/imap-accounts', { ...connection(user, smtp), ...change })

    expect(answer).toMatchObject({ status, body: { defined: true, code, status } })
    expect(await accountCount(app)).toBe(0)
    expect(await eventsOf(app)).toEqual([])
    if (smtpOptions && 'certificates' in smtpOptions) expect(smtp.lines.join()).not.toContain('AUTH')
  })

  test('refuses a certificate that nobody trusted vouches for, and sends no password', async () => {
    await using app = await openApp({ certificateAuthority: dovecot.ca ?? '' })
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)

    const answer = await app.post('/v1/imap-accounts', connection(user, smtp))

    expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(String(answer.body['message'])).toMatch(/^SMTP: No secure connection/)
    expect(smtp.lines.join()).not.toContain('AUTH')
  })

  test('says what to do where the port does not speak TLS', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)
    const tls = { host: 'localhost', security: 'tls' }
    for (const servers of [{ imap: { ...tls, port: dovecot.port } }, { smtp: { ...tls, port: smtp.port } }]) {
      const { body } = await app.post('/v1/imap-accounts', { ...connection(user), ...servers })
      expect(body['message']).toMatch(
        /^(?:IMAP|SMTP): No secure connection to the server: it does not speak TLS/,
      )
      expect(body['message']).toMatch(/Use security starttls, or the port for TLS\.$/)
    }
  })

  test('answers alike for whatever private target, and connects to none of them', async () => {
    await using app = await openTestApp({ resolve: async () => ['127.0.0.1'] })
    const user = await dovecot.addUser()
    await using canary = await openSmtp(user)
    const hosts = [
      '127.0.0.1',
      'localhost',
      '169.254.169.254',
      '[::1]',
      '::ffff:127.0.0.1',
      '0x7f.1',
      '2130706433',
    ]
    const ports = [canary.port, 22, 143, 465, 587, 993, 5432]
    const bodies = new Set<string>()
    for (const host of [...hosts, 'rebind.example.com', 'metadata', '127.0.0.1.']) {
      for (const port of ports) {
        const answer = await app.post('/v1/imap-accounts', { ...connection(user), imap: { host, port } })
        bodies.add(JSON.stringify([answer.status, answer.body]))
      }
    }
    expect([...bodies]).toHaveLength(1)
    expect([...bodies][0]).toContain('server_not_allowed')
    expect(canary.connections).toBe(0)
    // The operator is told what the caller is not.
    expect(app.logLines.join('')).toContain('169.254.169.254, which is not public')
  })

  test('sends no password to an IMAP server that lost its STARTTLS', async () => {
    await using app = await openApp()
    await using bare = await startDovecot()
    const user = await bare.addUser()

    const answer = await app.post('/v1/imap-accounts', {
      ...connection(user),
      imap: { host: 'localhost', port: bare.port, security: 'starttls' },
    })

    expect(answer).toMatchObject({ status: 400, body: { code: 'provider_unsupported' } })
  })

  test('speaks TLS from the first octet, STARTTLS, and in the clear where the operator allows it', async () => {
    await using app = await openApp({ allowPlaintext: true })
    for (const [imap, security] of [
      [{ port: dovecot.tlsPort, security: 'tls' }, 'tls'],
      [{ port: dovecot.port, security: 'starttls' }, 'starttls'],
      [{ port: dovecot.port, security: 'none' }, 'none'],
    ] as const) {
      const user = await dovecot.addUser()
      await using smtp = await openSmtp(user, { isImplicitTls: security === 'tls' })

      const made = await app.post('/v1/imap-accounts', {
        ...connection(user),
        imap: { host: 'localhost', ...imap },
        smtp: { host: 'localhost', port: smtp.port, security },
      })

      expect(made.status, security).toBe(200)
      expect(smtp.lines.includes('STARTTLS')).toBe(security === 'starttls')
    }
  })

  test('makes one account of a mailbox, however many ask for it at once and however it is spelt', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    const spellings = [user.email, user.email.toUpperCase(), user.email, user.email, user.email.toUpperCase()]

    const answers = await Promise.all(
      spellings.map(email =>
        app.post('/v1/imap-accounts', {
          ...connection(user),
          email,
          imap: { host: 'localhost', port: dovecot.tlsPort, security: 'tls', user: user.user },
        }),
      ),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409])
    const id = String(answers.find(({ status }) => status === 200)?.body['id'])
    for (const { body } of answers.filter(({ status }) => status === 409)) {
      expect(body).toMatchObject({ code: 'account_exists', message: expect.stringContaining(id) })
    }
    expect((await eventsOf(app)).map(({ type }) => type)).toEqual(['account.connected'])

    await app.delete(`/v1/accounts/${id}`)
    const again = await app.post('/v1/imap-accounts', connection(user))
    expect(again.status).toBe(200)
    expect(again.body['id']).not.toBe(id)
  })
})

describe('POST /v1/imap-accounts without servers', () => {
  /** An app that finds the file of `dovecot.test`; null: no file. */
  async function openSearching(file: string | null) {
    await using opened = new AsyncDisposableStack()
    const web = opened.use(await startHttpsServer(certificates))
    if (file !== null) web.pages['localhost/v1.1/dovecot.test'] = file
    const dns = opened.use(await startDnsServer())
    const autoconfig = { records: dns.resolver, ispdbUrl: `https://localhost:${web.port}/v1.1/` }
    const resolve = async (name: string) => (name === 'localhost' ? ['127.0.0.1'] : [])
    const app = opened.use(await openApp({ autoconfig, resolve }))
    const owned = opened.move()
    return { app, web, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  }

  function serverXml(type: 'imap' | 'smtp', port: number | null): string {
    const name = type === 'imap' ? 'incomingServer' : 'outgoingServer'
    const security = type === 'imap' ? 'SSL' : 'STARTTLS'
    return `<${name} type="${type}"><hostname>localhost</hostname><port>${port}</port>
      <socketType>${security}</socketType><username>%EMAILADDRESS%</username></${name}>`
  }

  const fileOf = (...servers: string[]) =>
    `<clientConfig version="1.1"><emailProvider id="x">${servers.join('')}</emailProvider></clientConfig>`

  test('finds both, and logs in to them', async () => {
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)
    const file = fileOf(serverXml('imap', dovecot.tlsPort), serverXml('smtp', smtp.port))
    await using world = await openSearching(file)

    const made = await world.app.post<Account>('/v1/imap-accounts', {
      email: user.email,
      password: user.password,
    })

    expect(made.status).toBe(200)
    expect(made.body.imap).toMatchObject({
      imap: { host: 'localhost', port: dovecot.tlsPort, security: 'tls', user: user.email },
      smtp: { host: 'localhost', port: smtp.port, security: 'starttls', user: user.email },
    })
    expect(smtp.lines.filter(line => line.startsWith('AUTH'))).toHaveLength(1)
  })

  test('finds only the one that is missing', async () => {
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)
    await using world = await openSearching(fileOf(serverXml('imap', 9), serverXml('smtp', smtp.port)))
    const named = { email: user.email, password: user.password, imap: connection(user).imap }

    const readOnly = await world.app.post<Account>('/v1/imap-accounts', { ...named, smtp: null })
    expect(readOnly.body.imap?.smtp).toBeNull()
    expect(world.web.connections).toBe(0)
    await world.app.delete(`/v1/accounts/${readOnly.body.id}`)

    const made = await world.app.post<Account>('/v1/imap-accounts', named)
    expect(made.body.imap).toMatchObject({ imap: { port: dovecot.tlsPort }, smtp: { port: smtp.port } })
  })

  test('is refused where one is not found', async () => {
    const user = await dovecot.addUser()
    const login = { email: user.email, password: user.password }
    await using nothing = await openSearching(null)
    await using noSmtp = await openSearching(fileOf(serverXml('imap', dovecot.tlsPort)))

    for (const { app } of [nothing, noSmtp]) {
      const answer = await app.post('/v1/imap-accounts', login)
      expect(answer).toMatchObject({ status: 422, body: { code: 'autodiscovery_failed' } })
      expect(await accountCount(app)).toBe(0)
    }
    expect((await noSmtp.app.post('/v1/imap-accounts', { ...login, smtp: null })).status).toBe(200)
  })
})

describe('PATCH /v1/accounts/{accountId}/imap-settings', () => {
  async function connect(app: TestApp, user: TestUser, smtp: SmtpServer | null = null) {
    const { body } = await app.post<Account>('/v1/imap-accounts', connection(user, smtp))
    return { account: body, path: `/v1/accounts/${body.id}/imap-settings` }
  }

  test('changes nothing where a login fails', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)
    const { account, path } = await connect(app, user, smtp)
    const before = await app.database.pool.query('select name, sealed from account_secret order by name')

    const answers = [
      await app.patch(path, { password: 'wrong', appendSent: false }),
      await app.patch(path, { imap: { host: 'localhost', port: 9 } }),
      await app.patch(path, { smtpPassword: 'wrong' }),
      await app.patch(path, { imap: { host: '127.0.0.1', port: 993 }, password: user.password }),
      await app.patch(path, { smtp: { host: 'localhost', port: 587, security: 'none' } }),
      await app.patch(path, { dav: { user: 'x' } }),
    ]

    expect(answers.map(({ body }) => body['code'])).toEqual([
      'login_failed',
      'provider_unavailable',
      'login_failed',
      'server_not_allowed',
      'plaintext_not_allowed',
      'provider_unsupported',
    ])
    expect((await app.get(`/v1/accounts/${account.id}`)).body).toEqual(account)
    const after = await app.database.pool.query('select name, sealed from account_secret order by name')
    expect(after.rows).toEqual(before.rows)
    expect(await eventsOf(app)).toHaveLength(1)
  })

  test.each(['reauth_required', 'disabled', 'paused', 'active'] as const)(
    'takes a password that logs in for a new grant: from %s',
    async status => {
      await using app = await openApp()
      const user = await dovecot.addUser()
      const { account, path } = await connect(app, user)
      await app.db
        .updateTable('account')
        .set({ status, status_reason: status === 'active' ? null : 'some_reason' })
        .where('id', '=', account.id)
        .execute()
      const renewed = await dovecot.setPassword(user, 'another one')

      const answer = await app.patch<Account>(path, { password: renewed.password })

      const isStillPaused = status === 'paused'
      expect(answer.body.status).toBe(isStillPaused ? 'paused' : 'active')
      expect(answer.body.statusReason).toBe(isStillPaused ? 'some_reason' : null)
      const [, ...events] = await eventsOf(app)
      const isCleared = status === 'reauth_required' || status === 'disabled'
      expect(events).toMatchObject([
        ...(isCleared ? [{ type: 'account.updated', data: { changes: ['status', 'statusReason'] } }] : []),
        { type: 'account.connected', data: { email: user.email, reauthorized: true } },
      ])
      const row = await app.db.selectFrom('account').select('sync_wanted').executeTakeFirstOrThrow()
      expect(row.sync_wanted).toEqual(['restart'])
    },
  )

  test('replaces and removes servers, trying only what changes, with the stored password', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)
    await using other = await openSmtp(user, { password: 'of its own' })
    const { path } = await connect(app, user, smtp)

    const moved = await app.patch<Account>(path, {
      imap: { host: 'localhost', port: dovecot.port },
      smtp: { host: 'localhost', port: other.port },
      smtpPassword: 'of its own',
    })
    expect(moved.body.imap).toMatchObject({
      imap: { port: dovecot.port, security: 'starttls', user: user.user },
      smtp: { port: other.port, security: 'starttls', user: user.user },
    })
    const connections = other.connections
    const quiet = await app.patch<Account>(path, { appendSent: false, password: user.password })
    expect(quiet.body.imap).toMatchObject({ appendSent: false })
    expect(other.connections).toBe(connections)

    const back = await app.patch<Account>(path, {
      smtp: { host: 'localhost', port: smtp.port },
      smtpPassword: null,
    })
    expect(back.body.imap?.smtp?.port).toBe(smtp.port)
    const removed = await app.patch<Account>(path, { smtp: null })
    expect(removed.body.imap?.smtp).toBeNull()
    const { rows } = await app.database.pool.query('select name from account_secret')
    expect(rows).toEqual([{ name: 'imap_password' }])
    const changes = (await eventsOf(app)).filter(({ type }) => type === 'account.updated')
    expect(changes.map(({ data }) => data['changes'])).toEqual([['imap'], ['imap'], ['imap'], ['imap']])
  })

  test('sends a stored password to no host that it was not given for', async () => {
    await using app = await openApp({ egressAllow: ['localhost', 'elsewhere.test'] })
    const user = await dovecot.addUser()
    await using smtp = await openSmtp(user)
    await using elsewhere = await openSmtp(user)
    const { path } = await connect(app, user, smtp)
    const imapElsewhere = { imap: { host: 'elsewhere.test', port: elsewhere.port } }
    const smtpElsewhere = { smtp: { host: 'elsewhere.test', port: elsewhere.port } }
    const refused = async (body: Record<string, unknown>, field: string) =>
      expect(await app.patch(path, body)).toMatchObject({
        status: 400,
        body: { code: 'password_required', message: expect.stringContaining(`Send ${field} `) },
      })

    await refused(imapElsewhere, 'password')
    await refused(smtpElsewhere, 'password')
    await refused({ ...imapElsewhere, smtpPassword: user.password }, 'password')
    await refused({ ...smtpElsewhere, smtpPassword: null }, 'password')
    // With a password of its own the SMTP server no longer knows the other one.
    await app.patch(path, { smtpPassword: user.password })
    await refused(smtpElsewhere, 'smtpPassword')
    await refused({ ...smtpElsewhere, password: user.password }, 'smtpPassword')
    await app.patch(path, { smtp: { host: 'LOCALHOST', port: smtp.port }, smtpPassword: user.password })
    await app.patch(path, { smtp: null })
    await refused(smtpElsewhere, 'password')

    expect(elsewhere.connections).toBe(0)
    const near = await app.patch<Account>(path, { smtp: { host: 'localhost', port: elsewhere.port } })
    expect(near.body.imap?.smtp?.port).toBe(elsewhere.port)
  })

  test('takes another host with the password, where its certificate fits', async () => {
    await using app = await openApp({ egressAllow: ['localhost', '127.0.0.1'] })
    const user = await dovecot.addUser()
    const { path } = await connect(app, user)
    const imap = { host: '127.0.0.1', port: dovecot.tlsPort, security: 'tls' }

    expect((await app.patch(path, { imap })).body['code']).toBe('password_required')
    const moved = await app.patch<Account>(path, { imap, password: user.password })

    expect(moved.body.imap?.imap.host).toBe('127.0.0.1')
  })

  test('asks for the password before it goes to a host that knows only the other one', async () => {
    await using app = await openApp({ egressAllow: ['localhost', 'elsewhere.test'], allowPlaintext: true })
    const user = await dovecot.addUser()
    const { path } = await connect(app, user)
    await using smtp = await openSmtp(user, { password: 'of its own' })
    const elsewhere = { host: 'elsewhere.test', port: smtp.port, security: 'none' }
    const made = await app.patch<Account>(path, { smtp: elsewhere, smtpPassword: 'of its own' })
    const connections = smtp.connections

    const answer = await app.patch(path, { smtpPassword: null })

    expect(made.body.imap?.smtp?.host).toBe('elsewhere.test')
    expect(answer).toMatchObject({ status: 400, body: { code: 'password_required' } })
    expect(smtp.connections).toBe(connections)
  })

  test('reads servers and passwords of one moment, whatever happens between', async () => {
    await using app = await openApp({ egressAllow: ['localhost', 'elsewhere.test'], allowPlaintext: true })
    const user = await dovecot.addUser()
    const { path } = await connect(app, user)
    await using smtp = await openSmtp(user, { password: 'of its own' })
    const elsewhere = { host: 'elsewhere.test', port: smtp.port, security: 'none' }
    await app.patch(path, { smtp: elsewhere, smtpPassword: 'of its own' })

    const asked = await app.db.transaction().execute(async tx => {
      await sql`lock table account_secret in access exclusive mode`.execute(tx)
      const answer = app.patch(path, { smtp: { ...elsewhere, user: 'another' } })
      const waiting = sql<{ count: number }>`
        select count(*)::integer as count from pg_locks
        where not granted and relation = 'account_secret'::regclass`
      await expect.poll(async () => (await waiting.execute(tx)).rows[0]?.count).toBe(1)
      // As another request would that takes the SMTP server away, and the password that it alone knows.
      await sql`update account set imap = jsonb_set(imap, '{smtp}', 'null')`.execute(tx)
      await sql`delete from account_secret where name = 'smtp_password'`.execute(tx)
      return { answer }
    })

    expect((await asked.answer).status).not.toBe(200)
    const sent = smtp.lines.map(line => Buffer.from(line.split(' ')[2] ?? '', 'base64').toString())
    expect(sent.join()).not.toContain(user.password)
  })

  test('refuses an account whose password is gone, another kind of account, and one that is deleted', async () => {
    await using app = await openApp()
    const { account, path } = await connect(app, await dovecot.addUser())
    await app.db.deleteFrom('account_secret').execute()
    const gmail = await sampleAccount(app.db, app.tenantId, {
      provider: 'gmail',
      imap: null,
      auth_method: 'oauth',
    })
    const port = dovecot.port

    expect((await app.patch(path, { imap: { host: 'localhost', port } })).body['code']).toBe(
      'password_not_stored',
    )
    expect((await app.patch(`/v1/accounts/${gmail.id}/imap-settings`, {})).body['code']).toBe(
      'not_imap_account',
    )
    await app.delete(`/v1/accounts/${account.id}`)
    expect((await app.patch(path, {})).body['code']).toBe('account_not_found')
  })

  test('refuses a change that was tried with what another one replaced meanwhile', async () => {
    await using app = await openApp()
    const user = await dovecot.addUser()
    const { path } = await connect(app, user)
    const { promise: authHold, resolve: letGo } = Promise.withResolvers<void>()
    await using smtp = await openSmtp(user, { authHold })

    const slow = app.patch(path, { smtp: { host: 'localhost', port: smtp.port } })
    await expect.poll(() => smtp.lines.some(line => line.startsWith('AUTH'))).toBe(true)
    const quick = await app.patch(path, { password: user.password })
    letGo()

    expect(quick.status).toBe(200)
    expect(await slow).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
  })
})
