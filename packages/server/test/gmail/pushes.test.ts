import { generateKeyPairSync } from 'node:crypto'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { SignJWT } from 'jose'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { TestApp } from '../open-app.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGmail } from './connect-gmail.ts'
import { endpointOf, openPushed, type Pushed, SIGNER, SUBSCRIPTION } from './open-pushed.ts'

const letter = (subject: string): string =>
  `Subject: ${subject}\r\nFrom: x@example.test\r\nTo: ada@gmail.test\r\n\r\nHello\r\n`

async function detailOf(app: TestApp, accountId: string): Promise<string> {
  const { body } = await app.get<Account>(`/v1/accounts/${accountId}`)
  return body.runtime?.detail ?? ''
}

const toSay = (app: TestApp, accountId: string, words: string) =>
  waitUntil(`the account to say "${words}"`, async () => (await detailOf(app, accountId)).includes(words))

async function subjectsOf(app: TestApp, accountId: string): Promise<string[]> {
  const { body } = await app.get<{ items: { subject: string }[] }>(
    `/v1/accounts/${accountId}/messages?limit=50`,
  )
  return body.items.map(({ subject }) => subject)
}

const toArrive = (app: TestApp, accountId: string, subject: string) =>
  waitUntil(`the message "${subject}"`, async () => (await subjectsOf(app, accountId)).includes(subject))

describe('an account of Gmail whose app has a topic', () => {
  let opened: Pushed
  let accountId: string

  beforeAll(async () => {
    opened = await openPushed(600)
    accountId = await connectGmail(opened.app, opened.sandbox, 'ada@gmail.test')
    await waitForFirstSync(opened.app, accountId)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  test('reads mail when Google pushes, and shows that it is watched', async () => {
    const { app, sandbox } = opened
    await toSay(app, accountId, 'the inbox is watched')
    await sandbox.deliver('ada@gmail.test', letter('Pushed'))
    await toArrive(app, accountId, 'Pushed')
  })

  test('reads mail whose notice Gmail drops, since another came less than a second before', async () => {
    const { app, sandbox } = opened
    await sandbox.deliver('ada@gmail.test', letter('Notified'))
    await sandbox.configurePushes({ intervalMilliseconds: 1_000 })
    onTestFinished(async () => void (await sandbox.configurePushes({ intervalMilliseconds: 0 })))
    await toArrive(app, accountId, 'Notified')
    await sandbox.deliver('ada@gmail.test', letter('Dropped'))
    await toArrive(app, accountId, 'Dropped')
  })

  test('receives a change that another client makes', async () => {
    const { app, sandbox } = opened
    const { id } = await sandbox.deliver('ada@gmail.test', letter('Starred elsewhere'))
    await toArrive(app, accountId, 'Starred elsewhere')
    const { accessToken } = await sandbox.grant('ada@gmail.test', ['https://mail.google.com/'])
    await fetch(`${sandbox.origin('gmail.googleapis.com')}/gmail/v1/users/me/messages/${id}/modify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}` },
      body: JSON.stringify({ addLabelIds: ['STARRED'] }),
    })
    await waitUntil('the star', async () => {
      const { body } = await app.get<{ items: { subject: string; isFlagged: boolean }[] }>(
        `/v1/accounts/${accountId}/messages?limit=50`,
      )
      return body.items.some(message => message.subject === 'Starred elsewhere' && message.isFlagged)
    })
  })

  test('keeps its watch over a restart of the account, and renews it once a day', async () => {
    const { app, sandbox } = opened
    const watches = async () => (await sandbox.calls({ path: '/gmail/v1/users/me/watch' })).items.length
    const restart = () =>
      sql`update account_half set sync_wanted = '{restart}' where account_id = ${accountId}`.execute(app.db)
    const begun = await watches()
    await restart()
    await waitUntil('the restart', async () => {
      const { rows } = await sql<{
        wanted: string[]
      }>`select sync_wanted as wanted from account_half`.execute(app.db)
      return rows[0]?.wanted.length === 0
    })
    await toSay(app, accountId, 'the inbox is watched')
    expect(await watches()).toBe(begun)
    await sql`update gmail_watch set renew_at = clock_timestamp() - interval '1 minute'`.execute(app.db)
    await restart()
    await waitUntil('the renewal', async () => (await watches()) > begun)
    await waitUntil('the new time', async () => {
      const { rows } = await sql<{
        renewed: boolean
      }>`select renew_at > clock_timestamp() as renewed from gmail_watch`.execute(app.db)
      return rows[0]?.renewed
    })
  })
})

