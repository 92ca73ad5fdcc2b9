import { cutText } from '../kit/mime/text.ts'

const LENGTH_MAX = 200

/** A server's text for people, made safe for callers: printable, on one line, and short. */
export function serverText(text: unknown): string {
  if (typeof text !== 'string') return ''
  // A hostile text may be as long as an answer; it is cut first, with room for the characters that are dropped.
  const line = text.slice(0, 4 * LENGTH_MAX).replaceAll(/[\s\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return cutText(line.trim(), LENGTH_MAX)
}
