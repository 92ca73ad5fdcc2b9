/** Markup in which everything is escaped that has to be. Only this file makes it. */
export class Html {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

/** Part of a template: markup as it is, text to escape, nothing (null and false), or a list of these. */
export type HtmlPart = Html | string | number | null | false | readonly HtmlPart[]

/** Makes markup of a template. Each part is escaped, in text and within quoted attributes. */
export function html(template: TemplateStringsArray, ...parts: HtmlPart[]): Html {
  const rendered = template.map((text, index) =>
    index === 0 ? text : render(parts[index - 1] ?? null) + text,
  )
  return new Html(rendered.join(''))
}

/** Takes markup as it is, such as a style sheet of our source. */
export function trustedText(text: string): Html {
  return new Html(text)
}

function render(part: HtmlPart): string {
  if (part === null || part === false) return ''
  if (part instanceof Html) return part.toString()
  if (typeof part === 'object') return part.map(render).join('')
  return String(part).replaceAll(/[&<>"']/g, character => ENTITIES[character] ?? character)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