describe('a push', () => {
  /** The address under which a proxy would serve the API. */
  const BASE = 'http://localhost/mail'
  let opened: Pushed
  let ids: Record<string, string>

  beforeAll(async () => {
    // Nobody follows the accounts, so that what a push asks for stays to be seen.
    opened = await openPushed(600, { roles: ['api'], baseUrl: BASE })
    const { app, sandbox } = opened
    const appId = crypto.randomUUID()
    await sql`
      insert into oauth_app (id, tenant_id, provider, name, client_id, credential_type, secret,
        push_topic, push_subscription, push_service_account)
      values (${appId}, ${app.tenantId}, 'google', 'Own', 'own', 'secret', '', 'projects/own/topics/t',
        'projects/own/subscriptions/s', 'push@own.iam.gserviceaccount.com')`.execute(app.db)
    ids = {
      operators: await connectGmail(app, sandbox, 'ada@gmail.test'),
      another: await connectGmail(app, sandbox, 'ben@gmail.test'),
      own: await connectGmail(app, sandbox, 'cleo@corp.test', appId),
    }
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const now = () => Math.floor(Date.now() / 1000)

  /** A push as Google makes it, but for the changes. */
  interface Changes {
    claims?: Record<string, unknown>
    subscription?: string
    data?: string
    body?: string
    authorization?: string | null
    isForged?: boolean
  }

  async function push(changes: Changes = {}): Promise<number> {
    const { app } = opened
    const claims = {
      iss: 'https://accounts.google.com',
      aud: `${BASE}/push/gmail`,
      sub: '1',
      email: SIGNER,
      email_verified: true,
      iat: now(),
      exp: now() + 600,
      ...changes.claims,
    }
    const token = changes.isForged
      ? await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'forged' }).sign(privateKey)
      : await signed(claims)
    const { data = notice('ada@gmail.test'), subscription = SUBSCRIPTION } = changes
    const body = changes.body ?? JSON.stringify({ message: { data, messageId: '1' }, subscription })
    const authorization = changes.authorization === undefined ? `Bearer ${token}` : changes.authorization
    const response = await fetch(endpointOf(app), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization !== null && { authorization }) },
      body,
    })
    return response.status
  }

  const notice = (emailAddress: string): string =>
    Buffer.from(`{"emailAddress":"${emailAddress}","historyId":9007199254749999}`).toString('base64')

  /** Which accounts were woken since the last time this was asked. */
  async function woken(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      with woken as (select account_id as id from account_half where 'notice' = any(sync_wanted) for update)
      update account_half set sync_wanted = '{}' from woken where account_id = woken.id returning woken.id
    `.execute(opened.app.db)
    return Object.keys(ids).filter(name => rows.some(({ id }) => id === ids[name]))
  }

  const signed = (claims: Record<string, unknown>): Promise<string> => opened.sandbox.sign(claims)

  test('wakes only the accounts of its address and its app', async () => {
    expect(await push()).toBe(204)
    expect(await woken()).toEqual(['operators'])
    expect(await push({ data: notice('ADA@gmail.test') })).toBe(204)
    expect(await woken()).toEqual(['operators'])
    // Cleo's account is one of another app.
    expect(await push({ data: notice('cleo@corp.test') })).toBe(204)
    expect(await woken()).toEqual([])
    const own = {
      subscription: 'projects/own/subscriptions/s',
      claims: { email: 'push@own.iam.gserviceaccount.com' },
    }
    expect(await push({ ...own, data: notice('cleo@corp.test') })).toBe(204)
    expect(await woken()).toEqual(['own'])
    expect(await push({ ...own, data: notice('ada@gmail.test') })).toBe(204)
    expect(await woken()).toEqual([])
    const inCapitals = { ...own, claims: { email: 'Push@Own.iam.gserviceaccount.com' } }
    expect(await push({ ...inCapitals, data: notice('cleo@corp.test') })).toBe(204)
    expect(await woken()).toEqual(['own'])
  })

  test.each<[string, () => Changes]>([
    ['without a token', () => ({ authorization: null })],
    ['with a token that is none', () => ({ authorization: 'Bearer nonsense' })],
    ['signed by somebody else', () => ({ isForged: true })],
    ['signed for another address', () => ({ claims: { aud: 'https://example.test/push/gmail' } })],
    ['signed as another service account', () => ({ claims: { email: 'push@evil.iam.gserviceaccount.com' } })],
    [
      'signed as the service account of another app',
      () => ({ claims: { email: 'push@own.iam.gserviceaccount.com' } }),
    ],
    ['signed as an address that is not verified', () => ({ claims: { email_verified: false } })],
    ['signed without an address', () => ({ claims: { email: undefined } })],
    ['signed by another issuer', () => ({ claims: { iss: 'https://evil.test' } })],
    ['signed long ago', () => ({ claims: { iat: now() - 7200, exp: now() - 3600 } })],
    ['of another subscription', () => ({ subscription: 'projects/operator/subscriptions/other' })],
    ['of the subscription of another app', () => ({ subscription: 'projects/own/subscriptions/s' })],
    ['whose body is no JSON', () => ({ body: 'nonsense' })],
    ['whose body is empty', () => ({ body: '' })],
  ])('%s is refused and wakes nobody', async (_, changes) => {
    expect(await push(changes())).toBe(401)
    expect(await woken()).toEqual([])
  })

  test('of a known subscription that another account signs is logged once', async () => {
    const changes = { claims: { email: 'push@evil.iam.gserviceaccount.com' } }
    for (let count = 0; count < 3; count += 1) expect(await push(changes)).toBe(401)
    const lines = opened.app.logLines.filter(line => line.includes('signed by another service account'))
    expect(lines.filter(line => line.includes(SUBSCRIPTION))).toHaveLength(1)
  })

  test('is taken, and wakes nobody, if it names no mailbox', async () => {
    expect(await push({ data: '' })).toBe(204)
    expect(await push({ data: notice('nobody@gmail.test') })).toBe(204)
    expect(await woken()).toEqual([])
  })

  test('wakes no account that is paused', async () => {
    const setStatus = (status: 'paused' | 'active') =>
      opened.app.db.updateTable('account').set({ status }).where('id', '=', ids['another']!).execute()
    const change = { data: notice('ben@gmail.test') }
    await setStatus('paused')
    expect(await push(change)).toBe(204)
    expect(await woken()).toEqual([])
    await setStatus('active')
    expect(await push(change)).toBe(204)
    expect(await woken()).toEqual(['another'])
  })

  test('is bounded', async () => {
    expect(await push({ body: 'x'.repeat(100_000) })).toBe(413)
    expect((await fetch(endpointOf(opened.app))).status).toBe(405)
  })
})

test('an account whose topic Gmail refuses is polled, and shows the reason', async () => {
  await using opened = await openPushed(0.5)
  const { app, sandbox } = opened
  await sandbox.configurePushes({ subscriptions: [] })
  const accountId = await connectGmail(app, sandbox, 'ada@gmail.test')
  await waitForFirstSync(app, accountId)
  await toSay(app, accountId, 'the inbox is polled, since Gmail refuses to send notices: Gmail answered 404')
  await sandbox.deliver('ada@gmail.test', letter('Polled'))
  await toArrive(app, accountId, 'Polled')
})
