import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { answerOf, readState } from './flow-state.ts'
import { useConnect } from './open-connect.ts'
import { beginAt, pressContinue, signIn } from './people.ts'
import { SOAK } from '../soak.ts'

const connect = useConnect()
const { person, link } = connect

describe('Continue', () => {
  test('that is pressed 20 times at once begins one sign-in', SOAK, async () => {
    const ada = await person()
    const made = await link({ providers: ['google'] })
    await ada.page.goto(made.url)
    const nonce = await ada.page.locator('input[name=nonce]').inputValue()
    const post = () =>
      ada.page.request.post(made.url, {
        form: { do: 'continue', provider: 'google', nonce },
        headers: { origin: connect.app.address },
        maxRedirects: 0,
      })
    const answers = await Promise.all(Array.from({ length: 20 }, post))
    const statuses = answers.map(answer => answer.status()).toSorted()
    expect(statuses).toEqual([303, ...Array.from({ length: 19 }, () => 409)])
    const { rows } = await sql`select from connect_attempt where session_id = ${made.id}`.execute(
      connect.app.db,
    )
    expect(rows).toHaveLength(1)

    const begun = answers.find(answer => answer.status() === 303)!
    await ada.page.goto((await answerOf(connect, begun.headers()['location']!)).href)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
  })

  test('that is pressed twice in a hurry leads to the provider', SOAK, async () => {
    const [ada, email] = [await person(), await connect.newUser()]
    const { url } = await link({ providers: ['google'] })
    await ada.page.goto(url)
    await ada.page.getByRole('button', { name: 'Continue to Google' }).dblclick()
    await signIn(ada.page, email)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
    const posts = (await ada.requests()).filter(request => request.url === url && request.method === 'POST')
    expect(posts).toHaveLength(1)
  })

  test('works again after Back', async () => {
    const [ada, email] = [await person(), await connect.newUser()]
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    await ada.page.getByRole('heading', { name: 'Choose an account' }).waitFor()
    await ada.page.goBack()
    await pressContinue(ada.page)
    const again = ada.page.getByText('This page was used already')
    await again.or(ada.page.getByRole('heading', { name: 'Choose an account' })).waitFor()
    if (await again.isVisible()) await pressContinue(ada.page)
    await signIn(ada.page, email)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })

    await ada.page.goto(made.url)
    await ada.page.getByRole('heading', { name: 'Your mailbox is connected' }).waitFor()
  })

  test('that was pressed on a used page shows the page again, with the reason', async () => {
    const ada = await person({ javaScriptEnabled: false })
    const made = await link({ providers: ['google'] })
    await ada.page.goto(made.url)
    const nonce = await ada.page.locator('input[name=nonce]').inputValue()
    await ada.page.request.post(made.url, {
      form: { do: 'continue', provider: 'google', nonce },
      headers: { origin: connect.app.address },
      maxRedirects: 0,
    })
    await pressContinue(ada.page)
    expect(await ada.page.getByRole('alert').textContent()).toContain('Press Continue again')
    await pressContinue(ada.page)
    await ada.page.getByRole('heading', { name: 'Choose an account' }).waitFor()
  })

  test('that was pressed a hundred times with a link asks for a new one', SOAK, async () => {
    const ada = await person()
    const made = await link({ providers: ['google'] })
    await sql`
      insert into connect_attempt (id, session_id, showing, provider, scopes, state_digest, cookie_digest, expires_at)
      select gen_random_uuid(), ${made.id}, gen_random_uuid(), 'google', '{}', sha256(convert_to(n || ${made.id}, 'UTF8')),
        sha256('x'), clock_timestamp()
      from generate_series(1, 100) as n
    `.execute(connect.app.db)
    await ada.page.goto(made.url)
    await pressContinue(ada.page)
    await ada.page.getByRole('heading', { name: 'This link was used too often' }).waitFor()
  })

  test('is taken only from its own page', async () => {
    const ada = await person()
    const made = await link({ providers: ['google'] })
    await ada.page.goto(made.url)
    const nonce = await ada.page.locator('input[name=nonce]').inputValue()
    const before = await readState(connect)
    const form = { do: 'continue', provider: 'google', nonce }
    for (const headers of [{}, { origin: 'null' }, { origin: connect.site.origin }] as Record<
      string,
      string
    >[]) {
      const answer = await ada.page.request.post(made.url, { form, headers, maxRedirects: 0 })
      expect([answer.status(), answer.headers()['set-cookie']]).toEqual([403, undefined])
    }
    const fields = Object.entries(form).map(([name, value]) => `<input name="${name}" value="${value}">`)
    connect.site.pages.set(
      '/attack',
      `<!doctype html><link rel="icon" href="data:,"><form method="post" action="${made.url}">${fields.join('')}<button>Win</button></form>`,
    )
    await ada.page.goto(`${connect.site.origin}/attack`)
    const [answer] = await Promise.all([
      ada.page.waitForResponse(made.url),
      ada.page.getByRole('button', { name: 'Win' }).click(),
    ])
    expect(answer.status()).toBe(403)
    expect(await readState(connect)).toBe(before)
    expect(await ada.context.cookies(connect.app.address)).toEqual([])
  })
})

