/* Escapes of text values (RFC 5545 section 3.3.11, RFC 6350 section 3.4). */

const BACKSLASH = 92

/** Escapes a text, so that it is one value in a list or structure. Line breaks become `\n`. */
export function escapeText(text: string): string {
  return text.replaceAll(/[\\,;]/g, String.raw`\$&`).replaceAll(/\r\n|[\r\n]/g, String.raw`\n`)
}

/**
 * The text of a value. Some writers escape colons and quotes, too. Any other backslash stands for itself, because
 * others escape nothing.
 */
export function unescapeText(value: string): string {
  if (!value.includes('\\')) return value
  return value.replaceAll(/\\([\\,;:"n])/gi, (_, escaped: string) =>
    escaped === 'n' || escaped === 'N' ? '\n' : escaped,
  )
}

/** Splits a list at `,` or a structure at `;`. The parts still have their escapes. */
export function splitValue(value: string, separator: ',' | ';'): string[] {
  if (!value.includes('\\')) return value.split(separator)
  const code = separator.charCodeAt(0)
  const parts: string[] = []
  let start = 0
  for (let at = 0; at < value.length; at++) {
    const found = value.charCodeAt(at)
    if (found === BACKSLASH) at++
    else if (found === code) {
      parts.push(value.slice(start, at))
      start = at + 1
    }
  }
  parts.push(value.slice(start))
  return parts
}
