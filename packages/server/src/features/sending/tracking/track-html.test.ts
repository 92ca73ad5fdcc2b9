import fc from '../../../../test/property.ts'
import { type DefaultTreeAdapterTypes, parse } from 'parse5'
import { describe, expect, test, vi } from 'vitest'
import { createLinkTokens } from '../../../kit/link-token.ts'
import { planLinkBase } from '../../../kit/link-base.ts'
import { newId } from '../../../kit/ids.ts'
import {
  HONEYPOT,
  placesFinder,
  readClickToken,
  readOpenToken,
  trackHtml,
  TRACKED_HTML_LENGTH_MAX,
  TRACKED_URLS_MAX,
} from './track-html.ts'
import { findPlaces, findPlacesSteps } from './html-links.ts'
import { openSlicedWork } from '../../../kit/sliced-work.ts'

const base = planLinkBase({ linksUrl: 'https://links.example.com', baseUrl: null, sandboxUrl: null })
const tokens = createLinkTokens(Buffer.alloc(32, 1))
const outboxId = newId()
const options = { outboxId, links: { base, tokens } }
const ALL = { opens: true, clicks: true, honeypot: true }
const CLICKS = { opens: false, clicks: true, honeypot: false }

const CLICK = /https:\/\/links\.example\.com\/t\/c\/([\w-]+)/g

/** The tracked HTML with its links numbered, for reading. */
function shown(html: string, tracking = CLICKS): string {
  return trackHtml(html, tracking, options).html.replaceAll(CLICK, (_, token: string) => {
    const link = readClickToken(tokens, token)
    expect(link?.outboxId).toBe(outboxId)
    return link?.index === HONEYPOT ? '[trap]' : `[${link?.index}]`
  })
}

/** Reverts the changes of tracking. */
function undone(html: string, raws: readonly string[]): string {
  let next = 0
  return html
    .replace(
      /<a href="[^"]*" rel="nofollow" aria-hidden="true"[^>]*><\/a>(?=<img src="https:\/\/links\.)/,
      '',
    )
    .replace(/<img src="https:\/\/links\.example\.com\/t\/o\/[^>]*>/, '')
    .replaceAll(CLICK, () => raws[next++] ?? '(missing)')
}

describe('links', () => {
  test.each([
    ['in double quotes', '<a href="http://x/">x</a>', '<a href="[0]">x</a>'],
    ['in single quotes', "<a href='http://x/'>x</a>", "<a href='[0]'>x</a>"],
    ['without quotes', '<a href=http://x/a?b=1 id=y>x</a>', '<a href=[0] id=y>x</a>'],
    ['without quotes at the end of the tag', '<a href=http://x/>x</a>', '<a href=[0]>x</a>'],
    [
      'with spaces around the equals sign',
      '<A\n HREF =\r\n "HTTP://x/" >x</A>',
      '<A\n HREF =\r\n "[0]" >x</A>',
    ],
    ['with white space in the value', '<a href=" http://x/ ">x</a>', '<a href="[0]">x</a>'],
    [
      'of areas',
      '<map><area shape=rect href="https://x/"/></map>',
      '<map><area shape=rect href="[0]"/></map>',
    ],
    [
      'with the same URL once',
      '<a href="http://x/?a&amp;b">1</a><a href="http://x/?a&b">2</a>',
      '<a href="[0]">1</a><a href="[0]">2</a>',
    ],
    [
      'that were given twice by the first',
      '<a href="http://x/" href="http://y/">x</a>',
      '<a href="[0]" href="http://y/">x</a>',
    ],
    [
      'in a list after a broken tag',
      '<p <a href="http://x/">x</a><a href="http://y/">',
      '<p <a href="http://x/">x</a><a href="[0]">',
    ],
    ['after an unclosed SVG image', '<svg><p><a href="http://x/">', '<svg><p><a href="[0]">'],
    [
      'between comments of Outlook',
      '<!--[if !mso]><!--><a href="http://x/"><!--<![endif]-->',
      '<!--[if !mso]><!--><a href="[0]"><!--<![endif]-->',
    ],
    ['in noscript', '<noscript><a href="http://x/"></noscript>', '<noscript><a href="[0]"></noscript>'],
  ])('%s are replaced', (_, html, expected) => expect(shown(html)).toBe(expected))

  test.each([
    [
      'of other schemes',
      '<a href="mailto:a@b.c"><a href="#x"><a href="/x"><a href="//x/"><a href="javascript:1"><a href="ftp://x">',
    ],
    ['that are no URLs', '<a href="http://"><a href="https://a b/"><a href="http:// x">'],
    ['that are marked', '<a data-track="off" href="http://x/"><a href="http://x/" DATA-TRACK=OFF>'],
    [
      'that are our own',
      '<a href="https://links.example.com/u/token"><a href="https://links.example.com/t/o/other.gif">',
    ],
    [
      'of other elements',
      '<link href="http://x/"><base href="http://x/"><img src="http://x/"><q cite="http://x/">',
    ],
    ['in comments', '<!-- <a href="http://x/"> --><!--[if mso]><a href="http://x/"><![endif]-->'],
    [
      'in text',
      '<title><a href="http://x/"></title><style><a href="http://x/"></style><textarea><a href="http://x/"></textarea>',
    ],
    ['in scripts', '<script>"<a href=\'http://x/\'>"</script><xmp><a href="http://x/"></xmp>'],
    [
      'in attributes',
      '<iframe srcdoc="<a href=&quot;http://x/&quot;>"></iframe><p title=\'<a href="http://x/">\'>',
    ],
    ['in SVG images', '<svg><a href="http://x/"><![CDATA[<a href="http://x/">]]></a></svg>'],
    ['of a tag that does not end', '<p>x</p><a href="http://x/"'],
    ['of end tags', '</a href="http://x/">'],
    ['without a value', '<a href><a href=""><a HREF=>'],
    ['that are too long', `<a href="http://x/${'y'.repeat(5000)}">`],
  ])('%s stay', (_, html) => expect(shown(html)).toBe(html))

  test('beyond the limit stay', () => {
    const html = Array.from(
      { length: TRACKED_URLS_MAX + 2 },
      (_, index) => `<a href="http://x/${index}">`,
    ).join('')
    const { urls } = trackHtml(html + html, CLICKS, options)
    expect(urls).toHaveLength(TRACKED_URLS_MAX)
    expect(shown(html)).toContain(`[${TRACKED_URLS_MAX - 1}]"><a href="http://x/${TRACKED_URLS_MAX}">`)
  })

  test('redirect to the URL as the HTML means it', () => {
    const html =
      '<a href="https://x/?a=1&amp;b=2&copy=3&copy;&#x4e;&NotEqualTilde;&lt"><a href=http://x/&#x26;&quot;>' +
      '<a href="\n http://é.example/ä\t\n">'
    expect(trackHtml(html, CLICKS, options).urls).toEqual([
      'https://x/?a=1&b=2&copy=3©N≂̸<',
      'http://x/&"',
      'http://é.example/ä',
    ])
  })
})