describe('a link', () => {
  test('that is used, expired or unknown leads to a page about that', async () => {
    const ada = await person()
    const cancelled = await link({ providers: ['google'] })
    await ada.page.goto(cancelled.url)
    await ada.page.getByRole('button', { name: 'Cancel' }).click()
    await connect.returned(ada.page)
    await ada.page.goto(cancelled.url)
    await ada.page.getByRole('heading', { name: 'Cancelled' }).waitFor()

    const expired = await link({ providers: ['google'] })
    await ada.page.goto(expired.url)
    await sql`update connect_session set expires_at = clock_timestamp() where id = ${expired.id}`.execute(
      connect.app.db,
    )
    await pressContinue(ada.page)
    await ada.page.getByRole('heading', { name: 'This link has expired' }).waitFor()
    expect((await ada.page.goto(expired.url))?.status()).toBe(410)
    await ada.page.getByRole('heading', { name: 'This link has expired' }).waitFor()

    expect((await ada.page.goto(`${connect.app.address}/connect/${'A'.repeat(43)}`))?.status()).toBe(404)
    await ada.page.getByRole('heading', { name: 'This link does not work' }).waitFor()
    expect(ada.complaints).toEqual([])
  })

  test('that expires while its user is at the provider returns with that', SOAK, async () => {
    const ada = await person()
    const made = await beginAt(ada.page, await link({ providers: ['google'] }))
    const answer = await answerOf(connect, ada.page.url())
    await sql`update connect_session set expires_at = clock_timestamp() where id = ${made.id}`.execute(
      connect.app.db,
    )
    await ada.page.goto(answer.href)
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'error', error: 'session_expired' })
  })

  test('works in a popup, which is returned to its opener', SOAK, async () => {
    const ada = await person()
    const { url } = await link({ providers: ['google'] })
    connect.site.pages.set(
      '/opener',
      `<!doctype html><link rel="icon" href="data:,"><button onclick="window.popup = open('${url}', 'connect', 'width=480,height=640')">Open</button>`,
    )
    await ada.page.goto(`${connect.site.origin}/opener`)
    const [popup] = await Promise.all([
      ada.page.waitForEvent('popup'),
      ada.page.getByRole('button', { name: 'Open' }).click(),
    ])
    const email = await connect.newUser()
    await pressContinue(popup)
    await signIn(popup, email)
    expect(await connect.returned(popup)).toMatchObject({ status: 'success' })
    expect(await popup.evaluate('window.opener !== null')).toBe(true)
  })

  test('is never framed', async () => {
    const ada = await person()
    const { url } = await link({ providers: ['google'] })
    connect.site.pages.set(
      '/frame',
      `<!doctype html><link rel="icon" href="data:,"><iframe src="${url}"></iframe>`,
    )
    const refused = ada.page.waitForEvent('console', {
      predicate: message => /frame-ancestors/.test(message.text()),
    })
    await ada.page.goto(`${connect.site.origin}/frame`)
    await refused
    expect(await ada.page.frameLocator('iframe').getByRole('button').count()).toBe(0)
  })
})
