import { html } from 'hono/html'
import type { Markup } from './markup.ts'

interface Layout {
  title: string
  /** The style sheets of `browser/` that the page adds to `page.css`, and the module that it runs. */
  styles?: string[]
  script: string
  /** Tools on the right side of the header. */
  tools: Markup
  /** The label of the navigation, and its groups. */
  navigation: { label: string; groups: Markup[] }
  main: Markup
  /** Panels and dialogs that open above the page. */
  overlays?: Markup
}

/** Renders a page with the header, the navigation and the content. It loads nothing from other origins. */
export async function renderPage(layout: Layout): Promise<string> {
  const { title, styles = [], script, tools, navigation, main, overlays = '' } = layout
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" type="image/svg+xml" href="/docs/icon.svg" />
        ${['page.css', ...styles].map(name => html`<link rel="stylesheet" href="/docs/${name}" />`)}
        <script type="module" src="/docs/${script}"></script>
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header>
          <a class="title" href="/docs">Waxwing <span>reference</span></a>
          ${tools}
        </header>
        <div class="page">
          <nav aria-label="${navigation.label}">
            <details class="contents">
              <summary>Contents<span class="here"></span></summary>
              <div class="entries">${navigation.groups}</div>
            </details>
          </nav>
          <main id="content" tabindex="-1">${main}</main>
        </div>
        ${overlays}
      </body>
    </html>`
  return (await page).toString()
}
