import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { accountCount, eventsOf, useImapAccounts } from '../../../../test/imap-accounts.ts'
import type { TestTenant } from '../../../../test/open-app.ts'
import type { TestUser } from '../../../../test/servers/mail-server.ts'
import { startPostfix } from '../../../../test/servers/postfix.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const mail = useImapAccounts()

describe('the SMTP server of an account, a Postfix', () => {
  const postfix = useServer(() => startPostfix(mail.dovecot, { tls: true }))
  const { newTenant } = useTestApp(() =>
    mail.appOptions({ certificateAuthority: `${mail.authorities}\n${postfix().ca}` }),
  )
  const starttls = () => ({ host: 'localhost', port: postfix().port, security: 'starttls' })
  const implicit = () => ({ host: 'localhost', port: postfix().tlsPort, security: 'tls' })

  function connect(app: TestTenant, user: TestUser, more: Record<string, unknown>) {
    return app.post<Account>('/v1/imap-accounts', { ...mail.connection(user), ...more })
  }

  test.each([
    ['by STARTTLS', starttls],
    ['by TLS', implicit],
  ])('is logged in to %s', async (_, server) => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const { status, body } = await connect(app, user, { smtp: server() })
    expect(status).toBe(200)
    expect(body.imap?.smtp).toEqual({ ...server(), user: user.user })
  })

  test.each<[string, () => Record<string, unknown>, number, string, string]>([
    [
      'a wrong password',
      () => ({ smtp: starttls(), smtpPassword: 'wrong' }),
      400,
      'login_failed',
      'SMTP: The server refused the login.',
    ],
    [
      'a user that it does not know',
      () => ({ smtp: { ...implicit(), user: 'nobody' } }),
      400,
      'login_failed',
      'SMTP: The server refused the login.',
    ],
    [
      'TLS on the port of STARTTLS',
      () => ({ smtp: { ...implicit(), port: postfix().port } }),
      502,
      'provider_unavailable',
      'SMTP: No secure connection to the server',
    ],
    [
      'the port of another protocol',
      () => ({ smtp: { ...implicit(), port: mail.dovecot.tlsPort } }),
      400,
      'provider_unsupported',
      'SMTP: This host and port do not answer as an SMTP server.',
    ],
  ])('is refused with %s, and nothing is stored', async (_, more, status, code, message) => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    expect(await connect(app, user, more())).toMatchObject({
      status,
      body: { code, message: expect.stringContaining(message) },
    })
    expect(await accountCount(app)).toBe(0)
  })

  test('is not trusted with a certificate of an unknown authority', async () => {
    await using app = await mail.openApp()
    const user = await mail.dovecot.addUser()
    for (const smtp of [starttls(), implicit()])
      expect(await connect(app, user, { smtp })).toMatchObject({
        status: 502,
        body: { code: 'provider_unavailable', message: expect.stringContaining('certificate') },
      })
  })

  test('is changed only if the login succeeds', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const { body: account } = await connect(app, user, {})
    const path = `/v1/accounts/${account.id}/imap-settings`

    for (const change of [
      { smtp: starttls(), smtpPassword: 'wrong' },
      { smtp: { ...implicit(), user: 'x' } },
    ])
      expect(await app.patch(path, change)).toMatchObject({ status: 400, body: { code: 'login_failed' } })
    expect((await app.get(`/v1/accounts/${account.id}`)).body).toEqual(account)
    expect(await eventsOf(app)).toHaveLength(1)

    expect(await app.patch(path, { smtp: starttls() })).toMatchObject({
      status: 200,
      body: { imap: { smtp: { ...starttls(), user: user.user } } },
    })
    const moved = await app.patch<Account>(path, { smtp: implicit() })
    expect(moved.body.imap?.smtp).toEqual({ ...implicit(), user: user.user })
  })
})
