import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  behindProxy,
  FORM_BACK as BACK,
  type HostedForm,
  openForm,
} from '../../../../test/connect/hosted-form.ts'
import { tablesWith } from '../../../../test/database-text.ts'
import { accountCount, eventsOf, useImapAccounts } from '../../../../test/imap-accounts.ts'
import type { TestAppOptions, TestTenant } from '../../../../test/open-app.ts'
import { findFreePorts } from '../../../../test/servers/daemon.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { assignPlan } from '../plans/assign.ts'
import { createPlan } from '../../tenancy/plans/store.ts'
import { NO_LIMITS, type PlanLimits } from '../../tenancy/plans/plan.ts'
import { setPastDue, setSuspended } from '../../tenancy/tenants/store.ts'
import { newId } from '../../../kit/ids.ts'
import { SOAK } from '../../../../test/soak.ts'

const mail = useImapAccounts()
const openApp = (options?: TestAppOptions) => mail.openApp(behindProxy(options))
/** In place of the world's name servers: no domain has records. */
const noRecords = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
const records = { resolve4: noRecords, resolveSrv: noRecords, resolveMx: noRecords, resolveTxt: noRecords }
const { newTenant } = useTestApp(() =>
  mail.appOptions(behindProxy({ autoconfig: { records: records as never, searchSeconds: 2 } })),
)

/** A form for a server on this machine. */
const loginAt = (port: number) => ({
  email: 'ada@example.com',
  password: 'x',
  imap: { host: 'localhost', port },
  smtp: null,
})

async function endRows({ db, tenantId }: TestTenant) {
  const { rows } = await sql<Record<string, unknown>>`
    select actor_type, actor_id, surface, targets, status, error_reason from audit_open
    where action = 'connect_session.complete' and tenant_id = ${tenantId} order by id`.execute(db)
  return rows
}

async function usePlan(app: TestTenant, limits: Partial<PlanLimits>) {
  const plan = await createPlan(app.db, newId(), { ...NO_LIMITS, ...limits })
  if (!plan) throw new Error('The plan exists already')
  await assignPlan(app.db, app.tenantId, plan)
}

