import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ReferencePages,
  formOf,
  isInWindow,
  openReferencePages,
  overflowOf,
} from '../../../test/reference-page.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { SOAK } from '../../../test/soak.ts'

let pages: ReferencePages
beforeAll(async () => void (pages = await openReferencePages()))
afterAll(() => pages?.[Symbol.asyncDispose]())

const currentLink = (page: Page) => page.locator('nav [aria-current=location]')

describe('the pages of the reference', () => {
  test('load nothing from other origins and obey their content policy', async () => {
    await using opened = await pages.open('/docs')
    const { page, requested, violations } = opened
    const section = page.locator('nav a[href="/docs/reference/accounts"]')
    await section.click()
    await page.locator('.operation').first().locator('summary').first().click()
    await page.locator('.snippet').first().waitFor()
    expect(requested.length).toBeGreaterThan(3)
    const isOurs = (request: string) => request.startsWith(`GET ${pages.app.address}/docs`)
    expect(requested.filter(request => !isOurs(request))).toEqual([])
    expect(violations).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })

  test('show examples of responses at once, under the usual headings, and their JSON in colour at any width', async () => {
    await using opened = await pages.open('/docs/reference/accounts#accounts.list')
    const operation = opened.page.locator('[data-operation="accounts.list"]')
    const example = operation.getByRole('region', { name: 'Example of response 200' })
    await example.waitFor()

    expect(JSON.parse((await example.textContent()) ?? '')).toMatchObject({ nextCursor: null })
    expect(await operation.locator('h3').allTextContents()).toEqual(['Request', 'Response 200', 'Errors'])
    expect(await opened.page.locator('main').textContent()).not.toMatch(/Refusals|Answer \d/)

    const { page, violations } = opened
    const id = example.locator('.json-string', { hasText: /^"[0-9a-f-]{36}"$/ }).first()
    const kinds = ['key', 'string', 'number', 'word']
    const colourOf = (kind: string) =>
      `getComputedStyle(document.querySelector('details[open] .json-${kind}')).color`
    for (const width of [390, 1400]) {
      await page.setViewportSize({ width, height: 800 })
      const lines = await id.evaluate(element => element.getClientRects().length)
      const colours = await page.evaluate(`[${kinds.map(colourOf).join()}]`)
      const colourCount = new Set(colours as string[]).size
      const overflow = await overflowOf(page)
      expect({ width, lines, colourCount, overflow }).toEqual({
        width,
        lines: 1,
        colourCount: kinds.length,
        overflow: 0,
      })
    }
    expect(violations).toEqual([])
  })

  test('keep Send visible from the beginning of a long form to its end', SOAK, async () => {
    const viewport = { width: 1400, height: 600 }
    await using opened = await pages.open('/docs/reference/messages#messages.list', { viewport })
    const form = formOf(opened.page, 'messages.list')
    const button = form.getByRole('button', { name: 'Send' })
    await button.waitFor()
    expect(await form.evaluate(element => element.clientHeight)).toBeGreaterThan(900)

    for (const field of ['accountId', 'hasAttachments', 'cursor']) {
      await form.getByLabel(field, { exact: true }).evaluate(element => element.scrollIntoView())
      expect({ field, isInReach: await isInWindow(opened.page, button) }).toEqual({ field, isInReach: true })
    }
    await form.locator('.snippet').evaluate(element => element.scrollIntoView({ block: 'end' }))
    expect(await isInWindow(opened.page, button)).toBe(true)
  })

  test('mark the current operation in the navigation, on a phone and in a wide window', SOAK, async () => {
    const viewport = { width: 390, height: 700 }
    await using opened = await pages.open('/docs/reference/threads#threads.get', { viewport })
    const { page } = opened
    const here = page.locator('.here')
    for (const width of [390, 1400]) {
      await page.setViewportSize({ width, height: 700 })
      await page.goto(`${pages.app.address}/docs/reference/threads#threads.get`)
      await waitUntil(
        'the place',
        async () => (await here.textContent()) === ' · Read a thread with its messages, oldest first',
      )
      expect(await currentLink(page).getAttribute('href')).toBe('#threads.get')
      if (width === 1400) expect(await isInWindow(page, currentLink(page))).toBe(true)
      await page.evaluate('scrollTo(0, 0)')
    }
  })

  test('can be read without a script', async () => {
    await using opened = await pages.open('/docs/reference/messages#messages.list', {
      javaScriptEnabled: false,
    })
    const { page } = opened
    await page.getByText('Part of the sender’s address').first().waitFor()
    expect(await page.getByText('Send', { exact: true }).first().isVisible()).toBe(false)
    expect(await page.getByRole('searchbox').isVisible()).toBe(false)
  })

  test('are where the links to the one page lead that they were once', async () => {
    await using withoutScript = await pages.open('/docs#messages.list', { javaScriptEnabled: false })
    await withoutScript.page.locator(':target a').click()
    expect(withoutScript.page.url()).toBe(`${pages.app.address}/docs/reference/messages#messages.list`)
    await withoutScript.page.getByText('Part of the sender’s address').first().waitFor()

    for (const [old, now] of [
      ['messages.list', 'messages#messages.list'],
      ['schema-Account', 'schemas#schema-Account'],
      ['schema-ChangeEvent.message.created', 'events#messagecreated'],
      ['errors', 'reasons'],
    ]) {
      await using opened = await pages.open(`/docs#${old}`)
      await opened.page.waitForURL(`${pages.app.address}/docs/reference/${now}`)
    }
  })

  test('are where the root path redirects browsers', async () => {
    const answer = await fetch(pages.app.address, { redirect: 'manual' })
    expect({ status: answer.status, to: answer.headers.get('location') }).toEqual({
      status: 302,
      to: '/docs',
    })
  })
})

describe('the files of the reference', () => {
  const paths = [
    '/docs',
    '/docs/guides/errors',
    '/docs/guides/errors.md',
    '/docs/reference.js',
    '/llms.txt',
    '/v1/openapi.json',
  ]

  test.each(paths)('sends %s compressed, and again only if it has changed', async path => {
    const ask = (headers: Record<string, string>) => fetch(`${pages.app.address}${path}`, { headers })
    const plain = await ask({ 'accept-encoding': 'identity' })
    const gzipped = await ask({ 'accept-encoding': 'br;q=0.5, GZIP' })
    expect([plain.headers.get('content-encoding'), gzipped.headers.get('content-encoding')]).toEqual([
      null,
      'gzip',
    ])
    expect(await gzipped.text()).toBe(await plain.text())
    expect((await ask({ 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding')).toBeNull()
    expect(gzipped.headers.get('etag')).not.toBe(plain.headers.get('etag'))

    for (const first of [plain, gzipped]) {
      expect(first.status).toBe(200)
      expect(first.headers.get('vary')).toMatch(/Accept-Encoding/)
      expect(first.headers.get('cache-control')).toBe('no-cache')
      expect(first.headers.get('x-content-type-options')).toBe('nosniff')
      expect(first.headers.get('content-security-policy')).toMatch(
        /default-src 'none'.*frame-ancestors 'none'/,
      )
      expect(first.headers.get('set-cookie')).toBeNull()
      const again = await ask({ 'if-none-match': `"other", W/${first.headers.get('etag')}` })
      expect([again.status, await again.text()]).toEqual([304, ''])
    }
  })
})
