import { Marked } from 'marked'
import { decodeEntities } from '../mime/entities.ts'
import { forHtml, fromMarkdown } from './escapes.ts'

/* Markdown of GitHub's flavour as HTML for mail. HTML in it is shown as text. */

const LINK_SCHEMES = new Set(['http', 'https', 'mailto', 'tel'])
const IMAGE_SCHEMES = new Set(['http', 'https', 'cid'])

const marked = new Marked({
  gfm: true,
  tokenizer: {
    html: () => undefined,
    tag: () => undefined,
  },
  renderer: {
    code: ({ text }) => `<pre><code>${forHtml(fromMarkdown(text)).replace(/\n$/, '')}\n</code></pre>\n`,
    codespan: ({ text }) => `<code>${forHtml(fromMarkdown(text))}</code>`,
    html: ({ text }) => forHtml(text),
    // Mail programs do not show form fields.
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    link({ href, title, tokens }) {
      const text = this.parser.parseInline(tokens)
      const target = safeTarget(href, LINK_SCHEMES)
      return target === null ? text : `<a href="${target}"${titleOf(title)}>${text}</a>`
    },
    image({ href, title, text }) {
      const source = safeTarget(href, IMAGE_SCHEMES)
      const alternative = forHtml(decodeEntities(text))
      return source === null ? alternative : `<img src="${source}" alt="${alternative}"${titleOf(title)}>`
    },
  },
})

/** Not linear for every text: it needs a limit of time. */
export function markdownToHtml(markdown: string): string {
  return marked.parse(markdown, { async: false })
}

/** A target as it stands in an attribute; null if its scheme is not allowed. One without a scheme leads nowhere else. */
function safeTarget(written: string, schemes: ReadonlySet<string>): string | null {
  // Browsers ignore control characters and blanks in a scheme, and decode character references before they look at it.
  const target = decodeEntities(written).replaceAll(/[\u0000-\u0020\u007f-\u00a0\u2028\u2029]+/g, blank =>
    blank === ' ' ? '%20' : '',
  )
  const [, scheme] = /^([^/?#]*?):/.exec(target) ?? []
  if (scheme !== undefined && !schemes.has(scheme.toLowerCase())) return null
  return forHtml(target)
}

function titleOf(title: string | null | undefined): string {
  return title ? ` title="${forHtml(decodeEntities(title))}"` : ''
}