describe('the form for an IMAP mailbox', () => {
  test('connects the mailbox with the account parameters of the session, and ends the session', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    // A session that offers Google, too, may have settings that IMAP ignores.
    await app.post('/v1/oauth-apps', { provider: 'google', name: 'M', clientId: 'c', clientSecret: 's' })
    const form = await openForm(app, {
      redirectUri: BACK,
      state: 'a b&c',
      externalRef: 'user-1',
      options: { settings: { syncWindowDays: 30, calendarEnabled: true }, passwordImap: true },
    })

    const done = await form.post({ ...mail.connection(user), displayName: 'Ada' })

    const session = await form.read()
    expect(session).toMatchObject({ status: 'completed', error: null, email: user.email })
    const query = `status=success&account_id=${session.accountId}&state=a+b%26c`
    expect(done).toMatchObject({ status: 200, body: { redirectUrl: `${BACK}&${query}` } })
    const { body: account } = await app.get<Account>(`/v1/accounts/${session.accountId}`)
    expect(account).toMatchObject({
      provider: 'imap',
      email: user.email,
      displayName: 'Ada',
      externalRef: 'user-1',
      settingsOverride: { syncWindowDays: 30 },
    })
    expect(await eventsOf(app)).toMatchObject([{ type: 'account.connected', data: { reauthorized: false } }])
    expect(await endRows(app)).toEqual([
      {
        actor_type: 'connectSession',
        actor_id: form.id,
        surface: 'hosted',
        targets: { sessionId: form.id, accountId: session.accountId },
        status: 200,
        error_reason: null,
      },
    ])
    expect(await form.post(mail.connection(user))).toMatchObject({
      status: 409,
      body: { code: 'session_used' },
    })
    for (const secret of [user.password, form.token]) {
      expect(await tablesWith(app.db, secret)).toEqual([])
      expect(app.logLines.join('')).not.toContain(secret)
    }
  })

  test('ends on the page of the link without a redirectUri, or if it is no longer listed', SOAK, async () => {
    const app = await newTenant()
    for (const redirectUri of [undefined, BACK]) {
      const form = await openForm(app, redirectUri ? { redirectUri } : {})
      await app.patch('/v1/settings', { redirectUris: [] })
      const done = await form.post(mail.connection(await mail.dovecot.addUser()))
      expect(done.body).toEqual({ redirectUrl: `${app.address}/connect/${form.token}` })
    }
  })

  test('refuses every login that fails in the same words, after a second at least, and goes on', async () => {
    await using app = await openApp({
      egressAllow: [`localhost:${mail.dovecot.tlsPort}`, 'localhost:1', '127.0.0.2'],
    })
    const user = await mail.dovecot.addUser()
    const good = mail.connection(user)
    const messages = new Set<string>()
    const host = (imap: Record<string, unknown>) => ({ ...good, imap: { ...good.imap, ...imap } })
    const bodies = [
      { ...good, password: 'wrong' },
      host({ port: 1 }),
      host({ host: '169.254.169.254' }),
      host({ host: '10.0.0.1', port: 993 }),
      host({ host: '127.0.0.2' }),
      host({ host: 'localhost', port: 22 }),
      host({ host: 'nowhere.invalid', security: 'starttls' }),
    ]
    const tried = await Promise.all(
      bodies.map(async body => {
        const form = await openForm(app)
        const startedAt = performance.now()
        const refused = await form.post(body)
        return { form, refused, milliseconds: performance.now() - startedAt }
      }),
    )
    for (const { form, refused, milliseconds } of tried) {
      expect(milliseconds).toBeGreaterThan(990)
      expect(refused).toMatchObject({ status: 400, body: { code: 'login_failed' } })
      messages.add(String(refused.body['message']))
      expect(await form.read()).toMatchObject({ status: 'pending', accountId: null })
    }
    expect(messages.size).toBe(1)
    expect((await tried[0]?.form.post(good))?.status).toBe(200)
    expect((await endRows(app)).map(({ error_reason }) => error_reason)).toContain('login_failed')
  })

  test.each<[string, Record<string, unknown>, number, string]>([
    [
      'neither calendars nor contacts',
      { dav: { calendarUrl: null, contactsUrl: null } },
      400,
      'invalid_input',
    ],
    [
      'contacts without TLS',
      { dav: { contactsUrl: 'http://dav.example.com/' } },
      400,
      'plaintext_not_allowed',
    ],
    [
      'no encryption',
      { imap: { host: 'localhost', port: 143, security: 'none' } },
      400,
      'plaintext_not_allowed',
    ],
    [
      'an address without servers',
      { email: 'ada@nowhere.invalid', imap: undefined },
      422,
      'autodiscovery_failed',
    ],
    ['no password', { password: '' }, 400, 'invalid_input'],
    ['a line break in the password', { password: 'a\r\nb' }, 400, 'invalid_input'],
    ['an externalRef of its own', { externalRef: 'mine' }, 400, 'invalid_input'],
    ['settings of its own', { settings: {} }, 400, 'invalid_input'],
  ])('refuses %s, and the session goes on', async (_, change, status, code) => {
    const app = await newTenant()
    const form = await openForm(app)
    const refused = await form.post({ ...mail.connection(await mail.dovecot.addUser()), ...change })
    expect(refused).toMatchObject({ status, body: { code } })
    expect(await form.read()).toMatchObject({ status: 'pending' })
    expect(await accountCount(app)).toBe(0)
  })

  test('is refused by a session that does not offer it', async () => {
    const app = await newTenant()
    await app.post('/v1/oauth-apps', { provider: 'google', name: 'M', clientId: 'c', clientSecret: 's' })
    const form = await openForm(app, { providers: ['google'] })
    const refused = await form.post(mail.connection(await mail.dovecot.addUser()))
    expect(refused).toMatchObject({ status: 400, body: { code: 'provider_not_allowed' } })
  })

  test('allows 5 logins a session, and 20 an hour for a client address', async () => {
    const app = await newTenant()
    const [port = 0] = await findFreePorts(1)
    const body = loginAt(port)
    const forms = await Promise.all(Array.from({ length: 6 }, () => openForm(app)))
    const [first, ...others] = forms
    const codes = async (form: HostedForm | undefined, times: number, client?: string) => {
      const answers = await Promise.all(Array.from({ length: times }, () => form?.post(body, client)))
      return answers.map(answer => answer?.body['code']).toSorted()
    }
    const failed = (count: number) => Array<string>(count).fill('login_failed')
    const limited = (count: number) => Array<string>(count).fill('rate_limited')
    // Logins that the session refuses reach no server, and do not count for the client.
    expect(await codes(first, 8, '203.0.113.1')).toEqual([...failed(5), ...limited(3)])
    const asked = await Promise.all(others.slice(0, 3).map(form => codes(form, 5, '203.0.113.1')))
    expect(asked).toEqual([failed(5), failed(5), failed(5)])
    const refused = await others[3]?.post(body, '203.0.113.1')
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await codes(others[3], 1, '203.0.113.2')).toEqual(failed(1))
  })

  test('counts no login for a client address if the server may not be reached', async () => {
    await using app = await openApp({ egressAllow: [] })
    const forms = await Promise.all(Array.from({ length: 5 }, () => openForm(app)))
    const tries = await Promise.all(
      forms.flatMap(form => Array.from({ length: 5 }, () => form.post(loginAt(993), '203.0.113.3'))),
    )
    expect(new Set(tries.map(({ body: { code } }) => code))).toEqual(new Set(['login_failed']))
  })

  test('ends the session with the error that follows a successful login', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    expect((await app.post('/v1/imap-accounts', mail.connection(user))).status).toBe(200)
    for (const [error, arrange] of [
      ['account_exists', async () => {}],
      ['billing_past_due', () => setPastDue(app.db, app.tenantId, true)],
      [
        'plan_limit_accounts',
        async () => {
          await setPastDue(app.db, app.tenantId, false)
          await usePlan(app, { maxAccounts: 1 })
        },
      ],
    ] as const) {
      await arrange()
      const form = await openForm(app, { redirectUri: BACK, state: 's' })
      const done = await form.post(mail.connection(user))
      const redirectUrl = `${BACK}&status=error&error=${error}&state=s`
      expect(done).toMatchObject({ status: 200, body: { redirectUrl } })
      expect(await form.read()).toMatchObject({ status: 'failed', error, accountId: null })
      expect(await form.post(mail.connection(user))).toMatchObject({ body: { code: 'session_used' } })
    }
    expect(await accountCount(app)).toBe(1)
  })

  test.each(['reauth_required', 'disabled'] as const)(
    'renews an account that is %s, at its own servers and under a full plan',
    async status => {
      const app = await newTenant()
      const user = await mail.dovecot.addUser()
      const given = { ...mail.connection(user), externalRef: 'user-1' }
      const { body: account } = await app.post<Account>('/v1/imap-accounts', given)
      await sql`update account set status = ${status}, status_reason = 'a test' where id = ${account.id}`.execute(
        app.db,
      )
      await usePlan(app, { maxAccounts: 1 })

      const other = await openForm(app, { redirectUri: BACK, externalRef: 'user-2' })
      const refused = await other.post(mail.connection(user))
      expect(refused.body['redirectUrl']).toContain('error=plan_limit_accounts')

      const form = await openForm(app, { redirectUri: BACK, externalRef: 'user-1' })
      const elsewhere = { host: '10.0.0.1', port: 993, security: 'tls' }
      const done = await form.post({ ...mail.connection(user), imap: elsewhere })
      expect(done.body['redirectUrl']).toContain(`status=success&account_id=${account.id}`)
      const { body: renewed } = await app.get<Account>(`/v1/accounts/${account.id}`)
      expect(renewed).toMatchObject({ status: 'active', statusReason: null, imap: account.imap })
      expect((await eventsOf(app)).at(-1)).toMatchObject({
        type: 'account.connected',
        data: { reauthorized: true },
      })
      expect(await accountCount(app)).toBe(1)
    },
  )

  test('reveals that an account exists only to people who can log in to it', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    await app.post('/v1/imap-accounts', mail.connection(user))
    const form = await openForm(app)
    const refused = await form.post({ ...mail.connection(user), password: 'guess' })
    expect(refused).toMatchObject({ status: 400, body: { code: 'login_failed' } })
  })

  test('connects without the storage that the plan has no room for any more', SOAK, async () => {
    const app = await newTenant()
    const form = await openForm(app, { options: { settings: { bodyStorage: 'full', undoSendSeconds: 5 } } })
    await usePlan(app, { bodyStorageAllowed: false })
    expect((await form.post(mail.connection(await mail.dovecot.addUser()))).status).toBe(200)
    const { body } = await app.get<{ items: Account[] }>('/v1/accounts')
    expect(body.items[0]?.settingsOverride).toEqual({ undoSendSeconds: 5 })
  })

  test('sent 20 times at the same time connects one account and ends once', async () => {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const forms = await Promise.all(Array.from({ length: 4 }, () => openForm(app, { redirectUri: BACK })))
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => forms[at % 4]?.post(mail.connection(user), `198.51.100.${at}`)),
    )
    const others = answers.filter(answer => ![200, 409].includes(answer?.status ?? 0))
    expect(others.map(answer => answer?.body)).toEqual([])
    const ends = await Promise.all(forms.map(form => form.read()))
    expect(ends.filter(({ status }) => status === 'completed')).toHaveLength(1)
    expect(ends.filter(({ error }) => error === 'account_exists')).toHaveLength(3)
    expect(await accountCount(app)).toBe(1)
    expect((await eventsOf(app)).filter(({ type }) => type === 'account.connected')).toHaveLength(1)
    const completed = (await endRows(app)).filter(({ status }) => status === 200)
    expect(completed).toHaveLength(4)
  })

  test('of one session connects one of two mailboxes that are given at the same time', SOAK, async () => {
    const app = await newTenant()
    const users = [await mail.dovecot.addUser(), await mail.dovecot.addUser()]
    const form = await openForm(app)
    const answers = await Promise.all(
      users.flatMap(user => [form.post(mail.connection(user)), form.post(mail.connection(user))]),
    )
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409])
    expect(await accountCount(app)).toBe(1)
  })

  test('answers 404 while the tenant is suspended', async () => {
    const app = await newTenant()
    const form = await openForm(app)
    await setSuspended(app.db, app.tenantId, true)
    expect(await form.post({})).toMatchObject({ status: 404, body: { code: 'connect_session_not_found' } })
  })
})
