import { cutText } from '../kit/mime/text.ts'

const LENGTH_MAX = 200

/** What a server says for people, as callers may see it: printable, on one line, and not long. */
export function serverText(text: unknown): string {
  if (typeof text !== 'string') return ''
  // A hostile one may be as long as an answer; the cut comes first, with room for what is dropped.
  const line = text.slice(0, 4 * LENGTH_MAX).replaceAll(/[\s\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return cutText(line.trim(), LENGTH_MAX)
}
