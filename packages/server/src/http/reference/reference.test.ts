import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import openapiDocument from '@waxwing/contract/openapi.json' with { type: 'json' }
import { type Browser, type Page, chromium } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, openTestApp } from '../../../test/open-app.ts'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { requireChromium } from '../../../test/servers/install.ts'

const run = promisify(execFile)
const HOSTILE = '<img src=x onerror="globalThis.isHacked = true"><script>globalThis.isHacked = true</script>'

let browser: Browser
let app: TestApp
beforeAll(async () => {
  // Root has no sandbox to give, and /dev/shm is small in containers.
  const args = ['--no-sandbox', '--disable-dev-shm-usage']
  browser = await chromium.launch({ executablePath: requireChromium(), args })
  app = await openTestApp()
  await sampleAccount(app.db, app.tenantId, { email: 'ada@example.com', display_name: HOSTILE })
})
afterAll(async () => {
  await browser?.close()
  await app?.[Symbol.asyncDispose]()
})

interface Opened extends AsyncDisposable {
  page: Page
  /** Everything that was asked for, whether it was let through or not. */
  requested: string[]
  /** What the policy stopped, and what a script threw. */
  violations: string[]
}

async function openPage(path: string, options: { javaScriptEnabled?: boolean } = {}): Promise<Opened> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const requested: string[] = []
  const violations: string[] = []
  page.on('request', request => void requested.push(request.url()))
  page.on('pageerror', error => void violations.push(error.message))
  page.on('console', message => {
    if (/Content Security Policy|TrustedHTML/.test(message.text())) violations.push(message.text())
  })
  await page.goto(`${app.address}${path}`)
  return { page, requested, violations, [Symbol.asyncDispose]: () => context.close() }
}

const operationIds = Object.values(openapiDocument.paths).flatMap(methods =>
  Object.values(methods).map(({ operationId }) => operationId),
)

const formOf = (page: Page, operationId: string) => page.locator(`[data-operation="${operationId}"] form`)

