import { AxeBuilder } from '@axe-core/playwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { casesFor, SOAK } from '../soak.ts'
import { type ReferencePages, hasFocus, openReferencePages, overflowOf } from '../reference-page.ts'

let pages: ReferencePages
beforeAll(async () => void (pages = await openReferencePages()))
afterAll(() => pages?.[Symbol.asyncDispose]())

/** One page of each type: the list, a guide, operations. The others are long, and are built of the same parts. */
const IN_CI = ['/docs', '/docs/guides/limits', '/docs/reference/drafts#drafts.replace']
const LONG = [
  '/docs/guides/configuration',
  '/docs/reference/schemas',
  '/docs/reference/reasons',
  '/docs/reference/events',
]
const TYPES = casesFor([...IN_CI, ...LONG], at => IN_CI.includes(at))

describe('the documentation', () => {
  test.each([
    ['/docs/guides/errors', 200, 'text/html; charset=utf-8'],
    ['/docs/guides/errors.md', 200, 'text/markdown; charset=utf-8'],
    ['/docs/index.md', 200, 'text/markdown; charset=utf-8'],
    ['/llms.txt', 200, 'text/plain; charset=utf-8'],
    ['/llms-full.txt', 200, 'text/plain; charset=utf-8'],
    ['/docs/search.json', 200, 'application/json'],
    ['/docs/guides/ARCHITECTURE', 404, 'application/json'],
    ['/docs/guides/nothing', 404, 'application/json'],
    ['/docs/site.json', 404, 'application/json'],
    ['/docs/constructor', 404, 'application/json'],
    ['/docs/guides/%2e%2e/README', 404, 'application/json'],
    ['/docs/guides/..%2f..%2fpackage', 400, 'application/json'],
  ])('answers %s with %i', async (at, status, type) => {
    const answer = await fetch(pages.app.address + at)
    expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({ status, type })
  })

  async function findFlaws(colorScheme: 'light' | 'dark', width: number) {
    await using opened = await pages.open('/llms.txt', { viewport: { width, height: 800 }, colorScheme })
    const { page, violations } = opened
    const found: unknown[] = []
    for (const at of TYPES) {
      await page.goto(pages.app.address + at)
      await page.locator('.scripted').waitFor()
      const { violations: flaws } = await new AxeBuilder({ page }).analyze()
      found.push(
        ...flaws.map(({ id, nodes }) => ({ at, id, nodes: nodes.slice(0, 3).map(({ html }) => html) })),
      )
      const overflow = await overflowOf(page)
      if (overflow !== 0) found.push({ at, overflow })
    }
    return [...found, ...violations]
  }

  test('has no flaw for assistive programs on a dark phone, and fits it', async () => {
    expect(await findFlaws('dark', 390)).toEqual([])
  })

  test('has no flaw in light colours, nor in a wide window', SOAK, async () => {
    expect(await findFlaws('light', 390)).toEqual([])
    expect(await findFlaws('light', 1400)).toEqual([])
    expect(await findFlaws('dark', 1400)).toEqual([])
  })

  test('is searched by keyboard alone', async () => {
    await using opened = await pages.open('/docs/guides/limits')
    const { page, violations } = opened
    await page.locator('.scripted').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('verify webhook signature')
    const results = page.locator('#found a')
    await results.first().waitFor()
    expect(await page.locator('#found-count').textContent()).toMatch(/^Found: \d+$/)

    await page.keyboard.press('ArrowDown')
    expect(await hasFocus(page, results.first())).toBe(true)
    await page.keyboard.press('ArrowDown')
    expect(await hasFocus(page, results.nth(1))).toBe(true)
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    expect(await hasFocus(page, page.getByRole('searchbox'))).toBe(true)
    await page.keyboard.press('Escape')
    await page.locator('#found').waitFor({ state: 'hidden' })

    await page.keyboard.type('account_reauth_required')
    await page.getByText('Reason').first().waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/docs/reference/reasons#account_reauth_required')
    expect(violations).toEqual([])
  })
})
