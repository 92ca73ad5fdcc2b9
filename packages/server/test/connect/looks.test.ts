import { expect, test } from 'vitest'
import { hasFocus, overflowOf } from '../reference-page.ts'
import { type Link, type Person, useConnect } from './open-connect.ts'
import { beginAt } from './people.ts'
import { casesFor } from '../soak.ts'

const connect = useConnect()
const { person, link } = connect

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const

/** Opens each page of a flow. A page that has the heading of the page before it is waited for here. */
const PAGES: Record<string, { heading: string; open(ada: Person): Promise<unknown> }> = {
  'the page of choice': {
    heading: 'Connect your mailbox',
    open: async ({ page }) => page.goto((await link()).url),
  },
  'an address that is none': {
    heading: 'Connect your mailbox',
    async open(ada) {
      await typeAddress(ada, 'ada@')
      await ada.page.getByText('Enter a full email address').waitFor()
    },
  },
  'the page of Continue': {
    heading: 'Continue to Google',
    open: async ({ page }) => page.goto((await link({ providers: ['google'], loginHint: LONG })).url),
  },
  'the form of a mailbox': {
    heading: 'Connect your mailbox',
    async open(ada) {
      await typeAddress(ada, 'ada@icloud.com')
      await ada.page.locator('#password').waitFor()
    },
  },
  'its servers, all wrong': {
    heading: 'Connect your mailbox',
    async open(ada) {
      await typeAddress(ada, LONG)
      await ada.page.getByText('Outgoing mail (SMTP): as incoming mail').click()
      for (const field of ['imapHost', 'imapPort', 'smtpHost', 'smtpPort'])
        await ada.page.locator(`#${field}`).fill('imaps://x')
      await ada.page.getByRole('button', { name: 'Connect' }).click()
      await ada.page.locator('#smtpPort-error').waitFor()
    },
  },
  'a sign-in again': {
    heading: 'Sign in again',
    async open({ page }) {
      const { accountId } = await connect.connectNew()
      await page.goto((await link({ accountId })).url)
    },
  },
  'the end of a flow': { heading: 'Your mailbox is connected', open: ada => end(ada, 'allow') },
  'a flow that was cancelled': {
    heading: 'Cancelled',
    async open({ page }) {
      await page.goto((await link({ redirectUri: undefined })).url)
      await page.getByRole('button', { name: 'Cancel' }).click()
    },
  },
  'a flow that failed': { heading: 'Access was not granted', open: ada => end(ada, 'deny') },
  'a return that belongs to nothing': {
    heading: 'This sign-in cannot be finished here',
    open: ({ page }) => page.goto(`${connect.app.address}/connect/callback/google?code=x&state=y`),
  },
  'a link that does not work': {
    heading: 'This link does not work',
    open: ({ page }) => page.goto(`${connect.app.address}/connect/${'A'.repeat(43)}`),
  },
}
const LONG = `a.rather.long.address.of.somebody.${'x'.repeat(30)}@nowhere.test`

async function typeAddress({ page }: Person, email: string) {
  await page.goto((await link()).url)
  await page.getByLabel('Your email address').fill(email)
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
}

async function end({ page }: Person, answer: 'allow' | 'deny') {
  const email = await connect.newUser()
  const made: Link = await link({ providers: ['google'], redirectUri: undefined })
  await beginAt(page, made)
  const { redirectUrl } = await connect.sandbox.authorize(page.url(), email, { deny: answer === 'deny' })
  await page.goto(redirectUrl)
}

/** Texts whose contrast is below 4.5, and those below the least size of a control (WCAG 2.2, 1.4.3 and 2.5.8). */
const FAULTS = `(() => {
  const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(one => one / 255)
      .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const groundOf = one => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor
      if (!/, 0\\)$/.test(colour)) return colour
    }
    return 'rgb(255, 255, 255)'
  }
  const faults = []
  for (const one of document.querySelectorAll('main *')) {
    if (!one.checkVisibility() || ['SCRIPT', 'OPTION'].includes(one.tagName)) continue
    const hasText = [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    if (hasText || one.matches('input, select')) {
      const [a, b] = [light(getComputedStyle(one).color), light(groundOf(one))]
      const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
      if (contrast < 4.5) faults.push('contrast ' + contrast.toFixed(2) + ': ' + one.outerHTML.slice(0, 80))
    }
    const { height } = one.getBoundingClientRect()
    if (one.matches('button, .button, select, summary, input:not([type=hidden], [type=checkbox])') && height < 44)
      faults.push('height ' + height + ': ' + one.outerHTML.slice(0, 80))
    if (one.matches('input:not([type=hidden]), select') && one.labels.length !== 1)
      faults.push('label: ' + one.outerHTML.slice(0, 80))
    for (const id of (one.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean))
      if (!document.getElementById(id)) faults.push('describedby: ' + id)
  }
  const ids = [...document.querySelectorAll('[id]')].map(one => one.id)
  if (new Set(ids).size !== ids.length) faults.push('ids: ' + ids)
  return faults
})()`

const SHOWN = casesFor(Object.entries(PAGES), (_, at) => at % 4 === 0)

