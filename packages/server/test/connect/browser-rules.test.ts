import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import { openTestApp } from '../open-app.ts'
import { answerOf, readState } from './flow-state.ts'
import { useConnect } from './open-connect.ts'
import { beginAt, consent, pressContinue } from './people.ts'
import { SOAK } from '../soak.ts'

const connect = useConnect()
const { person, link } = connect

const INVALID = 'This sign-in cannot be finished here'

describe('a sign-in', () => {
  test('cannot be finished in another browser, and still can in its own', async () => {
    const [ada, eve] = [await person(), await person()]
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    const answer = await answerOf(connect, ada.page.url())
    // Eve has a sign-in of her own under way. She even knows Ada's link, and the name of Ada's cookie.
    await beginAt(eve.page, await link({ providers: ['google'] }))
    const [ofAda] = await ada.context.cookies(connect.app.address)
    const [ofEve] = await eve.context.cookies(connect.app.address)
    const value = ofEve!.value.replace(/\..*/, `.${made.token}`)
    await eve.context.addCookies([{ ...ofAda!, value }])
    const before = await readState(connect)

    expect((await eve.page.goto(answer.href))?.status()).toBe(400)
    await eve.page.getByRole('heading', { name: INVALID }).waitFor()
    expect(new URL(eve.page.url()).origin).toBe(connect.app.address)
    expect(await readState(connect)).toBe(before)

    await ada.page.goto(answer.href)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
    expect(await made.read()).toMatchObject({ status: 'completed' })
  })

  test('takes no answer whose state is missing, repeated or not its own', async () => {
    const [ada, eve] = [await person(), await person()]
    await beginAt(ada.page, await link({ providers: ['google'] }))
    await beginAt(eve.page, await link({ providers: ['google'] }))
    const answer = await answerOf(connect, ada.page.url())
    const own = answer.searchParams.get('state')!
    const other = new URL(eve.page.url()).searchParams.get('state')!
    const before = await readState(connect)
    const forge = (change: (forged: URL) => void) => {
      const forged = new URL(answer)
      change(forged)
      return forged.href
    }
    const forged = [
      forge(({ searchParams }) => searchParams.delete('state')),
      ...['', own.slice(1), `${own}A`, 'A'.repeat(43), other].map(value =>
        forge(({ searchParams }) => searchParams.set('state', value)),
      ),
      forge(({ searchParams }) => searchParams.append('state', own)),
      forge(({ searchParams }) => searchParams.append('state', other)),
      forge(url => (url.search = `?state=${other}&${url.search.slice(1)}`)),
      forge(url => (url.search = url.search.replace('state=', 'state[]='))),
      forge(({ searchParams }) => searchParams.append('code', 'x')),
      forge(({ searchParams }) => searchParams.append('error', '')).concat('&error=access_denied'),
      forge(url => (url.pathname = url.pathname.replace('google', 'microsoft'))),
    ]
    // With the cookies of her browser, but without its pages.
    for (const url of forged) {
      const refused = await ada.page.request.get(url, { maxRedirects: 0 })
      expect([url, refused.status()]).toEqual([url, 400])
      expect(await refused.text()).toContain(INVALID)
    }
    expect(await readState(connect)).toBe(before)

    await ada.page.goto(answer.href)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
  })

  test('is finished once', SOAK, async () => {
    const ada = await person()
    await beginAt(ada.page, await link({ providers: ['google'] }))
    const cookies = await ada.context.cookies(connect.app.address)
    const answer = await answerOf(connect, ada.page.url())
    await ada.page.goto(answer.href)
    await connect.returned(ada.page)
    // Even with the cookie that was taken away.
    await ada.context.addCookies(cookies)
    const before = await readState(connect)
    await ada.page.goto(answer.href)
    await ada.page.getByRole('heading', { name: INVALID }).waitFor()
    expect(await readState(connect)).toBe(before)
  })

  test('is over after ten minutes, and after a newer one began', async () => {
    const ada = await person()
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    const old = await answerOf(connect, ada.page.url())
    await sql`update connect_attempt set expires_at = clock_timestamp() where session_id = ${made.id}`.execute(
      connect.app.db,
    )
    await ada.page.goto(old.href)
    await ada.page.getByRole('heading', { name: INVALID }).waitFor()

    await beginAt(ada.page, made)
    const older = await answerOf(connect, ada.page.url())
    await beginAt(ada.page, made)
    const newest = await answerOf(connect, ada.page.url())
    await ada.page.goto(older.href)
    await ada.page.getByRole('heading', { name: INVALID }).waitFor()
    await ada.page.goto(newest.href)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
  })

  test('with the issuer of another provider connects nothing', SOAK, async () => {
    const ada = await person()
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    const answer = await answerOf(connect, ada.page.url())
    answer.searchParams.set('iss', 'https://accounts.evil.example')
    const calls = await connect.sandbox.calls({ host: 'oauth2.googleapis.com' })
    await ada.page.goto(answer.href)
    expect(await connect.returned(ada.page)).toMatchObject({
      status: 'error',
      error: 'token_exchange_failed',
    })
    expect(await made.read()).toMatchObject({ status: 'failed', accountId: null })
    expect(await connect.sandbox.calls({ host: 'oauth2.googleapis.com' })).toEqual(calls)
  })

  test('goes on in two tabs of one browser at once', SOAK, async () => {
    const ada = await person()
    const second = await ada.context.newPage()
    await beginAt(ada.page, await link({ providers: ['google'] }))
    await beginAt(second, await link({ providers: ['google'] }))
    const answers = [await answerOf(connect, ada.page.url()), await answerOf(connect, second.url())]
    await ada.page.goto(answers[0]!.href)
    await second.goto(answers[1]!.href)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
    expect(await connect.returned(second)).toMatchObject({ status: 'success' })
  })
})

