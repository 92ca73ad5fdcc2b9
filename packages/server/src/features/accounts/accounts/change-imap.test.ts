import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { eventsOf, useImapAccounts } from '../../../../test/imap-accounts.ts'
import type { TestTenant } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import type { TestUser } from '../../../../test/servers/mail-server.ts'
import type { SmtpSink } from '../../../../test/servers/smtp-sink.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const mail = useImapAccounts()
const { newTenant } = useTestApp(() => mail.appOptions())

async function secretsOf({ db }: TestTenant, accountId: string) {
  const secrets = db.selectFrom('account_secret').select(['name', 'sealed'])
  return secrets.where('account_id', '=', accountId).orderBy('name').execute()
}

describe('PATCH /v1/accounts/{accountId}/imap-settings', () => {
  async function connect(app: TestTenant, user: TestUser, smtp: SmtpSink | null = null) {
    const { body } = await app.post<Account>('/v1/imap-accounts', mail.connection(user, smtp))
    return { account: body, path: `/v1/accounts/${body.id}/imap-settings` }
  }

  test('changes nothing if a login fails', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)
    const { account, path } = await connect(app, user, smtp)
    const before = await secretsOf(app, account.id)

    const answers = [
      await app.patch(path, { password: 'wrong', appendSent: false }),
      await app.patch(path, { imap: { host: 'localhost', port: 9 } }),
      await app.patch(path, { smtpPassword: 'wrong' }),
      await app.patch(path, { imap: { host: '127.0.0.1', port: 993 }, password: user.password }),
      await app.patch(path, { smtp: { host: 'localhost', port: 587, security: 'none' } }),
      await app.patch(path, { dav: { contactsUrl: 'https://dav.example.com/' } }),
      await app.patch(path, { dav: { contactsUrl: null, calendarUrl: null } }),
    ]

    expect(answers.map(({ body }) => body['code'])).toEqual([
      'login_failed',
      'provider_unavailable',
      'login_failed',
      'server_not_allowed',
      'plaintext_not_allowed',
      'password_required',
      'invalid_input',
    ])
    expect((await app.get(`/v1/accounts/${account.id}`)).body).toEqual(account)
    expect(await secretsOf(app, account.id)).toEqual(before)
    expect(await eventsOf(app)).toHaveLength(1)
  })

  test.each(['reauth_required', 'disabled', 'paused', 'active'] as const)(
    'treats a password that works as a new grant: from %s',
    async status => {
      const app = await newTenant()
      const user = await mail.dovecot.addUser()
      const { account, path } = await connect(app, user)
      await app.db
        .updateTable('account')
        .set({ status, status_reason: status === 'active' ? null : 'some_reason' })
        .where('id', '=', account.id)
        .execute()
      const renewed = await mail.dovecot.setPassword(user, 'another one')

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
      const row = app.db.selectFrom('account_half').select('sync_wanted').where('account_id', '=', account.id)
      expect((await row.executeTakeFirstOrThrow()).sync_wanted).toEqual(['restart'])
    },
  )

  test('replaces and removes servers, and checks only the changed ones, with the stored password', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)
    await using other = await mail.openSmtp(user, { password: 'of its own' })
    const { account, path } = await connect(app, user, smtp)

    const moved = await app.patch<Account>(path, {
      imap: { host: 'localhost', port: mail.dovecot.port },
      smtp: { host: 'localhost', port: other.port },
      smtpPassword: 'of its own',
    })
    expect(moved.body.imap).toMatchObject({
      imap: { port: mail.dovecot.port, security: 'starttls', user: user.user },
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
    expect(await secretsOf(app, account.id)).toMatchObject([{ name: 'imap_password' }])
    const changes = (await eventsOf(app)).filter(({ type }) => type === 'account.updated')
    expect(changes.map(({ data }) => data['changes'])).toEqual([['imap'], ['imap'], ['imap'], ['imap']])
  })

  test('sends a stored password only to the host that it was given for', async () => {
    await using app = await mail.openApp({ egressAllow: ['localhost', 'elsewhere.test'] })
    const user = await mail.dovecot.addUser()
    await using smtp = await mail.openSmtp(user)
    await using elsewhere = await mail.openSmtp(user)
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
    // The SMTP server has its own password now, so the IMAP password no longer suffices.
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

  test('accepts another host together with the password, if its certificate is valid', async () => {
    await using app = await mail.openApp({ egressAllow: ['localhost', '127.0.0.1'] })
    const user = await mail.dovecot.addUser()
    const { path } = await connect(app, user)
    const imap = { host: '127.0.0.1', port: mail.dovecot.tlsPort, security: 'tls' }

    expect((await app.patch(path, { imap })).body['code']).toBe('password_required')
    const moved = await app.patch<Account>(path, { imap, password: user.password })

    expect(moved.body.imap?.imap.host).toBe('127.0.0.1')
  })

  /** An account whose SMTP server, at another host, has a password of its own. */
  async function openElsewhere() {
    await using opened = new AsyncDisposableStack()
    const egressAllow = ['localhost', 'elsewhere.test']
    const app = opened.use(await mail.openApp({ egressAllow, allowPlaintext: true }))
    const user = await mail.dovecot.addUser()
    const { path } = await connect(app, user)
    const smtp = opened.use(await mail.openSmtp(user, { password: 'of its own' }))
    const elsewhere = { host: 'elsewhere.test', port: smtp.port, security: 'none' }
    const made = await app.patch<Account>(path, { smtp: elsewhere, smtpPassword: 'of its own' })
    const owned = opened.move()
    return { app, user, path, smtp, elsewhere, made, [Symbol.asyncDispose]: () => owned.disposeAsync() }
  }

  test('requires the SMTP password before it uses a host that was given only the other one', async () => {
    await using world = await openElsewhere()
    const { app, path, smtp, made } = world
    const connections = smtp.connections

    const answer = await app.patch(path, { smtpPassword: null })

    expect(made.body.imap?.smtp?.host).toBe('elsewhere.test')
    expect(answer).toMatchObject({ status: 400, body: { code: 'password_required' } })
    expect(smtp.connections).toBe(connections)
  })

  test('reads servers and passwords from one snapshot', async () => {
    await using world = await openElsewhere()
    const { app, user, path, smtp, elsewhere } = world

    const asked = await app.db.transaction().execute(async tx => {
      await sql`lock table account_secret in access exclusive mode`.execute(tx)
      const answer = app.patch(path, { smtp: { ...elsewhere, user: 'another' } })
      const waiting = sql<{ count: number }>`
        select count(*)::integer as count from pg_locks
        where not granted and relation = 'account_secret'::regclass`
      await expect.poll(async () => (await waiting.execute(tx)).rows[0]?.count).toBe(1)
      // Acts like another request that removes the SMTP server and its own password.
      await sql`update account set imap = jsonb_set(imap, '{smtp}', 'null')`.execute(tx)
      await sql`delete from account_secret where name = 'smtp_password'`.execute(tx)
      return { answer }
    })

    expect((await asked.answer).status).not.toBe(200)
    const sent = smtp.commands.map(line => Buffer.from(line.split(' ')[2] ?? '', 'base64').toString())
    expect(sent.join()).not.toContain(user.password)
  })

  test('refuses an account without a password, an account of another kind, and a deleted one', async () => {
    const app = await newTenant()
    const { account, path } = await connect(app, await mail.dovecot.addUser())
    await app.db.deleteFrom('account_secret').where('account_id', '=', account.id).execute()
    const gmail = await sampleAccount(app.db, app.tenantId, {
      provider: 'gmail',
      imap: null,
      auth_method: 'oauth',
    })
    const port = mail.dovecot.port

    expect((await app.patch(path, { imap: { host: 'localhost', port } })).body['code']).toBe(
      'password_not_stored',
    )
    expect((await app.patch(`/v1/accounts/${gmail.id}/imap-settings`, {})).body['code']).toBe(
      'not_imap_account',
    )
    await app.delete(`/v1/accounts/${account.id}`)
    expect((await app.patch(path, {})).body['code']).toBe('account_not_found')
  })

  test('refuses a change whose servers or passwords another request replaced meanwhile', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const { path } = await connect(app, user)
    const { promise: authHold, resolve: letGo } = Promise.withResolvers<void>()
    await using smtp = await mail.openSmtp(user)
    smtp.behave = ({ step }) => (step === 'auth' ? authHold.then(() => null) : null)

    const slow = app.patch(path, { smtp: { host: 'localhost', port: smtp.port } })
    await expect.poll(() => smtp.commands.some(line => line.startsWith('AUTH'))).toBe(true)
    const quick = await app.patch(path, { password: user.password })
    letGo()

    expect(quick.status).toBe(200)
    expect(await slow).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
  })
})