describe('the pixel and the honeypot', () => {
  const added = (html: string) => trackHtml(html, { ...ALL, clicks: false, honeypot: false }, options).html

  test.each([
    ['before the end of the body', '<body>x|</body></html>'],
    ['before the last end of the body', '<body>x</body>y|</body>'],
    ['at the end without a body', '<p>x</p>|'],
    ['at the end of a text', 'just text|'],
    [
      'before the end of the body, not of one in a comment',
      '<body>x<!-- </body> -->|</body><!-- </body> -->',
    ],
    ['before what is left open', '<p>x</p>|<style>p {'],
    ['before a comment that does not end', '<p>x</p>|<!-- x'],
    ['before a tag that does not end', '<p>x</p>|<p class="'],
  ])('stand %s', (_, html) => {
    const [pixel = ''] = /<img[^>]*>/.exec(added(html.replace('|', ''))) ?? []
    expect(added(html.replace('|', ''))).toBe(html.replace('|', pixel))
  })

  test('cannot be seen, and the link is neither read aloud nor reached by keyboard', () => {
    const { html } = trackHtml('<p>x</p>', ALL, options)
    const [trap, pixel] = html.slice('<p>x</p>'.length).split('</a>')
    expect(trap).toMatch(/rel="nofollow" aria-hidden="true" tabindex="-1" style="display:none">$/)
    expect(pixel).toMatch(/^<img src="[^"]*\.gif" width="1" height="1" alt=""/)
    const token = /\/t\/o\/([\w-]+)\.gif/.exec(pixel ?? '')?.[1] ?? ''
    expect(readOpenToken(tokens, token)).toEqual({ outboxId, index: null })
    expect(readClickToken(tokens, token)).toBeNull()
  })
})

/** Pieces that make up links, elements that hide them, and broken HTML. */
const FRAGMENTS =
  '<|>|"|\'|=|/| |\n|\r\n|&|;|<!--|-->|</body>|</html>|<body>|<a |href| href=|HREF = "|http://x/|https://y/?a=1&amp;b=2|' +
  'http://z/&copy|<area |</a>|<style>|</style>|<title>|</title>|<textarea>|</textarea>|<script>|</script>|<svg>|</svg>|' +
  '<math>|<![CDATA[|]]>|<![endif]-->|<!--[if mso]>|<table>|<select>|<plaintext>|<p title="|data-track=off |srcdoc="|\0|é|😀|x'
const LINKS = [
  '<a href="http://x/?a&amp;b">',
  "<a class=x href='https://y/&#x41;' >",
  '<area href=http://z/>',
  '<A\nHREF =\r\n"http://x/é"/>',
  '<a href=" http://x/\t" title=">">',
]

const fragment = fc.oneof(
  fc.constantFrom(...FRAGMENTS.split('|')),
  fc.constantFrom(...LINKS),
  fc.string({ maxLength: 4, unit: 'binary' }),
)
const anyHtml = fc.array(fragment, { maxLength: 40 }).map(parts => parts.join(''))

