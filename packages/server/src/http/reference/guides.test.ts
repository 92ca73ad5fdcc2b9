import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ReferencePages, openReferencePages, overflowOf } from '../../../test/reference-page.ts'
import { GUIDES, makeGuide } from './guides.ts'

let pages: ReferencePages
beforeAll(async () => void (pages = await openReferencePages()))
afterAll(() => pages?.[Symbol.asyncDispose]())

describe('the guides', () => {
  test('are linked from the reference, and none of their links is broken', async () => {
    await using opened = await pages.open('/docs')
    const { page, violations } = opened
    const ownLinks = async () => {
      const links = await page
        .locator('main a[href], nav a[href]')
        .evaluateAll(all => all.map(link => link.getAttribute('href') ?? ''))
      return links
        .map(link => new URL(link, page.url()).href)
        .filter(link => link.startsWith(pages.app.address))
    }
    const guides = GUIDES.map(name => `${pages.app.address}/docs/guides/${name}`)
    expect(await ownLinks()).toEqual(expect.arrayContaining(guides))

    const links = new Set(
      (await ownLinks()).filter(link => new URL(link).pathname.startsWith('/docs/guides/')),
    )
    for (const guide of guides) {
      await page.goto(guide)
      expect(await page.locator('h1').count()).toBe(1)
      expect(await page.locator('nav [aria-current=page]').getAttribute('href')).toBe(new URL(guide).pathname)
      for (const link of await ownLinks()) links.add(link)
    }
    const texts = new Map<string, string | null>()
    for (const link of links) {
      const { hash, pathname } = new URL(link)
      if (!texts.has(pathname)) {
        const answer = await fetch(pages.app.address + pathname)
        texts.set(pathname, answer.ok ? await answer.text() : null)
      }
      const isThere = texts.get(pathname)?.includes(hash === '' ? '' : `id="${hash.slice(1)}"`) === true
      expect({ link, isThere }).toEqual({ link, isThere: true })
    }
    expect(violations).toEqual([])
  })

  test.each([
    ['ARCHITECTURE', 404],
    ['nothing', 404],
    ['errors.md', 404],
    ['%2e%2e/README', 404],
    ['..%2f..%2fpackage', 400],
  ])('are a fixed list without %s', async (name, status) => {
    expect((await fetch(`${pages.app.address}/docs/guides/${name}`)).status).toBe(status)
  })

  test.each([390, 800])('fit a window %i pixels wide, including tables and code', async width => {
    await using opened = await pages.open('/docs/guides/limits', { viewport: { width, height: 800 } })
    expect(await overflowOf(opened.page)).toBe(0)
  })

  test.each([
    ['a <b>bold</b> word', '<p>a &lt;b&gt;bold&lt;/b&gt; word</p>\n'],
    ['<script>1</script>\n', '&lt;script&gt;1&lt;/script&gt;\n'],
    [
      '```json\n{"a": "<b>"}\n```',
      '<pre tabindex="0" data-language="json">{&quot;a&quot;: &quot;&lt;b&gt;&quot;}</pre>\n',
    ],
    ['[pages](pagination.md#cursors)', '<p><a href="/docs/guides/pagination#cursors">pages</a></p>\n'],
    [
      '[the document](../packages/contract/openapi.json)',
      '<p><a href="/v1/openapi.json">the document</a></p>\n',
    ],
    ['[a decision](decisions/0010-stored-messages.md)', '<p>a decision</p>\n'],
    ['[a script](javascript:alert)', '<p>a script</p>\n'],
    ['![an image](https://elsewhere.example/x.png)', '<p>an image</p>\n'],
    [
      '## Where: `it` & "that"',
      '<h2 id="where-it--that">Where: <code>it</code> &amp; &quot;that&quot;</h2>\n',
    ],
  ])('render %j', (markdown, html) => {
    expect(makeGuide('test', markdown).content).toBe(html)
  })
})
