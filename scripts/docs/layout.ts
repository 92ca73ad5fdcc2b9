import { html, raw } from 'hono/html'
import { confirmDialog, credentialButton, credentialPanel } from './credential-panel.ts'
import type { Markup } from './markup.ts'
import type { Page } from './page.ts'

/** The pages of one section of the table of contents. */
export interface NavigationGroup {
  section: string
  pages: readonly Pick<Page, 'path' | 'title' | 'headings'>[]
}

interface Layout {
  page: Page
  navigation: readonly NavigationGroup[]
  /** Whether the page is for a host without the service, where no requests can be sent. */
  isStatic: boolean
}

/** The policy of pages that are not served by the service, which sends the same in a header. */
const STATIC_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/** Renders a page with the header, the navigation and the content. It loads nothing from other origins. */
export async function layOut({ page, navigation, isStatic }: Layout): Promise<string> {
  const hasForms = page.hasForms === true && !isStatic
  const styles = [
    'page.css',
    ...(page.hasForms ? ['reference.css'] : []),
    ...(hasForms ? ['dialogs.css'] : []),
  ]
  const script = hasForms ? 'reference.js' : page.path === '/docs' ? 'home.js' : 'guide.js'
  const policy = isStatic
    ? html`<meta http-equiv="Content-Security-Policy" content="${raw(STATIC_POLICY)}" />`
    : ''
  const whole = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        ${policy}
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="description" content="${page.description}" />
        <title>${page.path === '/docs' ? page.title : `${page.title} – Waxwing`}</title>
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        <link rel="alternate" type="text/markdown" href="${markdownPath(page.path)}" />
        ${styles.map(name => html`<link rel="stylesheet" href="/docs/${name}" />`)}
        <script type="module" src="/docs/${script}"></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <a class="title" href="/docs">Waxwing <span>documentation</span></a>
          <div class="tools">${searchField()} ${hasForms ? credentialButton() : ''}</div>
        </header>
        <div class="page">
          <nav aria-label="Contents">
            <details class="contents">
              <summary>Contents<span class="here"></span></summary>
              <div class="entries">${navigation.map(group => groupOf(group, page))}</div>
            </details>
          </nav>
          <main id="content" tabindex="-1">
            <article class="${page.hasForms ? 'reference' : 'guide'}">${raw(page.content)}</article>
            ${footer(page, navigation)}
          </main>
        </div>
        ${hasForms ? html`${credentialPanel()} ${confirmDialog()}` : ''}
      </body>
    </html>`
  return (await whole).toString()
}

/** The address at which a page is served as Markdown. */
export function markdownPath(path: string): string {
  return path === '/docs' ? '/docs/index.md' : `${path}.md`
}

function searchField(): Markup {
  return html`<search class="needs-script">
    <label for="site-search">Search</label>
    <input
      id="site-search"
      type="search"
      placeholder="Search ( / )"
      autocomplete="off"
      spellcheck="false"
      aria-controls="found"
    />
    <div id="found" hidden>
      <p id="found-count" role="status"></p>
      <ul id="found-list"></ul>
    </div>
  </search>`
}

function groupOf({ section, pages }: NavigationGroup, current: Page): Markup {
  if (pages.length === 0) return ''
  return html`<div>
    <h2>${section}</h2>
    <ul>
      ${pages.map(page => html`<li>${entryOf(page, current)}</li>`)}
    </ul>
  </div>`
}

/** An entry of the navigation. That of the current page includes its headings. */
function entryOf({ path, title, headings }: NavigationGroup['pages'][number], current: Page): Markup {
  if (path !== current.path) return html`<a href="${path}">${title}</a>`
  return html`<a href="${path}" aria-current="page">${title}</a>
    <ul>
      ${headings.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)}
    </ul>`
}

/** Links to the pages before and after this one, and to its Markdown. */
function footer(page: Page, navigation: readonly NavigationGroup[]): Markup {
  const pages = navigation.flatMap(group => group.pages)
  const at = pages.findIndex(({ path }) => path === page.path)
  const [before, after] = at < 0 ? [] : [pages[at - 1], pages[at + 1]]
  return html`<footer>
    <p class="neighbours">
      ${before ? html`<a rel="prev" href="${before.path}">← ${before.title}</a>` : html`<span></span>`}
      ${after ? html`<a rel="next" href="${after.path}">${after.title} →</a>` : ''}
    </p>
    <p><a href="${markdownPath(page.path)}">This page as Markdown</a></p>
  </footer>`
}
