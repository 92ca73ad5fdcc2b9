import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../../../../test/database-text.ts'
import { accountCount, eventsOf, useImapAccounts } from '../../../../test/imap-accounts.ts'
import { openTestApp, type TestTenant } from '../../../../test/open-app.ts'
import { startDovecot } from '../../../../test/servers/dovecot.ts'
import { setPastDue } from '../../tenancy/tenants/store.ts'
import type { SmtpSinkOptions } from '../../../../test/servers/smtp-sink.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { waitForLock } from '../../../../test/wait-for-lock.ts'

const mail = useImapAccounts()
const { newTenant } = useTestApp(() => mail.appOptions())

async function secretNames({ db }: TestTenant, accountId: string): Promise<string[]> {
  const secrets = db.selectFrom('account_secret').select('name').where('account_id', '=', accountId)
  return (await secrets.orderBy('name').execute()).map(({ name }) => name)
}

describe('POST /v1/imap-accounts', () => {
  test('logs in to both servers, stores the account and announces it', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)

    const made = await app.post<Account>('/v1/imap-accounts', {
      ...mail.connection(user, smtp),
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
        imap: { host: 'localhost', port: mail.dovecot.tlsPort, security: 'tls', user: user.email },
        smtp: { host: 'localhost', port: smtp.port, security: 'starttls', user: user.email },
        auth: 'password',
        appendSent: false,
        dav: null,
      },
    })
    expect(smtp.commands.filter(line => line.startsWith('AUTH'))).toHaveLength(1)
    expect((await app.get(`/v1/accounts/${made.body.id}`)).body).toEqual(made.body)
    expect(await eventsOf(app)).toMatchObject([
      {
        type: 'account.connected',
        accountId: made.body.id,
        data: { email: user.email, provider: 'imap', cloud: null, externalRef: 'crm-1', reauthorized: false },
      },
    ])
  })

  test('stores no password in plaintext, in any table or log line', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user, { password: 'canary-of-smtp' })

    const made = await app.post<Account>('/v1/imap-accounts', {
      ...mail.connection(user, smtp),
      smtpPassword: 'canary-of-smtp',
    })
    await app.post('/v1/imap-accounts', {
      ...mail.connection(user, smtp),
      email: 'b@b.test',
      password: 'canary-refused',
    })

    expect(made.status).toBe(200)
    for (const secret of [user.password, 'canary-of-smtp', 'canary-refused']) {
      expect(await tablesWith(app.db, secret)).toEqual([])
      expect(app.logLines.join('')).not.toContain(secret)
      expect(JSON.stringify(made.body)).not.toContain(secret)
    }
    expect(await secretNames(app, made.body.id)).toEqual(['imap_password', 'smtp_password'])
  })

  test('connects a read-only account', async () => {
    const app = await newTenant()

    const made = await app.post<Account>('/v1/imap-accounts', {
      ...mail.connection(await mail.dovecot.addUser()),
      smtpPassword: 'for nothing',
    })

    expect(made.body.imap).toMatchObject({ smtp: null, appendSent: true })
    expect(made.body.updatedAt >= made.body.createdAt).toBe(true)
    expect(await secretNames(app, made.body.id)).toEqual(['imap_password'])
  })

  const later: SmtpSinkOptions['behave'] = ({ step }) => (step === 'auth' ? '454 4.7.0 later' : null)
  test.each<[string, Record<string, unknown>, number, string, Partial<SmtpSinkOptions>?]>([
    ['a wrong password', { password: 'wrong' }, 400, 'login_failed'],
    ['a wrong password of the SMTP server', { smtpPassword: 'wrong' }, 400, 'login_failed'],
    [
      'calendars of a server that is down',
      { dav: { calendarUrl: 'https://localhost:9/' } },
      502,
      'provider_unavailable',
    ],
    [
      'contacts of a private server',
      { dav: { contactsUrl: 'https://10.0.0.1/' } },
      400,
      'server_not_allowed',
    ],
    [
      'contacts without TLS',
      { dav: { contactsUrl: 'http://dav.example.com/' } },
      400,
      'plaintext_not_allowed',
    ],
    ['neither half', { dav: { contactsUrl: null, calendarUrl: null } }, 400, 'invalid_input'],
    [
      'contacts that it leaves out',
      { dav: { contactsUrl: null }, settings: { contactsEnabled: true } },
      400,
      'provider_unsupported',
    ],
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
    ['an SMTP server in trouble', {}, 502, 'provider_unavailable', { behave: later }],
    ['an invalid address', { email: 'not an address' }, 400, 'invalid_input'],
    ['a URL as a host', { imap: { host: 'imaps://mail.example.com', port: 993 } }, 400, 'invalid_input'],
    ['a host with its port', { imap: { host: 'mail.example.com:993', port: 993 } }, 400, 'invalid_input'],
    ['no host', { smtp: { host: ' ', port: 465 } }, 400, 'invalid_input'],
    ['a line break in the password', { password: 'a\r\nA2 LOGOUT' }, 400, 'invalid_input'],
    ['an unknown field', { passwort: 'x' }, 400, 'invalid_input'],
  ])('refuses %s, and stores nothing', async (_, change, status, code, smtpOptions) => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user, smtpOptions)

    const answer = await app.post('/v1/imap-accounts', { ...mail.connection(user, smtp), ...change })

    expect(answer).toMatchObject({ status, body: { defined: true, code, status } })
    expect(await accountCount(app)).toBe(0)
    expect(await eventsOf(app)).toEqual([])
    if (smtpOptions && 'certificates' in smtpOptions) expect(smtp.commands.join()).not.toContain('AUTH')
  })

  test('refuses a tenant whose payment became overdue while it logged in, and stores nothing', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const [entered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using smtp = await mail.openSmtp(user, {
      behave: async ({ step }) => {
        if (step !== 'auth') return null
        entered.resolve()
        await released.promise
        return null
      },
    })
    const connecting = app.post('/v1/imap-accounts', mail.connection(user, smtp))
    await entered.promise
    await setPastDue(app.db, app.tenantId, true)
    released.resolve()

    const refused = { status: 402, body: { defined: true, code: 'billing_past_due' } }
    expect(await connecting).toMatchObject(refused)
    expect(await app.post('/v1/imap-accounts', mail.connection(user, smtp))).toMatchObject(refused)
    expect(smtp.connections).toBe(1)
    expect(await accountCount(app)).toBe(0)
    expect(await eventsOf(app)).toEqual([])
    await setPastDue(app.db, app.tenantId, false)
    expect(await app.post('/v1/imap-accounts', mail.connection(user, smtp))).toMatchObject({ status: 200 })
  })

  test('refuses a certificate of an untrusted authority, and sends no password', async () => {
    await using app = await mail.openApp({ certificateAuthority: mail.dovecot.ca ?? '' })
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)

    const answer = await app.post('/v1/imap-accounts', mail.connection(user, smtp))

    expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(String(answer.body['message'])).toMatch(/^SMTP: No secure connection/)
    expect(smtp.commands.join()).not.toContain('AUTH')
  })

  test('gives advice if the port does not use TLS', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)
    const tls = { host: 'localhost', security: 'tls' }
    for (const servers of [
      { imap: { ...tls, port: mail.dovecot.port } },
      { smtp: { ...tls, port: smtp.port } },
    ]) {
      const { body } = await app.post('/v1/imap-accounts', { ...mail.connection(user), ...servers })
      expect(body['message']).toMatch(
        /^(?:IMAP|SMTP): No secure connection to the server: it does not speak TLS/,
      )
      expect(body['message']).toMatch(/Use security starttls, or the port for TLS\.$/)
    }
  })

  test('answers alike for all private targets, and connects to none of them', async () => {
    await using app = await openTestApp({ resolve: async () => ['127.0.0.1'] })
    const user = await mail.dovecot.addUser()
    await using canary = await mail.openSmtp(user)
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
    const askEachPort = async (host: string) => {
      // The service takes 16 requests of a key at once.
      const tenant = await app.createTenant()
      const ask = (port: number) =>
        tenant.post('/v1/imap-accounts', { ...mail.connection(user), imap: { host, port } })
      for (const { status, body } of await Promise.all(ports.map(ask)))
        bodies.add(JSON.stringify([status, body]).replace(` for ${host}, `, ' for HOST, '))
    }
    await Promise.all([...hosts, 'rebind.example.com', 'metadata', '127.0.0.1.'].map(askEachPort))
    expect([...bodies]).toHaveLength(1)
    expect([...bodies][0]).toContain('server_not_allowed')
    expect([...bodies][0]).toContain(
      'No public address was found for HOST, or this service may not connect to it.',
    )
    expect(canary.connections).toBe(0)
    // The operator gets the details that the caller does not.
    expect(app.logLines.join('')).toContain('169.254.169.254, which is not public')
  })

  test('answers alike, and after the same time, for a private name and one that does not exist', async () => {
    const unknown = Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' })
    await using app = await openTestApp({
      resolve: async name => (name === 'inside.example.com' ? ['10.0.0.1'] : Promise.reject(unknown)),
    })
    const user = await mail.dovecot.addUser()
    const ask = async (host: string, port: number) => {
      const startedAt = performance.now()
      const { status, body } = await app.post('/v1/imap-accounts', {
        ...mail.connection(user),
        imap: { host, port },
      })
      const { message } = body as { message: string }
      expect(message).toContain(`for ${host}, or`)
      return {
        answer: [status, { ...body, message: message.replace(host, 'HOST') }],
        seconds: Math.floor((performance.now() - startedAt + 10) / 1000),
      }
    }
    const askBoth = (port: number) =>
      Promise.all([ask('inside.example.com', port), ask('nowhere.example.com', port)])
    for (const [inside, nowhere] of await Promise.all([993, 22].map(askBoth))) {
      expect(inside.answer).toEqual(nowhere.answer)
      expect(inside.answer).toMatchObject([400, { code: 'server_not_allowed' }])
      expect(Math.min(inside.seconds, nowhere.seconds)).toBeGreaterThanOrEqual(1)
    }
    expect(app.logLines.join('')).toContain('nowhere.example.com does not resolve')
  })

  test('answers with a temporary failure if the name server does not work', async () => {
    const trouble = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' })
    await using app = await openTestApp({ resolve: () => Promise.reject(trouble) })
    const user = await mail.dovecot.addUser()
    const connection = { ...mail.connection(user), imap: { host: 'imap.example.com', port: 993 } }
    const { status, body } = await app.post('/v1/imap-accounts', connection)
    expect({ status, body }).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
  })

  test('sends no password to an IMAP server that no longer offers STARTTLS', async () => {
    const app = await newTenant()
    await using bare = await startDovecot()
    const user = await bare.addUser()

    const answer = await app.post('/v1/imap-accounts', {
      ...mail.connection(user),
      imap: { host: 'localhost', port: bare.port, security: 'starttls' },
    })

    expect(answer).toMatchObject({ status: 400, body: { code: 'provider_unsupported' } })
  })

  test('uses TLS from the first byte, STARTTLS, or plaintext if the operator allows it', async () => {
    await using app = await mail.openApp({ allowPlaintext: true })
    for (const [imap, security] of [
      [{ port: mail.dovecot.tlsPort, security: 'tls' }, 'tls'],
      [{ port: mail.dovecot.port, security: 'starttls' }, 'starttls'],
      [{ port: mail.dovecot.port, security: 'none' }, 'none'],
    ] as const) {
      const user = await mail.dovecot.addUser()
      await using smtp = await mail.openSmtp(user, { isImplicitTls: security === 'tls' })

      const made = await app.post('/v1/imap-accounts', {
        ...mail.connection(user),
        imap: { host: 'localhost', ...imap },
        smtp: { host: 'localhost', port: smtp.port, security },
      })

      expect(made.status, security).toBe(200)
      expect(smtp.commands.includes('STARTTLS')).toBe(security === 'starttls')
    }
  })

  test('refuses a tenant whose payment becomes overdue during the login', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const answer = await app.db.transaction().execute(async billing => {
      await setPastDue(billing, app.tenantId, true)
      const posted = app.post('/v1/imap-accounts', mail.connection(user))
      await waitForLock(app.db)
      return { posted }
    })
    expect(await answer.posted).toMatchObject({ status: 402, body: { code: 'billing_past_due' } })
    expect(await accountCount(app)).toBe(0)
  })

  test('creates one account for a mailbox, for simultaneous requests and any spelling', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const spellings = [user.email, user.email.toUpperCase(), user.email, user.email, user.email.toUpperCase()]

    const answers = await Promise.all(
      spellings.map(email =>
        app.post('/v1/imap-accounts', {
          ...mail.connection(user),
          email,
          imap: { host: 'localhost', port: mail.dovecot.tlsPort, security: 'tls', user: user.user },
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
    const again = await app.post('/v1/imap-accounts', mail.connection(user))
    expect(again.status).toBe(200)
    expect(again.body['id']).not.toBe(id)
  })
})
