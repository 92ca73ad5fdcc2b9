import { createHash } from 'node:crypto'
import { type HtmlPart, html, trustedText } from '../kit/html.ts'

/** A page for people, outside `/v1`. */
export interface PublicPage {
  heading: string
  /** The title of the window, if it says more than the heading. */
  title?: string
  /** Content below the heading. */
  content: HtmlPart
}

/** Renders a page, which loads nothing. It fits a phone and a popup. */
export function renderPublicPage({ heading, title = heading, content }: PublicPage): string {
  return String(
    html`<!doctype html>
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <title>${title}</title>
          <link rel="icon" href="data:," />
          ${trustedText(`<style>${STYLE}</style>`)}
        </head>
        <body>
          <main>
            <h1>${heading}</h1>
            ${content}
          </main>
        </body>
      </html> `,
  )
}

const STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fdfcfa, #17171a);
  --raised: light-dark(#ffffff, #1f1f24);
  --sunken: light-dark(#f3f0ea, #101013);
  --line: light-dark(#ddd6ca, #35353d);
  --edge: light-dark(#8a8175, #7d7a75);
  --text: light-dark(#26221d, #e8e6e1);
  --soft: light-dark(#655d52, #a9a59d);
  --link: light-dark(#84480f, #f0b266);
  --accent: light-dark(#84480f, #c9812f);
  --on-accent: light-dark(#ffffff, #14100b);
  --bad: light-dark(#a8261c, #ff8f85);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
}
* { box-sizing: border-box; }
body {
  margin: 0;
  min-height: 100vh;
  min-height: 100dvh;
  display: grid;
  grid-template-columns: minmax(0, 30rem);
  place-content: center;
  padding: 1rem;
  background: var(--ground);
  color: var(--text);
}
main {
  padding: 2rem 1.5rem;
  background: var(--raised);
  border: 1px solid var(--line);
  border-radius: 12px;
}
h1 { margin: 0 0 0.75rem; font-size: 1.5rem; line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }
h2 { margin: 1.5rem 0 0.5rem; font-size: 1rem; }
p, ul, dl { margin: 0 0 1rem; overflow-wrap: anywhere; }
main > :nth-last-child(1 of :not(script, [hidden])) { margin-bottom: 0; }
ul { padding-left: 1.25rem; }
li { margin: 0.25rem 0; }
a { color: var(--link); }
.soft { color: var(--soft); font-size: 0.9375rem; }
form { margin: 0 0 1rem; }
label, legend { display: block; padding: 0; font-weight: 600; }
.field { margin: 0 0 1rem; }
.hint, .wrong { display: block; margin: 0.375rem 0 0; font-size: 0.9375rem; color: var(--soft); }
.wrong { color: var(--bad); font-weight: 600; }
input, select {
  width: 100%;
  min-height: 2.75rem;
  margin-top: 0.25rem;
  padding: 0.5rem 0.75rem;
  background: var(--ground);
  color: inherit;
  border: 1px solid var(--edge);
  border-radius: 8px;
  font: inherit;
}
input[readonly] { background: var(--sunken); border-color: var(--line); }
[aria-invalid='true'] { border: 2px solid var(--bad); }
.choice { display: flex; gap: 0.625rem; align-items: center; min-height: 2.75rem; margin: 0 0 0.5rem; font-weight: 400; }
.choice input { flex: none; width: 1.25rem; height: 1.25rem; min-height: 0; margin: 0; accent-color: var(--accent); }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) 10.5rem; gap: 0 0.75rem; }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; min-width: 0; }
legend { margin-bottom: 0.5rem; font-size: 1.0625rem; }
details { margin: 0 0 1rem; padding: 0 1rem; border: 1px solid var(--line); border-radius: 8px; }
summary { margin: 0 -1rem; padding: 0.625rem 1rem; cursor: pointer; font-weight: 600; border-radius: 8px; }
details[open] > summary { margin-bottom: 0.5rem; }
details.inner { background: var(--ground); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
button, .button {
  display: block;
  width: 100%;
  min-height: 3rem;
  padding: 0.75rem 1rem;
  border: 1px solid var(--edge);
  border-radius: 8px;
  background: var(--ground);
  color: var(--text);
  font: inherit;
  font-weight: 600;
  line-height: 1.375;
  text-align: center;
  text-decoration: none;
  overflow-wrap: anywhere;
  cursor: pointer;
}
button:hover, .button:hover { background: var(--sunken); }
.row { display: flex; flex-wrap: wrap; justify-content: center; gap: 0.5rem; }
.row > * { flex: 0 1 auto; width: auto; padding-inline: 0.5rem; }
.row > .first { flex: 1 1 7rem; }
.secret { display: flex; gap: 0.5rem; align-items: end; }
.secret > input { flex: 1; min-width: 0; }
.secret > button { flex: none; width: auto; min-width: 4.5rem; min-height: 2.75rem; padding: 0.5rem 0.75rem; }
[hidden] { display: none !important; }
.first { border-color: transparent; background: var(--accent); color: var(--on-accent); }
.first:hover { background: light-dark(#6d3a0a, #dc9441); }
.plain { border-color: transparent; background: none; color: var(--link); }
.buttons { display: grid; gap: 0.75rem; margin: 0 0 1rem; padding: 0; list-style: none; }
.buttons li { margin: 0; }
.or { display: flex; gap: 0.75rem; align-items: center; color: var(--soft); }
.or::before, .or::after { content: ''; flex: 1; border-top: 1px solid var(--line); }
.note { margin: 0 0 1rem; padding: 0.75rem 1rem; background: var(--sunken); border-left: 4px solid var(--accent); border-radius: 4px; }
.note.bad { border-color: var(--bad); }
.note > :last-child { margin-bottom: 0; }
.waiting { color: var(--soft); }
.waiting:empty { margin: 0; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
@media (max-width: 26rem) {
  main { padding: 1.5rem 1.125rem; }
  .row > .first { flex-basis: 100%; }
  .pair { grid-template-columns: minmax(0, 1fr); }
}
@media (forced-colors: active) {
  [aria-invalid='true'] { border-style: dashed; }
}
`

/** How a policy names a style sheet or a script that is part of the page. */
export const sourceHash = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** The policy of these pages: they load an empty icon, and are never framed. Forms and scripts are added to it. */
export const PUBLIC_PAGE_POLICY = [
  "default-src 'none'",
  `style-src ${sourceHash(STYLE)}`,
  'img-src data:',
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')
