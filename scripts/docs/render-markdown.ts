import { existsSync, readFileSync } from 'node:fs'
import { Marked, type Tokens } from 'marked'
import { escape, slugOf, unescape } from './escape.ts'
import { highlight } from './highlight.ts'
import { findExample, includeExamples, renderExample } from './include-examples.ts'
import { Links } from './links.ts'
import type { Heading, Page, SearchEntry } from './page.ts'

const IMAGE = /^[\w./-]+\.svg$/
/** A name in the first cell of a row that links may lead to: a setting, a reason or an event. */
const ROW_NAME = /^<code>([A-Za-z][\w.]*[._]\w+)<\/code>/

interface Options {
  /** The name of the page below `docs/`, without `.md`. */
  name: string
  path: string
  section: string
  /** All pages that links may lead to. */
  names: ReadonlySet<string>
  /** `docs/`. */
  folder: URL
  /** The kind of the sections of the page in the search. */
  kind?: SearchEntry['kind']
}

type Rendered = Heading & { depth: number }

/** Renders one page. Markdown of this repository is trusted, but HTML in it is still shown as text. */
export function renderMarkdown(markdown: string, options: Options): Page {
  const { name, path, section, names, folder } = options
  const examples = new URL('examples/', folder)
  const links = new Links(name, names)
  const headings: Rendered[] = []
  const images = new Map<string, string>()
  const rows = new Set<string>()
  const marked = new Marked({
    renderer: {
      html: ({ text }) => escape(text),
      heading({ tokens, depth }) {
        const text = unescape(this.parser.parseInline(tokens, this.parser.textRenderer))
        const id = slugOf(text)
        headings.push({ id, text, depth })
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = links.targetOf(href)
        return target === null ? text : `<a href="${escape(target)}">${text}</a>`
      },
      code: ({ text, lang = '' }: Tokens.Code) =>
        `<pre tabindex="0"><code>${highlight(text, lang)}</code></pre>\n`,
      image({ href, text }) {
        const file = new URL(links.nameOf(href), folder)
        if (!IMAGE.test(href) || !existsSync(file)) return escape(text)
        const address = `/docs/images/${links.nameOf(href).replaceAll('/', '-')}`
        images.set(address, readFileSync(file, 'utf8'))
        return `<img src="${address}" alt="${escape(text)}">`
      },
      paragraph({ tokens, text }) {
        const example = findExample(text, examples)
        return example === null ? `<p>${this.parser.parseInline(tokens)}</p>\n` : renderExample(example)
      },
      tablerow({ text }) {
        const [, id = ''] = ROW_NAME.exec(text.replace(/^<td[^>]*>/, '')) ?? []
        if (id === '' || rows.has(id)) return `<tr>\n${text}</tr>\n`
        rows.add(id)
        return `<tr id="${id}">\n${text}</tr>\n`
      },
    },
  })
  const content = marked
    .parse(markdown, { async: false })
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
  const title = headings.find(({ depth }) => depth === 1)?.text ?? name
  return {
    path,
    title,
    section,
    content,
    images,
    description: descriptionOf(markdown),
    markdown: links.rewrite(includeExamples(markdown, examples)),
    headings: headings.filter(({ depth }) => depth === 2),
    entries: entriesOf(markdown, rows, options.kind ?? 'page'),
  }
}

/** The first sentence of the first paragraph about the subject, without its markup. */
function descriptionOf(markdown: string): string {
  const paragraph =
    markdown.split(/\n{2,}/).find(text => /^[A-Z`*[]/.test(text) && !text.startsWith('The examples take')) ??
    ''
  const text = headingOf(paragraph.replaceAll(/\s+/g, ' ').replaceAll('**', ''))
  const [sentence = text] = /^.*?[.:?](?=\s|$)/.exec(text) ?? []
  return sentence.replace(/:$/, '.')
}

/** Prose without the signs of Markdown. */
function plain(markdown: string): string {
  return markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

/** The places that the search finds: each section of the page by its heading, and each named row of its tables. */
function entriesOf(markdown: string, rows: ReadonlySet<string>, kind: SearchEntry['kind']): SearchEntry[] {
  const prose = markdown.replaceAll(/^```[^]*?^```$/gm, '')
  const entries = prose.split(/^(?=#{1,4} )/m).map((text, index): SearchEntry => {
    const [, heading = ''] = /^#+ (.*)/.exec(text) ?? []
    const isTop = index === 0
    return {
      anchor: isTop ? '' : slugOf(headingOf(heading)),
      title: headingOf(heading),
      text: plain(text.slice(text.indexOf('\n') + 1)),
      kind: isTop ? 'page' : kind,
    }
  })
  const named = [...prose.matchAll(/^\| `([^`]+)`[^|]*\|(.*)$/gm)].flatMap(([, id = '', text = '']) =>
    rows.has(id)
      ? [{ anchor: id, title: id, names: id, text: plain(text), kind: kindOfName(id) } satisfies SearchEntry]
      : [],
  )
  return [...entries, ...named]
}

/** Text without links and the marks of code. The id of a heading is made from it. */
function headingOf(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}

function kindOfName(name: string): SearchEntry['kind'] {
  return name.startsWith('WAXWING_') ? 'setting' : name.includes('.') ? 'event' : 'page'
}
