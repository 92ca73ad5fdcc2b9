/* Texts of contacts as the interface shows them, whatever a provider stores. */

/** Longer names are cut when they are read, as are notes. No provider takes as long ones. */
const NAME_LENGTH_MAX = 1000
const NOTES_LENGTH_MAX = 100_000

/** A text on one line: control characters and line breaks are blanks, and none is at its ends. Null if nothing is left. */
export function toName(text: string): string | null {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
  return cut(line, NAME_LENGTH_MAX).trimEnd() || null
}

/** A text on several lines, each of which ends with `\n`. Null if it is blank. */
export function toNotes(text: string, lengthMax: number = NOTES_LENGTH_MAX): string | null {
  const lines = text.replaceAll(/\r\n|[\r\u0085\u2028\u2029]/g, '\n').replaceAll(/(?![\n\t])\p{Cc}/gu, '')
  return lines.trim() === '' ? null : cut(lines, lengthMax)
}

/** Cuts between characters, and replaces halves of pairs. */
function cut(text: string, lengthMax: number): string {
  const isPair = text.length > lengthMax && text.codePointAt(lengthMax - 1)! > 0xffff
  return text.slice(0, isPair ? lengthMax - 1 : lengthMax).toWellFormed()
}
