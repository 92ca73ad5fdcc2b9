/* Makes text from outside safe for PostgreSQL (which refuses NUL and lone surrogates) and for JSON. */

/**
 * A single line: control characters and line breaks become spaces, lone surrogates U+FFFD; trimmed and cut to
 * `lengthMax`.
 */
export function cleanLine(value: string, lengthMax: number): string {
  const line = /[\u0000-\u001f\u007f-\u009f]/.test(value)
    ? value.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    : value
  return cutText(line.trim(), lengthMax).toWellFormed()
}

/** The first `lengthMax` UTF-16 units, or one less if the cut would fall inside a surrogate pair. */
export function cutText(value: string, lengthMax: number): string {
  if (value.length <= lengthMax) return value
  const last = value.charCodeAt(lengthMax - 1)
  return value.slice(0, last >= 0xd800 && last <= 0xdbff ? lengthMax - 1 : lengthMax)
}

// Characters with which senders pad preview text, and marks that only control rendering: soft hyphen, combining
// grapheme joiner, zero-width spaces and joiners, directional marks, word joiner, byte order mark.
const INVISIBLE =
  /\u{ad}|\u{34f}|\u{61c}|\u{115f}|\u{1160}|\u{17b4}|\u{17b5}|[\u{180e}\u{200b}\u{200e}\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{feff}]/gu
const NON_JOINERS = /[\u200c\u200d](?=[\s\u200c\u200d]|$)/g
// Runs of white space and control characters; single spaces between words, which are nearly all, are not matched.
const BLANK = / *(?:[^\S ]|[\u0000-\u001f\u007f-\u009f])[\s\u0000-\u001f\u007f-\u009f]*| {2,}/g
const MAY_BE_INVISIBLE = /[^\u0000-\u00ac\u00ae-\u02ff]/

/** Running text on one line: invisible padding is dropped, white space collapsed to single spaces. */
export function collapseText(value: string): string {
  const visible = MAY_BE_INVISIBLE.test(value)
    ? value.replaceAll(INVISIBLE, '').replaceAll(NON_JOINERS, '')
    : value
  return visible.replaceAll(BLANK, ' ').trim().toWellFormed()
}