test('no secret of a sign-in reaches a Referer, an address that stays, or the log', async () => {
  const [ada, email] = [await person(), await connect.newUser()]
  const made = await link({ providers: ['google'] })
  await ada.page.goto(made.url)
  const nonce = await ada.page.locator('input[name=nonce]').inputValue()
  await pressContinue(ada.page)
  const asked = new URL(ada.page.url()).searchParams.get('state')!
  const [cookie] = await ada.context.cookies(connect.app.address)
  await ada.page.getByRole('button', { name: email }).click()
  const callback = ada.page.waitForRequest(/\/connect\/callback\//)
  await consent(ada.page)
  const code = new URL((await callback).url()).searchParams.get('code')!
  await connect.returned(ada.page)

  const secrets = [made.token, nonce, asked, code, ...(cookie?.value.split('.') ?? [])]
  expect(secrets.every(secret => secret.length >= 20)).toBe(true)
  // Pages of the service and of the provider may get addresses of their own origin.
  const sent = (await ada.requests()).filter(
    ({ url, referer }) => referer !== null && new URL(url).origin !== new URL(referer).origin,
  )
  expect(sent.length).toBeGreaterThan(0)
  const text = JSON.stringify([sent.map(({ referer }) => referer), connect.site.requests, ada.page.url()])
  for (const secret of secrets) {
    expect(text).not.toContain(secret)
    expect(connect.app.logLines.join('')).not.toContain(secret)
  }
})

test('with https the cookie is bound to the host, and the form to the address of the service', async () => {
  await using app = await openTestApp({
    config: {
      baseUrl: 'https://mail.example.com',
      googleClientId: 'sandbox',
      googleClientSecret: new Secret('sandbox-secret'),
    },
  })
  const { body } = await app.post<{ url: string }>('/v1/connect-sessions', { providers: ['google'] })
  expect(body.url).toMatch(/^https:\/\/mail\.example\.com\/connect\//)
  const url = `${app.address}${new URL(body.url).pathname}`
  const [, nonce = ''] = /name="nonce" value="(.*?)"/.exec(await (await fetch(url)).text()) ?? []
  const post = (origin: string) =>
    fetch(url, {
      method: 'POST',
      headers: { origin },
      body: new URLSearchParams({ do: 'continue', provider: 'google', nonce }),
      redirect: 'manual',
    })
  expect((await post(app.address)).status).toBe(403)
  const begun = await post('https://mail.example.com')
  expect(begun.status).toBe(303)
  expect(begun.headers.get('location')).toMatch(/^https:\/\/accounts\.google\.com\//)
  expect(begun.headers.get('set-cookie')).toMatch(
    /^__Host-waxwing_connect_\w+=[\w.-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  )
})

const HOSTILE = (allowed: URL): string[] => [
  `//${allowed.host}${allowed.pathname}`,
  `https:\\\\${allowed.host}${allowed.pathname}`,
  `${allowed.origin}@evil.example${allowed.pathname}${allowed.search}`,
  `${allowed.protocol}//user@${allowed.host}${allowed.pathname}${allowed.search}`,
  `${allowed.protocol}//user:pass@${allowed.host}${allowed.pathname}${allowed.search}`,
  `${allowed.origin}/%2e%2e${allowed.pathname}${allowed.search}`,
  `${allowed.origin}/.${allowed.pathname}${allowed.search}`,
  `${allowed.origin}/x/..${allowed.pathname}${allowed.search}`,
  `${allowed.protocol}//${allowed.hostname}:1${allowed.pathname}${allowed.search}`,
  `${allowed.protocol}//${allowed.hostname}${allowed.pathname}${allowed.search}`,
  allowed.href.replace('/connected', '/Connected'),
  allowed.href.replace('localhost', 'LOCALHOST'),
  allowed.href.replace('localhost', 'localhost.'),
  allowed.href.replace('localhost', 'loc\u0430lhost'),
  allowed.href.replace('localhost', '127.0.0.1'),
  `${allowed.href}#fragment`,
  `${allowed.href}#`,
  `${allowed.href}&more=1`,
  `${allowed.href} `,
  ` ${allowed.href}`,
  `${allowed.href}\n`,
  `${allowed.href}%00`,
  `${allowed.origin}${allowed.pathname}`,
  `${allowed.origin}${allowed.pathname}/${allowed.search}`,
  'javascript:alert(1)',
  'data:text/html,<script>alert(1)</script>',
  'vbscript:x',
  'file:///etc/passwd',
  'about:blank',
  'https://evil.example/',
]

test('no address but those of the settings is returned to', SOAK, async () => {
  const hostile = HOSTILE(new URL(connect.site.redirectUri))
  for (const redirectUri of hostile) {
    for (const path of ['/v1/connect-sessions', '/v1/oauth-authorizations']) {
      const body = { redirectUri, ...(path.endsWith('authorizations') && { provider: 'google' }) }
      const { status, body: answer } = await connect.app.post<{ code: string }>(path, body)
      expect([redirectUri, status < 300]).toEqual([redirectUri, false])
      expect(answer.code).toMatch(/^(redirect_uri_not_allowed|invalid_input)$/)
    }
  }
  for (const uri of [
    'javascript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    'file:///etc/passwd',
    'http://evil.example/',
  ])
    expect((await connect.app.patch('/v1/settings', { redirectUris: [uri] })).status).toBe(400)
})