const RUNS = { numRuns: 2000 }

describe('any HTML', () => {
  test('is the same again once tracking is taken back', () => {
    fc.assert(
      fc.property(anyHtml, html => {
        const tracked = trackHtml(html, ALL, options)
        expect(undone(tracked.html, rawsOf(html, tracked.html))).toBe(html)
      }),
      RUNS,
    )
  })

  test('means the same to a parser, but for its links', () => {
    fc.assert(
      fc.property(anyHtml, html => {
        const { html: tracked, urls } = trackHtml(html, CLICKS, options)
        const resolve = (href: string) => {
          const link = readClickToken(tokens, href.slice('https://links.example.com/t/c/'.length))
          return link?.index == null ? href : urls[link.index]!
        }
        expect(outline(parse(tracked), resolve)).toEqual(outline(parse(html), href => href))
      }),
      RUNS,
    )
  })
})

/** The raw values that were replaced, found by comparing from both sides of each link. */
function rawsOf(html: string, tracked: string): string[] {
  const pieces = tracked
    .replace(
      /<a href="[^"]*" rel="nofollow" aria-hidden="true"[^>]*><\/a><img src="https:\/\/links[^>]*>/,
      '',
    )
    .split(/https:\/\/links\.example\.com\/t\/c\/[\w-]+/)
  const raws: string[] = []
  let at = pieces[0]?.length ?? 0
  for (const piece of pieces.slice(1)) {
    const next = findNext(html, piece, at)
    raws.push(html.slice(at, next))
    at = next + piece.length
  }
  return raws
}

/** A piece begins where the value of the attribute before it ends. */
function findNext(html: string, piece: string, from: number): number {
  const quote = /["']$/.exec(html.slice(0, from))?.[0]
  const end = quote ? html.indexOf(quote, from) : from + html.slice(from).search(/[\t\n\f\r >]|$/)
  expect(html.startsWith(piece, end)).toBe(true)
  return end
}

/** Everything of a tree except positions in the text, with the targets of its links. */
function outline(node: DefaultTreeAdapterTypes.Node, resolve: (href: string) => string): unknown {
  const { nodeName } = node
  const text = 'value' in node ? node.value : 'data' in node ? node.data : null
  const attrs = 'attrs' in node ? node.attrs : []
  const isLink = nodeName === 'a' || nodeName === 'area'
  return [
    nodeName,
    text,
    attrs.map(({ name, value }) => [name, isLink && name === 'href' ? resolve(value.trim()) : value]),
    'childNodes' in node ? node.childNodes.map(child => outline(child, resolve)) : [],
    'content' in node ? outline(node.content, resolve) : null,
  ]
}

test('a link is read in time that grows with its length', () => {
  const html = `<a href="x${' '.repeat(500_000)}x">x</a>`
  expect(trackHtml(html, CLICKS, options)).toEqual({ html, urls: [] })
})

const inSlices = openSlicedWork()('a')

describe('the HTML of several messages', () => {
  const link = (name: string) => `<a href="https://example.org/${name}">x</a>`

  test('is read once while it is the same, and up to a length in all', async () => {
    const placesOf = placesFinder(link('a').length * 2, inSlices)
    const first = await placesOf(link('a'))
    expect(first?.links).toHaveLength(1)
    expect(await placesOf(link('a'))).toBe(first)
    expect((await placesOf(link('b')))?.links).toHaveLength(1)
    expect(await placesOf(link('c'))).toBeNull()
    expect((await placesOf(link('b')))?.links).toHaveLength(1)
  })

  test('is not read where one is too long', async () => {
    const long = 'x'.repeat(TRACKED_HTML_LENGTH_MAX + 1)
    const placesOf = placesFinder(Infinity, inSlices)
    expect([await placesOf(long), (await placesOf(long.slice(1)))?.links]).toEqual([null, []])
  })
})

describe('long HTML', () => {
  test('is read in steps, across which links stay where they are', () => {
    const link = '<a href="https://example.org/">x</a>'
    for (let length = 8140; length < 8200; length++) {
      const html = `${'x'.repeat(length)}${link}\r\n\u{1f600}${link}`
      const [first, second] = findPlaces(html).links
      expect(html.slice(first?.start, first?.end)).toBe('https://example.org/')
      expect(html.slice(second?.start, second?.end)).toBe('https://example.org/')
    }
    let count = 0
    for (const _ of findPlacesSteps(link.repeat(10_000))) count++
    expect(count).toBeGreaterThanOrEqual(40)
  })

  test('has one token for each URL, however often it is linked', () => {
    const make = vi.fn<typeof tokens.make>((...given) => tokens.make(...given))
    const counting = { ...options, links: { ...options.links, tokens: { ...tokens, make } } }
    const { urls } = trackHtml('<a href="https://example.org/">x</a>'.repeat(10_000), CLICKS, counting)
    expect(urls).toHaveLength(1)
    expect(make.mock.calls.length).toBeLessThanOrEqual(3)
  })
})
