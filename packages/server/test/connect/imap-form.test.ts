import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { tablesWith } from '../database-text.ts'
import { type DnsServer, startDnsServer } from '../dns-server.ts'
import { accountCount, useImapAccounts } from '../imap-accounts.ts'
import { hasFocus, overflowOf } from '../reference-page.ts'
import type { TestUser } from '../servers/mail-server.ts'
import { type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { type Link, type Person, useConnect } from './open-connect.ts'
import { SOAK } from '../soak.ts'

const mail = useImapAccounts()
let dns: DnsServer
let smtp: SmtpSink
beforeAll(async () => {
  smtp = await startSmtpSink({ certificates: mail.certificates })
  dns = await startDnsServer({
    'company.test': { MX: ['10 aspmx.l.google.com'] },
    '_imaps._tcp.mail.test': { SRV: [`0 1 ${mail.dovecot.tlsPort} localhost`] },
    '_submission._tcp.mail.test': { SRV: [`0 1 ${smtp.port} localhost`] },
  })
})
afterAll(async () => {
  await dns[Symbol.asyncDispose]()
  await smtp[Symbol.asyncDispose]()
})
const connect = useConnect(async () => ({
  egressAllow: ['localhost'],
  resolve: async () => ['127.0.0.1'],
  certificateAuthority: mail.authorities,
  autoconfig: { records: dns.resolver, ispdbUrl: 'https://ispdb.test/', httpsPort: 9 },
  config: { trustProxy: ['127.0.0.1'] },
}))

let clients = 0
/** A person with a client address of their own, since logins count for an address. */
function newPerson(): Promise<Person> {
  clients += 1
  return connect.person({ extraHTTPHeaders: { 'x-forwarded-for': `203.0.113.${clients}` } })
}
/** A mailbox at Dovecot, with an address whose servers can be found. */
const newUser = (): Promise<TestUser> => mail.dovecot.addUser(`user${clients}-${Date.now()}@mail.test`)

async function typeAddress({ page }: Person, made: Link, email: string) {
  await page.goto(made.url)
  await page.getByLabel('Your email address').fill(email)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
}

/** The fields for a mailbox at Dovecot that is not sent from. */
const formOf = (email: string, password: string) => ({
  do: 'connect',
  email,
  password,
  imapHost: 'localhost',
  imapPort: String(mail.dovecot.tlsPort),
  imapSecurity: 'tls',
  readOnly: 'on',
})

/** Sends the form of a link without a browser, from a client of this address. */
function postForm(made: Link, client: string, form: Record<string, string>): Promise<Response> {
  const headers = { origin: connect.app.address, 'x-forwarded-for': client }
  const body = new URLSearchParams(form)
  return fetch(made.url, { method: 'POST', headers, body, redirect: 'manual' })
}

describe('an address', () => {
  test('finds its provider, and is passed on to it', async () => {
    const ada = await newPerson()
    await connect.sandbox.addUser('ada@company.test')
    await typeAddress(ada, await connect.link(), 'ada@company.test')
    await ada.page.getByRole('heading', { name: 'Continue to Google' }).waitFor()
    expect(await ada.page.textContent('main')).toContain('Sign in as ada@company.test')
    await ada.page.getByRole('button', { name: 'Continue to Google' }).click()
    expect(new URL(ada.page.url()).searchParams.get('login_hint')).toBe('ada@company.test')
    await ada.page.getByRole('button', { name: 'Continue', exact: true }).click()
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success' })
  })

  test('at a provider that takes passwords, too, may be used with one', SOAK, async () => {
    const ada = await newPerson()
    await typeAddress(ada, await connect.link(), 'ben@company.test')
    await ada.page.getByRole('button', { name: 'Use a password instead' }).click()
    await ada.page.getByLabel('Password', { exact: true }).waitFor()
    expect(await ada.page.textContent('main')).toContain('create an app password')
    const help = ada.page.getByRole('link', { name: 'opens a new window' })
    expect(await help.getAttribute('rel')).toBe('noopener noreferrer')
  })

  test('that is none is asked for again, with the reason beside the field', SOAK, async () => {
    const ada = await newPerson()
    await typeAddress(ada, await connect.link(), 'ada@')
    const field = ada.page.getByRole('textbox', { name: 'Your email address' })
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await hasFocus(ada.page, field)).toBe(true)
    expect(await ada.page.locator('#email-error').textContent()).toContain('full email address')
    expect(await field.getAttribute('aria-describedby')).toContain('email-error')
    expect(await ada.page.title()).toMatch(/^Error: /)
  })
})