describe('GET /docs', () => {
  test('shows every operation, loads nothing from elsewhere and keeps to its policy', async () => {
    await using opened = await openPage('/docs')
    const { page, requested, violations } = opened
    const shown = await page
      .locator('.operation')
      .evaluateAll(all => all.map(one => one.dataset['operation']))

    expect(shown.toSorted()).toEqual(operationIds.toSorted())
    await page.locator('.operation').first().locator('summary').first().click()
    expect(requested.length).toBeGreaterThan(3)
    expect(requested.filter(url => !url.startsWith(`${app.address}/docs`))).toEqual([])
    expect(violations).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })

  test('sends a request with a key that no address shows, and shows the answer as text', async () => {
    await using opened = await openPage('/docs#accounts.list')
    const { page, requested, violations } = opened
    await page.getByLabel('API key').fill(app.key)
    const form = formOf(page, 'accounts.list')
    await form.getByLabel('limit').fill('10')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText('200 OK').waitFor()

    const answer = form.locator('.answer')
    expect(await answer.textContent()).toContain('X-Request-Id')
    const body = JSON.parse((await answer.locator('pre').textContent()) ?? '')
    expect(body).toMatchObject({ items: [{ email: 'ada@example.com', displayName: HOSTILE }] })
    expect(requested).toContain(`${app.address}/v1/accounts?limit=10`)
    expect(requested.join()).not.toContain(app.key)
    expect(await page.evaluate(() => ({ isHacked: 'isHacked' in globalThis }))).toEqual({ isHacked: false })
    expect(await page.locator('img').count()).toBe(0)
    expect(violations).toEqual([])

    const [saved] = await Promise.all([page.waitForEvent('download'), answer.getByText('Save').click()])
    expect(saved.suggestedFilename()).toBe('answer.json')
  })

  test('shows a refusal with its reason', async () => {
    await using opened = await openPage('/docs#accounts.get')
    const form = formOf(opened.page, 'accounts.get')
    await form.getByLabel('accountId').fill('0')
    await form.getByRole('button', { name: 'Send' }).click()
    await form.getByText('401 Unauthorized').waitFor()
    expect(await form.locator('.answer pre').textContent()).toContain('"unauthenticated"')
  })

  test('forgets the key when it is told to, and with the tab', async () => {
    await using opened = await openPage('/docs')
    const { page } = opened
    await page.getByLabel('API key').fill('wk_mine')
    await page.reload()
    expect(await page.getByLabel('API key').inputValue()).toBe('wk_mine')
    const other = await page.context().newPage()
    await other.goto(`${app.address}/docs`)
    expect(await other.getByLabel('API key').inputValue()).toBe('')
    await page.getByRole('button', { name: 'Forget' }).click()
    await page.reload()
    expect(await page.getByLabel('API key').inputValue()).toBe('')
  })

  test('writes a line for a shell that says the same, whatever the body holds', async () => {
    await using opened = await openPage('/docs#accounts.createToken')
    const form = formOf(opened.page, 'accounts.createToken')
    const body = `{"it's": "$HOME \`id\` \\\\ !"}`
    await form.getByLabel('accountId').fill('a/b c')
    await form.getByLabel('Body', { exact: true }).fill(body)
    await form.getByRole('button', { name: 'New key' }).click()
    const idempotencyKey = await form.getByLabel('Idempotency-Key').inputValue()
    const line = await form.locator('.curl').textContent()

    const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }; ${line}`
    const { stdout } = await run('sh', ['-c', script], { env: { WAXWING_KEY: 'wk_1' } })
    expect(stdout.split('\0')).toEqual([
      '-i',
      `${app.address}/v1/accounts/a%2Fb%20c/tokens`,
      '-H',
      'Authorization: Bearer wk_1',
      '-H',
      `Idempotency-Key: ${idempotencyKey}`,
      '-H',
      'Content-Type: application/json',
      '--data-raw',
      body,
      '',
    ])
    expect(idempotencyKey).toMatch(/^[!-~]{16,255}$/)

    await opened.page.goto(`${app.address}/docs#messages.raw`)
    expect(await formOf(opened.page, 'messages.raw').locator('.curl').textContent()).toMatch(/^curl -OJ '/)
  })

  test('opens what a link names, and finds operations by their words', async () => {
    await using opened = await openPage('/docs#messages.list')
    const { page } = opened
    await formOf(page, 'messages.list').getByLabel('hasAttachments').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('servers address')

    await page.getByText('Operations found').waitFor()
    const left = page.locator('.operation:visible')
    expect(await left.evaluateAll(all => all.map(one => one.dataset['operation']))).toContain(
      'autoconfig.find',
    )
    expect(await left.count()).toBeLessThan(operationIds.length / 2)
  })

  test('can be read without a script', async () => {
    await using opened = await openPage('/docs#messages.list', { javaScriptEnabled: false })
    const { page } = opened
    await page.getByText('Part of the sender’s address').first().waitFor()
    expect(await page.getByText('Send', { exact: true }).first().isVisible()).toBe(false)
    expect(await page.getByText('Everything can be read without JavaScript').isVisible()).toBe(true)
  })

  test('is sent again only when it is another', async () => {
    for (const path of ['/docs', '/docs/reference.js', '/v1/openapi.json']) {
      const first = await fetch(`${app.address}${path}`)
      const etag = first.headers.get('etag') ?? ''
      expect(first.status).toBe(200)
      expect(first.headers.get('cache-control')).toBe('no-cache')
      expect(first.headers.get('x-content-type-options')).toBe('nosniff')
      expect(first.headers.get('content-security-policy')).toMatch(
        /default-src 'none'.*frame-ancestors 'none'/,
      )
      expect(first.headers.get('set-cookie')).toBeNull()
      expect((await first.text()).length).toBeGreaterThan(1000)

      const again = await fetch(`${app.address}${path}`, {
        headers: { 'if-none-match': `"other", W/${etag}` },
      })
      expect({ path, status: again.status, text: await again.text() }).toEqual({
        path,
        status: 304,
        text: '',
      })
    }
  })

  test('is where a browser is sent that names no path', async () => {
    const answer = await fetch(app.address, { redirect: 'manual' })
    expect({ status: answer.status, to: answer.headers.get('location') }).toEqual({
      status: 302,
      to: '/docs',
    })
  })
})
