import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  behindProxy,
  FORM_BACK as BACK,
  type HostedForm,
  openForm,
} from '../../../../test/connect/hosted-form.ts'
import { accountCount, eventsOf, useImapAccounts } from '../../../../test/imap-accounts.ts'
import type { TestAppOptions } from '../../../../test/open-app.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { waitForLock } from '../../../../test/wait-for-lock.ts'
import { setPastDue } from '../../tenancy/tenants/store.ts'

const mail = useImapAccounts()
const openApp = (options?: TestAppOptions) => mail.openApp(behindProxy(options))
const { newTenant } = useTestApp(() => mail.appOptions(behindProxy()))

describe('the form of an account that signs in again', () => {
  async function openReconnect() {
    const app = await newTenant()
    const user = await mail.dovecot.addUser()
    const made = await app.post<Account>('/v1/imap-accounts', mail.connection(user))
    await app.db
      .updateTable('account')
      .set({ status: 'reauth_required', status_reason: 'login_failed' })
      .where('id', '=', made.body.id)
      .execute()
    const form = await openForm(app, { accountId: made.body.id, redirectUri: BACK })
    return { app, user, account: made.body, form }
  }

  test('replaces the password, and ignores servers', async () => {
    const { app, user, account, form } = await openReconnect()
    const servers = { imap: { host: 'elsewhere.example', port: 993 }, smtp: null, dav: { user: 'x' } }
    const done = await form.post({ email: user.email.toUpperCase(), password: user.password, ...servers })
    const redirectUrl = `${BACK}&status=success&account_id=${account.id}`
    expect(done).toMatchObject({ status: 200, body: { redirectUrl } })
    const { body: after } = await app.get<Account>(`/v1/accounts/${account.id}`)
    expect(after).toMatchObject({ status: 'active', statusReason: null, imap: account.imap })
    expect((await eventsOf(app)).at(-1)).toMatchObject({
      type: 'account.connected',
      accountId: account.id,
      data: { reauthorized: true },
    })
    expect(await form.read()).toMatchObject({ status: 'completed', accountId: account.id, email: user.email })
  })

  test('refuses another address and a wrong password, and goes on', async () => {
    const { app, user, account, form } = await openReconnect()
    const { email, password } = user
    expect(await form.post({ email: 'other@example.com', password })).toMatchObject({
      status: 409,
      body: { code: 'account_mismatch' },
    })
    expect(await form.post({ email, password: 'wrong' })).toMatchObject({ body: { code: 'login_failed' } })
    expect((await app.get(`/v1/accounts/${account.id}`)).body).toMatchObject({ status: 'reauth_required' })
    expect((await form.post({ email, password })).status).toBe(200)
  })

  test('refuses a password that was checked with servers that have changed meanwhile, and goes on', async () => {
    const { app, user, account, form } = await openReconnect()
    const given = { email: user.email, password: user.password }
    const answer = await app.db.transaction().execute(async moment => {
      await sql`select from account where id = ${account.id} for update`.execute(moment)
      const posted = form.post(given)
      await waitForLock(app.db)
      await sql`
        update account set imap = jsonb_set(imap, '{appendSent}', to_jsonb(not (imap->>'appendSent')::boolean))
        where id = ${account.id}`.execute(moment)
      return { posted }
    })
    expect(await answer.posted).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
    expect((await form.post(given)).status).toBe(200)
  })

  test('ends with account_mismatch if the account is gone', async () => {
    const { app, user, account, form } = await openReconnect()
    await app.delete(`/v1/accounts/${account.id}`)
    const done = await form.post({ email: user.email, password: user.password })
    expect(done.body).toEqual({ redirectUrl: `${BACK}&status=error&error=account_mismatch` })
    expect(await form.read()).toMatchObject({ status: 'failed', error: 'account_mismatch' })
  })
})

test('a payment that becomes overdue during the login ends the session, and connects nothing', async () => {
  const app = await newTenant()
  const form = await openForm(app, { redirectUri: BACK })
  const user = await mail.dovecot.addUser()
  const answer = await app.db.transaction().execute(async billing => {
    await setPastDue(billing, app.tenantId, true)
    const posted = form.post(mail.connection(user))
    await waitForLock(app.db)
    return { posted }
  })
  const redirectUrl = `${BACK}&status=error&error=billing_past_due`
  expect(await answer.posted).toMatchObject({ status: 200, body: { redirectUrl } })
  expect(await form.read()).toMatchObject({ status: 'failed', error: 'billing_past_due' })
  expect(await accountCount(app)).toBe(0)
})

