import { readFileSync } from 'node:fs'
import { html, raw } from 'hono/html'
import { Marked, type Tokens } from 'marked'
import { MODULE_SUFFIX } from '../../kit/module-suffix.ts'
import { renderPage } from './layout.ts'
import type { Markup } from './markup.ts'

/** The pages of `docs/` that the service shows, in the order of the navigation. Nothing else is read or served. */
export const GUIDES = [
  'authentication',
  'errors',
  'pagination',
  'change-feed',
  'webhooks',
  'idempotency',
  'limits',
  'usage',
  'plans',
  'reading-mail',
  'integrity',
  'searching',
  'changing-mail',
  'contacts',
  'calendars',
  'identities',
  'drafts',
  'sending',
  'suppressions',
  'mail-merge',
  'templates',
  'tracking',
  'bounces',
  'classification',
  'autoconfig',
  'connect',
  'google-app',
  'microsoft-app',
  'shared-mailboxes',
  'gmail',
  'sandbox',
  'configuration',
] as const

/** A package brings the pages along; a clone has them at its root. */
const DOCS = new URL(MODULE_SUFFIX === '.ts' ? '../../../../../docs/' : 'guides/', import.meta.url)
/** Targets on the service for links to other files of the repository. */
const OTHER_FILES: Record<string, string> = { '../packages/contract/openapi.json': '/v1/openapi.json' }

export interface Guide {
  name: string
  title: string
  headings: { id: string; text: string }[]
  /** HTML from the Markdown renderer, which escapes markup. */
  content: string
}

export function readGuides(): Guide[] {
  return GUIDES.map(name => makeGuide(name, readFileSync(new URL(`${name}.md`, DOCS), 'utf8')))
}

/** Renders one guide. Markdown of this repository is trusted, but HTML in it is still shown as text. */
export function makeGuide(name: string, markdown: string): Guide {
  const headings: { id: string; text: string; depth: number }[] = []
  const marked = new Marked({
    renderer: {
      html: ({ text }) => escape(text),
      heading({ tokens, depth }) {
        const text = this.parser.parseInline(tokens, this.parser.textRenderer)
        const id = slugOf(unescape(text))
        headings.push({ id, text: unescape(text), depth })
        return `<h${depth} id="${id}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = targetOf(href)
        return target === null ? text : `<a href="${escape(target)}">${text}</a>`
      },
      code: ({ text, lang = '' }: Tokens.Code) =>
        `<pre tabindex="0" data-language="${escape(lang || languageOf(text))}">${escape(text)}</pre>\n`,
      image: ({ text }) => escape(text),
    },
  })
  const content = marked
    .parse(markdown, { async: false })
    .replaceAll('<table>', '<div class="table" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>')
  const title = headings.find(({ depth }) => depth === 1)?.text ?? name
  return { name, title, content, headings: headings.filter(({ depth }) => depth === 2) }
}

/** The target on the service of a link in a guide, or null if the service does not show the file. */
function targetOf(href: string): string | null {
  if (/^(?:https:\/\/|#)/.test(href)) return href
  const [, name = '', hash = ''] = /^([\w-]+)\.md(#.*)?$/.exec(href) ?? []
  if (GUIDES.some(guide => guide === name)) return `/docs/guides/${name}${hash}`
  return OTHER_FILES[href] ?? null
}

function languageOf(text: string): string {
  return /^[{[]/.test(text) ? 'json' : ''
}

/** Makes ids of headings as GitHub does, since the links of the guides rely on them. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-')
}

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? '')
}

function unescape(text: string): string {
  return Object.entries(ENTITIES).reduceRight(
    (all, [character, entity]) => all.replaceAll(entity, character),
    text,
  )
}

/** Renders the page of one guide, with links to all guides. */
export function renderGuide(guide: Guide, guides: Guide[]): Promise<string> {
  return renderPage({
    title: `${guide.title} – Waxwing`,
    script: 'guide.js',
    tools: html`<div class="tools"><a href="/docs">All operations</a></div>`,
    navigation: { label: 'Guides', groups: [guideLinks(guides, guide)] },
    main: html`<article class="guide">${raw(guide.content)}</article>`,
  })
}

/** The entries of the navigation. The current guide includes its headings. */
export function guideLinks(guides: Guide[], current?: Guide): Markup {
  return html`<div data-group="guides">
    <h2>${current ? 'Guides' : html`<a href="#guides">Guides</a>`}</h2>
    <ul>
      ${guides.map(guide => html`<li>${guideLink(guide, guide === current)}</li>`)}
    </ul>
  </div>`
}

function guideLink({ name, title, headings }: Guide, isCurrent: boolean): Markup {
  const link = html`<a
    class="plain"
    href="/docs/guides/${name}"
    data-link="guide-${name}"
    ${isCurrent ? html`aria-current="page"` : ''}
    >${title}</a
  >`
  if (!isCurrent) return link
  return html`${link}
    <ul>
      ${headings.map(({ id, text }) => html`<li><a class="plain" href="#${id}">${text}</a></li>`)}
    </ul>`
}
