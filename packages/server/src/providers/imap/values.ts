import type { ImapAttribute, ImapAttributeList } from 'imapflow/lib/handler/types.js'

export type { ImapAttribute, ImapAttributeList }

const UINT32_MAX = 0xffff_ffff

/** The text of a token; null for lists and NIL. Bytes outside ASCII are read as UTF-8. */
export function textOf(value: ImapAttribute | undefined): string | null {
  if (!value || Array.isArray(value)) return null
  if (typeof value.value === 'string') return value.value
  if (typeof value.value === 'number') return String(value.value)
  return Buffer.isBuffer(value.value) ? value.value.toString('utf8') : null
}

/** The bytes of a literal or string; null for anything else. */
export function bytesOf(value: ImapAttribute | undefined): Buffer | null {
  if (!value || Array.isArray(value)) return null
  if (Buffer.isBuffer(value.value)) return value.value
  return typeof value.value === 'string' && value.type !== 'ATOM' ? Buffer.from(value.value, 'utf8') : null
}

/** A number of RFC 9051 (up to 32 bits); null for anything else. */
export function numberOf(value: ImapAttribute | string | undefined): number | null {
  const text = typeof value === 'string' ? value : textOf(value)
  if (text === null || !/^\d{1,10}$/.test(text)) return null
  const number = Number(text)
  return number <= UINT32_MAX ? number : null
}

/** A mod-sequence: 63 bits (RFC 7162 section 7), kept as its digits. */
export function modseqOf(value: ImapAttribute | undefined): string | null {
  const text = textOf(value)
  return text !== null && /^\d{1,19}$/.test(text) && !/^0+$/.test(text) ? BigInt(text).toString() : null
}

/** An id of RFC 8474 section 7, which comes in parentheses. */
export function objectIdOf(value: ImapAttribute | undefined): string | null {
  const text = textOf(Array.isArray(value) ? value[0] : value)
  return text !== null && /^[\w-]{1,255}$/.test(text) ? text : null
}

/** The texts of a list's tokens. */
export function textsOf(value: ImapAttribute | undefined): string[] {
  if (!Array.isArray(value)) return []
  return value.map(textOf).filter(text => text !== null)
}

/** Alternating names and values, as in FETCH and STATUS. */
export function* pairsOf(
  list: ImapAttribute | undefined,
): Generator<[name: string, value: ImapAttribute | undefined]> {
  if (!Array.isArray(list)) return
  for (let at = 0; at + 1 < list.length; at += 2) yield [(textOf(list[at]) ?? '').toUpperCase(), list[at + 1]]
}

/** A response code with its arguments: `[UIDNEXT 4]`. */
export function responseCode(attributes: ImapAttributeList | undefined): ImapAttributeList | null {
  const first = attributes?.[0]
  return first && !Array.isArray(first) && !first.value && first.section ? first.section : null
}

/** The human-readable text of an answer. */
export function responseText(attributes: ImapAttributeList | undefined): string {
  return (attributes ?? [])
    .flatMap(value => (value && !Array.isArray(value) && value.type === 'TEXT' ? [textOf(value) ?? ''] : []))
    .join(' ')
}