test.each(SHOWN)('%s can be read and used, light and dark on a phone', async (_, shown) => {
  const ada = await person()
  await shown.open(ada)
  const { page } = ada
  await page.getByRole('heading', { level: 1, name: shown.heading }).waitFor()
  expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
  expect(await page.locator('html').getAttribute('lang')).toBe('en')
  for (const { colorScheme, viewport } of LOOKS) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(viewport)
    expect([colorScheme, await page.evaluate(FAULTS)]).toEqual([colorScheme, []])
    expect(await overflowOf(page)).toBe(0)
  }
  expect(ada.complaints).toEqual([])
  const hosts = (await ada.requests()).map(({ url }) => new URL(url).hostname)
  expect(hosts.filter(host => !['127.0.0.1', 'localhost', ''].includes(host))).toEqual([])
})

test('the keyboard reaches everything in the order of the page', async () => {
  const { page } = await person()
  await page.goto((await link()).url)
  for (const [role, name] of [
    ['textbox', 'Your email address'],
    ['button', 'Continue'],
    ['button', 'Cancel'],
    ['link', 'Sign in with Google'],
  ] as const) {
    await page.keyboard.press('Tab')
    expect([name, await hasFocus(page, page.getByRole(role, { name, exact: true }))]).toEqual([name, true])
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  }
})

test('every answer keeps out of caches, frames and referrers', async () => {
  const { app } = connect
  const made = await link({ providers: ['google'] })
  const form = await fetch(made.url)
  expect(Object.fromEntries(form.headers)).toMatchObject({
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-robots-tag': 'noindex, nofollow',
  })
  const policy = form.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^default-src 'none';/)
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).toContain("require-trusted-types-for 'script'")
  expect(policy).not.toMatch(/form-action|unsafe|https?:/)
  const invalid = await fetch(`${app.address}/connect/callback/google`)
  expect([invalid.status, invalid.headers.get('referrer-policy')]).toEqual([400, 'no-referrer'])
  expect(invalid.headers.get('content-security-policy')).not.toContain('script-src')
  const cancelled = await fetch(made.url, {
    method: 'POST',
    headers: { origin: app.address },
    body: new URLSearchParams({ do: 'cancel' }),
    redirect: 'manual',
  })
  expect([cancelled.status, cancelled.headers.get('referrer-policy')]).toEqual([303, 'no-referrer'])
  expect(cancelled.headers.get('cache-control')).toBe('no-store')
})

test('the name of a tenant is shown as text', async () => {
  const other = await connect.app.createTenant('<img src=x onerror=alert(1)>"\'&')
  const { body } = await other.post<{ url: string }>('/v1/connect-sessions', { loginHint: "o'neil@x.test" })
  const ada = await person()
  await ada.page.goto(body.url)
  expect(await ada.page.getByRole('strong').first().textContent()).toBe('<img src=x onerror=alert(1)>"\'&')
  expect(await ada.page.locator('img').count()).toBe(0)
  expect(await ada.page.getByLabel('Your email address').inputValue()).toBe("o'neil@x.test")
  expect(ada.complaints).toEqual([])
})

const PAYLOADS = [
  `"><img src=x onerror=alert(1)>`,
  `'><script>alert(1)</script>`,
  `</title></textarea></script><svg onload=alert(1)>`,
  `" autofocus onfocus="alert(1)`,
  'javascript:alert(1)//&lt;&amp;&#x3c;',
]
const SHOWN_AGAIN = ['email', 'imapHost', 'imapPort', 'imapUser', 'smtpHost', 'smtpPort', 'smtpUser']

/** Posts a form from the page that is shown. */
const postForm = (fields: Record<string, string>) => `
  const form = Object.assign(document.createElement('form'), { method: 'post' })
  for (const [name, value] of Object.entries(${JSON.stringify(fields)}))
    form.append(Object.assign(document.createElement('input'), { name, value }))
  document.body.append(form)
  form.submit()`

test('input of a person is shown as text, in every field', async () => {
  const ada = await person()
  const { page } = ada
  page.on('dialog', dialog => void ada.complaints.push(dialog.message()))
  // Each form is posted from the page that answers the one before.
  await page.goto((await link()).url)
  for (const payload of PAYLOADS) {
    for (const [action, names] of [
      ['find', ['email']],
      ['connect', [...SHOWN_AGAIN, 'imapSecurity', 'smtpSecurity']],
    ] as const) {
      const fields = Object.fromEntries(names.map(name => [name, payload]))
      const [answer] = await Promise.all([
        page.waitForResponse(response => response.request().method() === 'POST'),
        page.evaluate(postForm({ do: action, ...fields })),
      ])
      expect(answer.status()).toBe(422)
      await page.waitForLoadState()
      for (const name of SHOWN_AGAIN.filter(shown => names.some(one => one === shown)))
        expect([name, await page.locator(`#${name}`).inputValue()]).toEqual([name, payload])
      expect(await page.locator('img, svg, iframe, [onfocus], [onerror], [onload]').count()).toBe(0)
    }
  }
  expect(ada.complaints).toEqual([])
})
