import { createHash } from 'node:crypto'

/** The field that a POST must have (RFC 8058 section 3.2). The button of the page sends it too. */
export const ONE_CLICK = { name: 'List-Unsubscribe', value: 'One-Click' } as const

/** What the page says of a link. */
export interface UnsubscribePage {
  address: string
  /** The name of the list; null if it is not to be named. */
  listName: string | null
}

const STYLE = `
:root {
  color-scheme: light dark;
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif;
}
* { box-sizing: border-box; }
body {
  margin: 0;
  min-height: 100vh;
  display: grid;
  place-items: center;
  padding: 1rem;
  background: light-dark(#fdfcfa, #17171a);
  color: light-dark(#26221d, #e8e6e1);
}
main {
  width: 100%;
  max-width: 30rem;
  padding: 2rem 1.5rem;
  background: light-dark(#ffffff, #1f1f24);
  border: 1px solid light-dark(#ddd6ca, #35353d);
  border-radius: 12px;
}
h1 { margin: 0 0 0.75rem; font-size: 1.5rem; line-height: 1.25; }
p { margin: 0 0 1.5rem; overflow-wrap: anywhere; }
p:last-child { margin-bottom: 0; }
button {
  width: 100%;
  min-height: 3rem;
  padding: 0.75rem 1.5rem;
  border: 0;
  border-radius: 8px;
  background: light-dark(#84480f, #c9812f);
  color: light-dark(#ffffff, #14100b);
  font: inherit;
  font-weight: 600;
  cursor: pointer;
}
button:hover { background: light-dark(#6d3a0a, #dc9441); }
:focus-visible { outline: 3px solid light-dark(#84480f, #f0b266); outline-offset: 3px; }
`

/** The page loads nothing, runs nothing, and posts only to where it came from. */
export const UNSUBSCRIBE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const FORM = `<form method="post">
<input type="hidden" name="${ONE_CLICK.name}" value="${ONE_CLICK.value}">
<button>Unsubscribe</button>
</form>`

/** Asks whether to unsubscribe. */
export function askingPage({ address, listName }: UnsubscribePage): string {
  return page(
    'Unsubscribe',
    `<p>Stop messages from ${senderOf(listName)} to <strong>${escapeHtml(address)}</strong>?</p>
${FORM}`,
  )
}

/** Says that the address is unsubscribed. */
export function donePage({ address, listName }: UnsubscribePage): string {
  return page(
    'You are unsubscribed',
    `<p><strong>${escapeHtml(address)}</strong> gets no more messages from ${senderOf(listName)}.</p>`,
  )
}

/** Says that nothing was changed, since what was posted does not ask for it. */
export function unchangedPage(shown: UnsubscribePage): string {
  return page(
    'Nothing was changed',
    `<p>The request did not ask to unsubscribe <strong>${escapeHtml(shown.address)}</strong>. Press the button to
unsubscribe.</p>
${FORM}`,
  )
}

function senderOf(listName: string | null): string {
  return listName === null ? 'this sender' : `the list “${escapeHtml(listName)}”`
}

function page(heading: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${heading}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
${content}
</main>
</body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? character)
}
