import { html } from 'hono/html'

/** Input of `html`: markup that it made before, or text that it escapes. */
export type Markup = ReturnType<typeof html> | string

/** Prose of the document, in which only `code` between backticks is marked up. */
export function prose(text: string | undefined): Markup {
  if (text === undefined) return ''
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))
  return html`${parts}`
}

export function code(value: unknown): Markup {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`
}

/** Joins parts with a separator. */
export function joined(parts: Markup[], separator: string): Markup {
  return html`${parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`))}`
}

/** A block of JSON, which the script colours. */
export function jsonBlock(label: string, value: unknown): Markup {
  const text = JSON.stringify(value, null, 2)
  return html`<pre tabindex="0" role="region" aria-label="${label}" data-language="json">${text}</pre>`
}
