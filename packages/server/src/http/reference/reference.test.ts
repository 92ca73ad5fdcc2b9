import openapiDocument from '@waxwing/contract/openapi.json' with { type: 'json' }
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
import type { OpenapiDocument } from './document.ts'
import { readGuides } from './guides.ts'
import { renderReference } from './page.ts'
import { staticFile } from './static-file.ts'
import { SOAK } from '../../../test/soak.ts'

let pages: ReferencePages
beforeAll(async () => void (pages = await openReferencePages()))
afterAll(() => pages?.[Symbol.asyncDispose]())

const operationIds = Object.values(openapiDocument.paths).flatMap(methods =>
  Object.values(methods).map(({ operationId }) => operationId),
)

const currentLink = (page: Page) => page.locator('nav [aria-current]')

describe('GET /docs', () => {
  test('shows every operation, loads nothing from other origins and obeys its content policy', async () => {
    await using opened = await pages.open('/docs')
    const { page, requested, violations } = opened
    const shown = await page
      .locator('.operation')
      .evaluateAll(all => all.map(one => one.dataset['operation']))

    expect(shown.toSorted()).toEqual(operationIds.toSorted())
    await page.locator('.operation').first().locator('summary').first().click()
    expect(requested.length).toBeGreaterThan(3)
    expect(requested.filter(request => !request.startsWith(`GET ${pages.app.address}/docs`))).toEqual([])
    expect(violations).toEqual([])
    expect(await page.context().cookies()).toEqual([])
  })

  test('shows examples of responses at once, under the usual headings, and their JSON in colour at any width', async () => {
    await using opened = await pages.open('/docs#accounts.list')
    const operation = opened.page.locator('[data-operation="accounts.list"]')
    const example = operation.getByRole('region', { name: 'Example of response 200' })
    await example.waitFor()

    expect(JSON.parse((await example.textContent()) ?? '')).toMatchObject({ nextCursor: null })
    expect(await operation.locator('h4').allTextContents()).toEqual(['Request', 'Response 200', 'Errors'])
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

  test('keeps Send visible from the beginning of a long form to its end', SOAK, async () => {
    await using opened = await pages.open('/docs#messages.list', { viewport: { width: 1400, height: 600 } })
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

  test('marks the current section in the navigation, on a phone and in a wide window', SOAK, async () => {
    await using opened = await pages.open('/docs#threads.get', { viewport: { width: 390, height: 700 } })
    const { page } = opened
    const here = page.locator('.here')
    for (const width of [390, 1400]) {
      await page.setViewportSize({ width, height: 700 })
      await page.goto(`${pages.app.address}/docs#threads.get`)
      await waitUntil(
        'the place',
        async () => (await here.textContent()) === ' · Read a thread with its messages, oldest first',
      )
      expect(await currentLink(page).getAttribute('href')).toBe('#threads.get')
      if (width === 1400) expect(await isInWindow(page, currentLink(page))).toBe(true)

      await page.locator('#errors').evaluate(element => element.scrollIntoView())
      await waitUntil(
        'the current entry',
        async () => (await currentLink(page).getAttribute('href')) === '#errors',
      )
      await page.evaluate('scrollTo(0, 0)')
      await waitUntil('no current entry', async () => (await currentLink(page).count()) === 0)
    }
  })

  test('finds operations by their words, and hides headings without a match', async () => {
    await using opened = await pages.open('/docs#messages.list')
    const { page } = opened
    await formOf(page, 'messages.list').getByLabel('hasAttachments').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('servers address')

    await page.getByText('Found: ').waitFor()
    const left = page.locator('.operation:visible')
    const names = await left.evaluateAll(all => all.map(one => one.dataset['operation']))
    expect(names).toContain('autoconfig.find')
    expect(names.length).toBeLessThan(operationIds.length / 2)

    const sections = await page
      .locator('main h2:visible, main h3:visible')
      .evaluateAll(all =>
        all.map(
          heading => heading.closest('.group, .subgroup')?.querySelector('.unit:not([hidden])') != null,
        ),
      )
    expect(sections.length).toBeGreaterThan(0)
    expect(sections).not.toContain(false)
    const shownIn = (selector: string) =>
      page.locator(`${selector}:visible`).evaluateAll(all => all.map(one => one.textContent.trim()))
    expect(await shownIn('nav h2')).toEqual(await shownIn('main h2'))

    await page.keyboard.press('Enter')
    await page.locator('.operation[open]:visible').first().waitFor()
  })

  test('can be read without a script', async () => {
    await using opened = await pages.open('/docs#messages.list', { javaScriptEnabled: false })
    const { page } = opened
    await page.getByText('Part of the sender’s address').first().waitFor()
    expect(await page.getByText('Send', { exact: true }).first().isVisible()).toBe(false)
    expect(await page.getByText('Everything can be read without JavaScript').isVisible()).toBe(true)
  })

  test('stays small and quick to search with 150 operations', SOAK, async () => {
    const document = documentOf(150)
    const last = `copy${Math.ceil(150 / operationIds.length) - 1}`
    const html = await renderReference(document, readGuides())
    expect(staticFile(html, {}).gzipped.length).toBeLessThan(200_000)

    await using opened = await pages.open('/docs/guides/errors')
    const { page, violations } = opened
    await page.route('**/docs', async route => route.fulfill({ response: await route.fetch(), body: html }))
    await page.goto(`${pages.app.address}/docs#${last}.accounts.list`)
    await formOf(page, `${last}.accounts.list`).getByRole('button', { name: 'Send' }).waitFor()
    expect(await page.locator('.operation').count()).toBeGreaterThanOrEqual(150)
    await waitUntil(
      'the current entry',
      async () => (await currentLink(page).getAttribute('href')) === `#${last}.accounts.list`,
    )
    expect(await isInWindow(page, currentLink(page))).toBe(true)
    await page.getByRole('searchbox').fill('copy1')
    await waitUntil(
      'what is found',
      async () => (await page.locator('.operation:visible').count()) === operationIds.length,
    )
    expect(violations).toEqual([])
  })

  test('is where the root path redirects browsers', async () => {
    const answer = await fetch(pages.app.address, { redirect: 'manual' })
    expect({ status: answer.status, to: answer.headers.get('location') }).toEqual({
      status: 302,
      to: '/docs',
    })
  })
})

describe('the files of the reference', () => {
  const paths = ['/docs', '/docs/guides/errors', '/docs/reference.js', '/v1/openapi.json']

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

/** Repeats the document's operations under other names until there are this many. */
function documentOf(count: number): OpenapiDocument {
  const document = structuredClone(openapiDocument) as unknown as OpenapiDocument
  const { tags, paths } = structuredClone(document)
  for (let copy = 1; operationIds.length * copy < count; copy++) {
    const name = `copy${copy}`
    document.tags.push(...tags.map(tag => ({ ...tag, name: `${name}-${tag.name}` })))
    for (const [path, methods] of Object.entries(paths)) {
      document.paths[path.replace('/v1', `/v1/${name}`)] = Object.fromEntries(
        Object.entries(methods).map(([method, operation]) => [
          method,
          {
            ...operation,
            operationId: `${name}.${operation.operationId}`,
            tags: operation.tags.map(tag => `${name}-${tag}`),
          },
        ]),
      )
    }
  }
  return document
}
