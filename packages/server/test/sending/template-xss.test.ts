import type { RenderedTemplate } from '@waxwing/contract/sending/templates.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium, openContext } from '../chromium.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { ACTIVE_MARKUP } from './active-markup.ts'

let app: TestApp
let browser: Browser
beforeAll(async () => {
  browser = await launchChromium()
  app = await openTestApp()
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await browser.close()
})

async function render(body: object): Promise<string> {
  const answer = await app.post<RenderedTemplate>('/v1/template-renders', body)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
  return answer.body.html ?? ''
}

/** Elements that mail needs, and their attributes. */
const HARMLESS =
  /^(?:html|head|body|p|h[1-6]|ul|ol( start)?|li|blockquote|pre|code|strong|em|del|br|hr|table|thead|tbody|tr|t[hd]( align)?|div style|div|a href( title)?|img src alt( title)?)$/
const PROTOCOLS = /^(?:https?|mailto|tel|cid):$/

/** Finds scripts that ran in a browser, and elements and targets of the HTML that could run one. */
async function findActive(html: string): Promise<string[]> {
  const context = await openContext(browser)
  try {
    const page = await context.newPage()
    const found: string[] = []
    page.on('dialog', dialog => {
      found.push(`ran: ${dialog.message()}`)
      // The page may close first.
      dialog.dismiss().catch(() => {})
    })
    await page.route('**/*', route => route.abort())
    await page.setContent(html, { waitUntil: 'load' })
    await page.evaluate('for (const element of document.querySelectorAll("*")) element.focus?.()')
    const elements = await page.evaluate<Array<[string, string]>>(
      `[...document.querySelectorAll('*')].map(element => [
        [element.localName, ...element.getAttributeNames().sort((a, b) => 'hsat'.indexOf(a[0]) - 'hsat'.indexOf(b[0]))].join(' '),
        element.getAttribute('href') ?? element.getAttribute('src') ?? '',
      ])`,
    )
    for (const [shape, target] of elements) {
      if (!HARMLESS.test(shape)) found.push(shape)
      if (target !== '' && !PROTOCOLS.test(new URL(target, 'https://base.example').protocol))
        found.push(target)
    }
    return found
  } finally {
    await context.close()
  }
}

/** Several renders on one page: what is escaped leaves nothing open that swallows the next. */
const onOnePage = (pages: readonly string[]) => pages.join('\n<hr>\n')

async function renderAll(bodyOf: (markup: string) => object): Promise<string> {
  const pages: string[] = []
  for (const markup of ACTIVE_MARKUP) pages.push(await render(bodyOf(markup)))
  return onOnePage(pages)
}

describe('in a browser', () => {
  test('the markup would run without escaping', async () => {
    for (const markup of ACTIVE_MARKUP.slice(0, 3)) {
      const found = await findActive(`<div>${markup}</div>`)
      expect(found).toContain('ran: 1')
    }
    const found = await findActive(onOnePage(ACTIVE_MARKUP.filter(markup => markup.startsWith('<img'))))
    expect(found.filter(each => each === 'ran: 1').length).toBeGreaterThan(2)
  })

  test('nothing runs of Markdown, and it has no other elements than text needs', async () => {
    const page = await renderAll(html => ({ format: 'markdown', html }))
    expect(await findActive(page)).toEqual([])
  })

  const markdown =
    '# {{x}}\n\n{{x}} [a]({{x}}) ![{{x}}]({{x}} "{{x}}") `{{x}}`\n\n| {{x}} |\n|---|\n| {{x}} |\n'
  const html = '<p>{{x}}</p><div style="{{x}}"></div><img src="cid:a" alt="{{x}}">'
  test.each<[string, object]>([
    ['a value in Markdown', { format: 'markdown', html: markdown, previewText: '{{x}}' }],
    ['a value in HTML and its preview', { html, previewText: 'a {{x}}' }],
    ['a raw value in a preview', { html: '<p>x</p>', previewText: '{{{x}}}' }],
  ])('nothing runs of %s', async (_, fields) => {
    const source = JSON.parse(JSON.stringify(fields).replaceAll('{{x}}', '{{params.x}}')) as object
    const page = await renderAll(x => ({ ...source, params: { x } }))
    expect(await findActive(page)).toEqual([])
  })

  test('nothing runs of a preview', async () => {
    const page = await renderAll(previewText => ({ html: '<p>x</p>', previewText }))
    expect(await findActive(page)).toEqual([])
  })
})
