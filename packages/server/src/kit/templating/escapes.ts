/** Makes the text of `{{value}}` safe for its place. `{{{value}}}` is written as it is. */
export type Escape = (text: string) => string

/** Nothing is escaped: a subject, a text. */
export const asIs = (text: string): string => text

const HTML_SIGNS = /[&<>"'`=]/g
const HTML: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#x27;',
  '`': '&#x60;',
  '=': '&#x3D;',
}

/** For the text of an element and the value of an attribute, also without quotes. */
export function forHtml(text: string): string {
  return text.replaceAll(HTML_SIGNS, sign => HTML[sign]!)
}

/**
 * For Markdown, in which no character reference can be a part of the structure (CommonMark section 2.5). The zeros tell
 * these references from those of an author: in code they are written as what they stand for. A reference has at most
 * seven digits, so characters above U+FFFF stay as they are: none of them is a part of the structure.
 */
export function forMarkdown(text: string): string {
  return text.replaceAll(/[^\p{L}\p{N}\p{M}\u{10000}-\u{10ffff}]/gu, sign => `&#00${sign.codePointAt(0)};`)
}

const REFERENCE = /&#00(\d{1,5});/g

/** Turns what `forMarkdown` wrote back. */
export function fromMarkdown(text: string): string {
  return text.replaceAll(REFERENCE, (_, code: string) => String.fromCodePoint(Number(code)))
}
