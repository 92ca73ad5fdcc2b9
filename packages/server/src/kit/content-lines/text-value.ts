/* Escapes of text values (RFC 5545 section 3.3.11, RFC 6350 section 3.4). */

const BACKSLASH = 92
const COMMA = 44
const SEMICOLON = 59
const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const SMALL_N = 110
/** Characters that an escape may have behind its backslash, and the characters of these escapes. */
const ESCAPED = new Map([...'\\,;:"'].map(one => [one.charCodeAt(0), one.charCodeAt(0)] as const))
  .set(SMALL_N, LINE_FEED)
  .set('N'.charCodeAt(0), LINE_FEED)

/** Escapes a text, so that it is one value in a list or structure. Line breaks become `\n`. */
export function escapeText(text: string): string {
  if (!/[\\,;\r\n]/.test(text)) return text
  const written = new WrittenText(2 * text.length)
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isBreak = code === LINE_FEED || code === CARRIAGE_RETURN
    if (isBreak || code === BACKSLASH || code === COMMA || code === SEMICOLON) written.add(BACKSLASH)
    written.add(isBreak ? SMALL_N : code)
    if (code === CARRIAGE_RETURN && text.charCodeAt(at + 1) === LINE_FEED) at++
  }
  return written.toString()
}

/**
 * The text of a value. Some writers escape colons and quotes, too. Any other backslash stands for itself, because
 * others escape nothing.
 */
export function unescapeText(value: string): string {
  if (!value.includes('\\')) return value
  const written = new WrittenText(value.length)
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at)
    const escaped = code === BACKSLASH ? ESCAPED.get(value.charCodeAt(at + 1)) : undefined
    if (escaped !== undefined) at++
    written.add(escaped ?? code)
  }
  return written.toString()
}

/** A text of megabytes may have as many escapes, so it is not made of a piece for each. */
class WrittenText {
  readonly #bytes: Buffer
  #length = 0

  /** @param lengthMax in UTF-16 */
  constructor(lengthMax: number) {
    this.#bytes = Buffer.allocUnsafe(2 * lengthMax)
  }

  add(code: number): void {
    this.#bytes[this.#length++] = code & 0xff
    this.#bytes[this.#length++] = code >> 8
  }

  toString(): string {
    return this.#bytes.toString('utf16le', 0, this.#length)
  }
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