describe('a mailbox with a password', () => {
  test('is found by its address, connected by keyboard, and its password kept sealed', async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const made = await connect.link()
    const { page } = ada
    await page.goto(made.url)
    await page.keyboard.press('Tab')
    await page.keyboard.type(user.email)
    await page.keyboard.press('Enter')
    const password = page.getByLabel('Password', { exact: true })
    await password.waitFor()
    expect(await hasFocus(page, password)).toBe(true)
    expect(await page.getByLabel('Email address').inputValue()).toBe(user.email)
    // Looking at a page waits for where it goes, so the page itself reports its text.
    const said = page.waitForEvent('console', message => message.text().includes('Checking the password'))
    await page.evaluate(`new MutationObserver(([{ target }]) => console.log(target.textContent))
      .observe(document.querySelector('[role=status]'), { childList: true })`)
    await page.keyboard.type(user.password)
    await page.keyboard.press('Enter')
    await said

    const session = await made.read()
    expect(await connect.returned(page)).toEqual({
      tab: 'mail',
      status: 'success',
      account_id: (await made.read()).accountId,
      state: 'a b&c',
    })
    expect(session.status === 'pending' || session.status === 'completed').toBe(true)
    const { body } = await connect.app.get<{ imap: object }>(`/v1/accounts/${(await made.read()).accountId}`)
    expect(body).toMatchObject({
      provider: 'imap',
      email: user.email,
      imap: { imap: { host: 'localhost', port: mail.dovecot.tlsPort }, smtp: { port: smtp.port } },
    })
    expect(await tablesWith(connect.app.db, user.password)).toEqual([])
    expect(connect.app.logLines.join('')).not.toContain(user.password)
    expect(ada.complaints).toEqual([])
  })

  test('that refuses the login is reported beside the field, the input but the password stays, and the flow goes on', async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const made = await connect.link({ options: { passwordImap: true }, providers: ['google'] })
    const { page } = ada
    await typeAddress(ada, made, user.email)
    await page.getByText('Server settings').click()
    await page.getByText('Outgoing mail (SMTP): localhost').click()
    await page.getByRole('checkbox', { name: 'Do not send' }).check()
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await page.getByRole('button', { name: 'Connect' }).click()
    await page.locator('#password-error').waitFor()
    const password = page.getByLabel('Password', { exact: true })
    expect(await hasFocus(page, password)).toBe(true)
    expect(await password.getAttribute('aria-describedby')).toContain('password-error')
    // Once: there is no list of faults, and no other field shows it.
    expect(await page.getByText('Logging in did not work').count()).toBe(1)
    expect(await password.inputValue()).toBe('')
    await page.getByText('Outgoing mail (SMTP): not used').click()
    expect(await page.getByRole('checkbox', { name: 'Do not send' }).isChecked()).toBe(true)
    await password.focus()
    expect((await made.read()).status).toBe('pending')

    await page.keyboard.type(user.password)
    await page.keyboard.press('Enter')
    expect(await connect.returned(page)).toMatchObject({ status: 'success' })
    const { body } = await connect.app.get(`/v1/accounts/${(await made.read()).accountId}`)
    expect(body).toMatchObject({ imap: { smtp: null } })
  })

  test('shows the same message for a wrong password, a closed port and a forbidden host', SOAK, async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const { page } = ada
    const made = await connect.link({ redirectUri: undefined })
    await typeAddress(ada, made, user.email)
    await page.getByText('Server settings').click()
    const server = page.getByRole('group', { name: 'IMAP' })
    const texts: (string | null)[] = []
    for (const [host, port] of [
      ['localhost', String(mail.dovecot.tlsPort)],
      ['localhost', '9'],
      ['169.254.169.254', '993'],
    ] as const) {
      await server.getByLabel('Server').fill(host)
      await server.getByLabel('Port').fill(port)
      await page.getByLabel('Password', { exact: true }).fill('wrong')
      const [answer] = await Promise.all([
        page.waitForResponse(response => response.request().method() === 'POST'),
        page.getByRole('button', { name: 'Connect' }).click(),
      ])
      expect(answer.status()).toBe(422)
      texts.push(await page.locator('#password-error').textContent())
      expect(await page.locator('.wrong, [role=alert]').count()).toBe(1)
    }
    expect(new Set(texts.map(text => text?.trim())).size).toBe(1)
  })

  test('that was not found asks for its servers', SOAK, async () => {
    const ada = await newPerson()
    await typeAddress(ada, await connect.link(), 'ada@nowhere.test')
    await ada.page.getByText('The servers of this address were not found').waitFor()
    await ada.page.getByLabel('Password', { exact: true }).fill('x')
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    await ada.page.locator('#imapHost-error').waitFor()
    expect(await ada.page.locator('#imapHost').getAttribute('aria-invalid')).toBe('true')
    expect(await hasFocus(ada.page, ada.page.locator('#imapHost'))).toBe(true)

    await ada.page.locator('#imapHost').fill('imaps://imap.nowhere.test')
    await ada.page.locator('#imapPort').fill('many')
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    await ada.page.locator('#imapPort-error').waitFor()
    expect(await hasFocus(ada.page, ada.page.locator('#password'))).toBe(true)
    const wrong = await ada.page.locator('.wrong').allTextContents()
    expect(wrong).toEqual([
      'Enter your password.',
      'Enter only the name of the IMAP server, such as imap.example.com.',
      'Enter the port of the IMAP server, a number from 1 to 65535.',
    ])
  })

  test('has the server of its incoming mail for sending, too, if no other is named', SOAK, async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const made = await connect.link()
    const { page } = ada
    await typeAddress(ada, made, 'ada@nowhere.test')
    const placeholders = () =>
      Promise.all(['#imapPort', '#smtpPort'].map(port => page.locator(port).getAttribute('placeholder')))
    expect(await placeholders()).toEqual(['993', '465'])
    expect(await page.locator('#smtpHost').isVisible()).toBe(false)
    const incoming = page.getByRole('group', { name: 'IMAP' })
    await incoming.getByLabel('Server').fill('localhost')
    await incoming.getByLabel('Port').fill(String(mail.dovecot.tlsPort))
    await incoming.getByLabel('Encryption').selectOption('starttls')
    expect(await placeholders()).toEqual(['143', '465'])
    await incoming.getByLabel('Encryption').selectOption('tls')
    await incoming.getByLabel('Login name').fill(user.email)
    await page.getByText('Outgoing mail (SMTP): as incoming mail').click()
    await page.locator('#smtpPort').fill(String(smtp.port))
    await page.locator('#smtpSecurity').selectOption('starttls')
    expect(await placeholders()).toEqual(['993', '587'])
    await page.getByLabel('Password', { exact: true }).fill(user.password)
    await page.getByRole('button', { name: 'Connect' }).click()
    expect(await connect.returned(page)).toMatchObject({ status: 'success' })
    const { body } = await connect.app.get(`/v1/accounts/${(await made.read()).accountId}`)
    expect(body).toMatchObject({
      imap: {
        imap: { host: 'localhost', user: user.email },
        smtp: { host: 'localhost', port: smtp.port, user: user.email },
      },
    })
  })

  test('has a password that can be looked at, and is hidden again before it is sent', SOAK, async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const { page } = ada
    await typeAddress(ada, await connect.link(), user.email)
    const password = page.getByLabel('Password', { exact: true })
    await password.fill('wrong')
    await page.getByRole('button', { name: 'Show Password', exact: true }).click()
    expect(await password.getAttribute('type')).toBe('text')
    await page.getByRole('button', { name: 'Hide Password', exact: true }).waitFor()
    await page.evaluate(`document.forms[0].addEventListener('submit', event => {
      event.preventDefault()
      document.title = document.getElementById('password').type
    })`)
    await page.getByRole('button', { name: 'Connect' }).click()
    expect(await page.title()).toBe('password')
    expect(ada.complaints).toEqual([])
  })

  test('is connected once, however often the form is sent', async () => {
    const user = await newUser()
    const made = await connect.link()
    const before = await accountCount(connect.app)
    const form = formOf(user.email, user.password)
    const post = () => postForm(made, '203.0.113.200', form)
    const answers = await Promise.all(Array.from({ length: 5 }, post))
    const returns = answers.map(answer => answer.headers.get('location') ?? '')
    expect(returns.filter(location => /status=success/.test(location))).toHaveLength(1)
    expect(await accountCount(connect.app)).toBe(before + 1)
    expect(await made.read()).toMatchObject({ status: 'completed' })
    const others = answers.filter(({ status }) => status !== 303)
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const other of others) expect(await other.text()).toContain('is connected')
  })

  test('may be tried five times with a link', SOAK, async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const made = await connect.link()
    const form = formOf(user.email, 'wrong')
    const tried = await Promise.all(Array.from({ length: 4 }, () => postForm(made, '203.0.113.202', form)))
    expect(tried.map(({ status }) => status)).toEqual([422, 422, 422, 422])
    await typeAddress(ada, made, user.email)
    await ada.page.getByLabel('Password', { exact: true }).fill('wrong')
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    await ada.page.getByText('Logging in did not work').first().waitFor()
    await ada.page.getByLabel('Password', { exact: true }).fill(user.password)
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    await ada.page.getByText('There were too many tries with this link').waitFor()
  })

  test('may be tried twenty times in an hour from one address', async () => {
    const form = { ...formOf('nobody@mail.test', 'wrong'), imapPort: '1' }
    const post = (made: Link) => postForm(made, '203.0.113.201', form)
    const links = await Promise.all(Array.from({ length: 4 }, () => connect.link()))
    const answers = await Promise.all(links.flatMap(made => Array.from({ length: 5 }, () => post(made))))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(422))
    const refused = await post(await connect.link())
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.text()).toContain('Try again in an hour')
  })

  test('is looked up thirty times with a link', async () => {
    const made = await connect.link()
    await sql`update connect_session set searches = 30 where id = ${made.id}`.execute(connect.app.db)
    const refused = await postForm(made, '203.0.113.203', { do: 'find', email: 'ada@mail.test' })
    expect(refused.status).toBe(429)
    expect(await refused.text()).toContain('Too many addresses were looked up with this link')
  })

  test('is connected again with its new password only', SOAK, async () => {
    const [ada, user] = [await newPerson(), await newUser()]
    const made = await connect.link()
    await typeAddress(ada, made, user.email)
    await ada.page.getByLabel('Password', { exact: true }).fill(user.password)
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    await connect.returned(ada.page)
    const { accountId } = await made.read()
    await sql`update account set status = 'reauth_required' where id = ${accountId}`.execute(connect.app.db)
    await mail.dovecot.setPassword(user, 'a new secret')

    const again = await connect.link({ accountId })
    await ada.page.goto(again.url)
    await ada.page.getByRole('heading', { name: 'Enter your password again' }).waitFor()
    expect(await ada.page.getByLabel('Email address').inputValue()).toBe(user.email)
    expect(await ada.page.getByText('Server settings').count()).toBe(0)
    await ada.page.getByLabel('Password', { exact: true }).fill('a new secret')
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    expect(await connect.returned(ada.page)).toMatchObject({ status: 'success', account_id: accountId })
    expect((await connect.app.get(`/v1/accounts/${accountId}`)).body).toMatchObject({ status: 'active' })
  })

  test('can be connected on a phone without scripts', async () => {
    clients += 1
    const ada = await connect.person({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
      extraHTTPHeaders: { 'x-forwarded-for': `203.0.113.${clients}` },
    })
    const user = await newUser()
    await typeAddress(ada, await connect.link({ redirectUri: undefined }), user.email)
    await ada.page.getByLabel('Password', { exact: true }).fill(user.password)
    await ada.page.getByRole('button', { name: 'Connect' }).click()
    await ada.page.getByRole('heading', { name: 'Your mailbox is connected' }).waitFor()
    expect(await overflowOf(ada.page)).toBe(0)
  })
})
