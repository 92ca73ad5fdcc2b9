import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { accountCount, eventsOf } from '../imap-accounts.ts'
import { useConnect } from './open-connect.ts'
import { beginAt, consent, pressContinue, signIn } from './people.ts'
import { casesFor, SOAK } from '../soak.ts'

const connect = useConnect()
const { person, link } = connect

const success = (accountId: string | null) => ({
  tab: 'mail',
  status: 'success',
  account_id: accountId,
  state: 'a b&c',
})
const failed = (error: string) => ({ tab: 'mail', status: 'error', error, state: 'a b&c' })

async function readAccount(id: string | null): Promise<Account> {
  return (await connect.app.get<Account>(`/v1/accounts/${id}`)).body
}

describe('a person who signs in', () => {
  test('is shown who asks for which permissions, and comes back with the account', async () => {
    const email = await connect.newUser()
    const ada = await person()
    const made = await link()
    await ada.page.goto(made.url)
    await ada.page.getByRole('link', { name: 'Sign in with Google' }).click()
    expect(await ada.page.getByRole('listitem').allTextContents()).toEqual([
      'read, change and send your email',
      'see and change your mail settings, such as signatures and the addresses you send from',
      'see and change your calendars',
      'see your name and email address',
    ])
    expect(await ada.page.textContent('main')).toContain('default asks Google for access')
    await pressContinue(ada.page)
    await signIn(ada.page, email)
    const back = await connect.returned(ada.page)

    const session = await made.read()
    expect(session).toMatchObject({ status: 'completed', error: null, email })
    expect(back).toEqual(success(session.accountId))
    expect(await readAccount(session.accountId)).toMatchObject({
      provider: 'gmail',
      email,
      status: 'active',
      auth: { method: 'oauth' },
    })
    expect(await eventsOf(connect.app)).toContainEqual(
      expect.objectContaining({ type: 'account.connected', accountId: session.accountId }),
    )
    expect(ada.complaints).toEqual([])
  })

  test('needs no scripts, and gets a cookie that no script can read', async () => {
    const email = await connect.newUser()
    const ada = await person({ javaScriptEnabled: false })
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    await ada.page.getByRole('button', { name: email }).waitFor()
    const cookies = await ada.context.cookies(connect.app.address)
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Lax', secure: false, path: '/' }])
    expect(cookies[0]!.expires - Date.now() / 1000).toBeLessThanOrEqual(600)

    await signIn(ada.page, email)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
    expect((await made.read()).status).toBe('completed')
    expect(await ada.context.cookies(connect.app.address)).toEqual([])
  })

  test('is not asked which account, if the link names it', SOAK, async () => {
    const email = await connect.newUser()
    const ada = await person()
    await beginAt(ada.page, await link({ providers: ['google'], loginHint: email }))
    await consent(ada.page)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
  })

  test(
    'ends on a page of ours without a redirectUri, or with one that is no longer allowed',
    SOAK,
    async () => {
      const [ada, first, second] = [await person(), await connect.newUser(), await connect.newUser()]
      await beginAt(ada.page, await link({ providers: ['google'], redirectUri: undefined }))
      await signIn(ada.page, first)
      await ada.page.getByRole('heading', { name: 'Your mailbox is connected' }).waitFor()

      const other = `${connect.site.origin}/other`
      await connect.app.patch('/v1/settings', { redirectUris: [connect.site.redirectUri, other] })
      await beginAt(ada.page, await link({ providers: ['google'], redirectUri: other }))
      await connect.app.patch('/v1/settings', { redirectUris: [connect.site.redirectUri] })
      await signIn(ada.page, second)
      await ada.page.getByRole('heading', { name: 'Your mailbox is connected' }).waitFor()
      expect(new URL(ada.page.url()).origin).toBe(connect.app.address)
      expect(ada.complaints).toEqual([])
    },
  )

  test('without a session of choice does the same', SOAK, async () => {
    const { app, site } = connect
    const body = { provider: 'google', redirectUri: site.redirectUri, state: 'a b&c' }
    const made = await app.post<{ authorizeUrl: string }>('/v1/oauth-authorizations', body)
    const [ada, email] = [await person(), await connect.newUser()]
    await ada.page.goto(made.body.authorizeUrl)
    await pressContinue(ada.page)
    await signIn(ada.page, email)
    const back = await connect.returned(ada.page)
    expect(back['status']).toBe('success')
    expect(await readAccount(back['account_id'] ?? null)).toMatchObject({ email, provider: 'gmail' })
  })
})

describe('a person who signs in again', () => {
  test('renews the account, and no other account can take its place', SOAK, async () => {
    const { email, accountId } = await connect.connectNew()
    const other = await connect.newUser()
    const ada = await person()
    const wrong = await link({ accountId })
    await ada.page.goto(wrong.url)
    await ada.page.getByRole('heading', { name: 'Sign in again' }).waitFor()
    expect(await ada.page.textContent('main')).toContain(email)
    await pressContinue(ada.page)
    await ada.page.getByRole('button', { name: 'Use another account' }).click()
    await signIn(ada.page, other)
    expect(await connect.returned(ada.page)).toEqual(failed('account_mismatch'))
    expect(await wrong.read()).toMatchObject({ status: 'failed', error: 'account_mismatch' })

    await beginAt(ada.page, await link({ accountId }))
    await consent(ada.page)
    expect(await connect.returned(ada.page)).toEqual(success(accountId))
    expect(await readAccount(accountId)).toMatchObject({ email, status: 'active' })
    const events = (await eventsOf(connect.app)).filter(event => event.accountId === accountId)
    expect(events.map(({ data }) => data['reauthorized'])).toEqual([false, true])
  })
})