/** A port of loopback that counts its connections, and greets as a mail server would. */
async function openCanary(greeting: string | null) {
  let connections = 0
  const server = createServer(socket => {
    connections += 1
    socket.on('error', () => {})
    if (greeting !== null) socket.write(greeting)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    count: () => connections,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

/** Logins that one session may try. */
const TRIES = 5
const PORTS = [1, 7, 21, 22, 23, 25, 53, 80, 110, 111, 143, 389, 443, 465, 587, 631, 873, 993, 995, 1024]
/** Spellings of this machine, and addresses behind the service. */
const INSIDE = [
  'localhost',
  'inside.test',
  '0.0.0.0',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  '169.254.169.254',
  '10.0.0.1',
]

test('the form reveals no host or port behind the service, and connects to none', async () => {
  const { dovecot } = mail
  await using app = await openApp({ egressAllow: [`localhost:${dovecot.tlsPort}`] })
  await using silent = await openCanary(null)
  await using imap = await openCanary('* OK ready\r\n')
  await using smtp = await openCanary('220 ready\r\n')
  const canaries = [silent, imap, smtp]
  const good = mail.connection(await dovecot.addUser())
  const targets = [
    ...[...PORTS, ...canaries.map(({ port }) => port)].map(port => ({ host: '127.0.0.1', port })),
    ...INSIDE.flatMap(host => [imap.port, 993].map(port => ({ host, port }))),
  ]
  const tries = targets.flatMap(target => [
    { ...good, imap: { ...target, security: 'tls' } },
    { ...good, smtp: { ...target, security: 'starttls' } },
  ])
  const forms: HostedForm[] = []
  while (forms.length < tries.length / TRIES) forms.push(await openForm(app))
  const answers = await Promise.all(
    tries.map((body, at) => forms[Math.floor(at / TRIES)]!.post(body, `198.51.100.${at}`)),
  )
  const told = answers.map(({ status, body, headers }) =>
    JSON.stringify([status, { ...body, requestId: null }, [...headers.keys()].toSorted()]),
  )
  expect(new Set(told).size).toBe(1)
  expect(answers[0]).toMatchObject({ status: 400, body: { code: 'login_failed' } })
  expect(canaries.map(canary => canary.count())).toEqual([0, 0, 0])
})

test('the search for servers answers alike for a name behind the service and for none', async () => {
  await using canary = await openCanary(null)
  const noRecords = () => Promise.reject(Object.assign(new Error('none'), { code: 'ENOTFOUND' }))
  const records = { resolve4: noRecords, resolveSrv: noRecords, resolveMx: noRecords, resolveTxt: noRecords }
  await using app = await openApp({
    egressAllow: [],
    resolve: async name => (name.endsWith('inside.test') ? ['127.0.0.1'] : noRecords()),
    autoconfig: { records: records as never, httpsPort: canary.port },
  })
  const told = new Set<string>()
  const search = async (domain: string) => {
    const form = await openForm(app)
    const { status, body } = await form.find(`ada@${domain}`)
    told.add(JSON.stringify([status, { ...body, requestId: null }]))
  }
  await Promise.all(['inside.test', 'nowhere.test'].map(search))
  expect([...told]).toEqual([expect.stringMatching(/^\[422,.*autodiscovery_failed/)])
  expect(canary.count()).toBe(0)
})

describe('GET /v1/hosted/connect-sessions/{token}/autoconfig', () => {
  test('finds servers, 30 times a session', async () => {
    const app = await newTenant()
    const form = await openForm(app)
    expect((await form.find('ada@gmail.com')).body).toMatchObject({ source: 'provider', oauth: 'google' })
    expect(await form.find('ada')).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    for (let count = 1; count < 30; count += 1) {
      expect((await form.find('ada@gmail.com')).status).toBe(200)
    }
    expect(await form.find('ada@gmail.com')).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    const other = await openForm(app)
    expect((await other.find('ada@gmail.com')).status).toBe(200)
  })
})