describe('a sign-in that fails', () => {
  const refusals: ReadonlyArray<
    [name: string, page: string, error: string, act: (email: string) => Parameters<typeof signIn>[2]]
  > = [
    ['is denied', 'Access was not granted', 'access_denied', () => ({ deny: true })],
    [
      'leaves out mail',
      'A permission is missing',
      'scope_denied',
      () => ({ untick: [/emails from your Gmail/] }),
    ],
  ]
  test.each(casesFor(refusals, ([name]) => name === 'leaves out mail'))(
    'because it %s comes back with the reason, and stays on a page with advice',
    async (_, page, error, act) => {
      const email = await connect.newUser()
      const before = await accountCount(connect.app)
      const ada = await person()
      const made = await beginAt(ada.page, await link({ providers: ['google'] }))
      await signIn(ada.page, email, act(email))
      expect(await connect.returned(ada.page)).toEqual(failed(error))
      expect(await made.read()).toMatchObject({ status: 'failed', error, accountId: null })

      await beginAt(ada.page, await link({ providers: ['google'], redirectUri: undefined }))
      await signIn(ada.page, email, act(email))
      await ada.page.getByRole('heading', { name: page }).waitFor()
      expect(await ada.page.textContent('main')).toContain(error)
      expect(await accountCount(connect.app)).toBe(before)
      expect(ada.complaints).toEqual([])
    },
  )

  test('ends with account_exists if the mailbox is an account already', SOAK, async () => {
    const { email } = await connect.connectNew()
    const ada = await person()
    await beginAt(ada.page, await link({ providers: ['google'] }))
    await signIn(ada.page, email)
    expect(await connect.returned(ada.page)).toEqual(failed('account_exists'))
  })

  test('only for a calendar that is left out connects the mailbox without it', SOAK, async () => {
    const [ada, email] = [await person(), await connect.newUser()]
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    await signIn(ada.page, email, { untick: [/calendars/] })
    await connect.returned(ada.page)
    const { accountId } = await made.read()
    expect(await readAccount(accountId)).toMatchObject({
      status: 'active',
      settings: { calendarEnabled: false },
      settingsOverride: { calendarEnabled: false },
    })
  })

  const limits: ReadonlyArray<[error: string, turn: (on: boolean) => Promise<void>]> = [
    ['plan_limit_accounts', on => connect.limitAccounts(on ? 0 : null)],
    ['billing_past_due', on => connect.setPastDue(on)],
  ]
  test.each(casesFor(limits, ([error]) => error === 'plan_limit_accounts'))(
    'with %s does not leave for the provider',
    async (error, turn) => {
      const ada = await person()
      const made = await link({ providers: ['google'] })
      await ada.page.goto(made.url)
      await turn(true)
      try {
        await pressContinue(ada.page)
        expect(await connect.returned(ada.page)).toEqual(failed(error))
        expect(await made.read()).toMatchObject({ status: 'failed', error })
        expect((await ada.requests()).some(({ url }) => url.includes('/o/oauth2'))).toBe(false)
      } finally {
        await turn(false)
      }
    },
  )

  test('ends with plan_limit_accounts if the plan is full by then', SOAK, async () => {
    const [ada, email] = [await person(), await connect.newUser()]
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    await connect.limitAccounts(0)
    try {
      await signIn(ada.page, email)
      expect(await connect.returned(ada.page)).toEqual(failed('plan_limit_accounts'))
      expect(await made.read()).toMatchObject({ status: 'failed', error: 'plan_limit_accounts' })
    } finally {
      await connect.limitAccounts(null)
    }
  })

  test('at a provider in trouble ends on a page about that', SOAK, async () => {
    const [ada, email] = [await person(), await connect.newUser()]
    await beginAt(ada.page, await link({ providers: ['google'], redirectUri: undefined }))
    await connect.sandbox.addFault({ does: 'error', host: 'oauth2.googleapis.com', status: 503 })
    try {
      await signIn(ada.page, email)
      await ada.page.getByRole('heading', { name: 'The provider does not answer' }).waitFor()
    } finally {
      await connect.sandbox.clearFaults()
    }
  })

  test('is cancelled by the button', SOAK, async () => {
    const ada = await person()
    const made = await link({ providers: ['google'] })
    await ada.page.goto(made.url)
    await ada.page.getByRole('button', { name: 'Cancel' }).click()
    expect(await connect.returned(ada.page)).toEqual(failed('cancelled'))
    expect(await made.read()).toMatchObject({ status: 'failed', error: 'cancelled' })
  })
})
