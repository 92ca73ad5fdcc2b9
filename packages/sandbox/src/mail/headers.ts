/** One header field, unfolded, with its encoded words decoded as Gmail shows them. */
export interface Header {
  name: string
  value: string
}

const HEADERS_MAX = 2_000

/** Splits a header block into its fields. Lines that are no header are skipped. */
export function parseHeaders(block: Buffer): Header[] {
  const headers: Header[] = []
  const unfolded = decodeUtf8(block).replaceAll(/\r?\n[ \t]+/g, ' ')
  for (const line of unfolded.split(/\r?\n/, HEADERS_MAX)) {
    const match = /^([!-9;-~]+)[ \t]*:[ \t]*(.*)$/s.exec(line)
    if (match) headers.push({ name: match[1] as string, value: decodeWords((match[2] as string).trimEnd()) })
  }
  return headers
}

/** The value of the first header of that name, or an empty string. */
export function headerOf(headers: Header[], name: string): string {
  const lower = name.toLowerCase()
  return headers.find(header => header.name.toLowerCase() === lower)?.value ?? ''
}

/** The bytes as text: UTF-8 if they are that, Latin-1 otherwise. */
export function decodeUtf8(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? bytes.toString('latin1') : text
}

/** Decodes the encoded words of a header's value (RFC 2047). */
export function decodeWords(value: string): string {
  if (!value.includes('=?')) return value
  return value
    .replaceAll(/(=\?[^?]+\?[bq]\?[^?]*\?=)\s+(?==\?[^?]+\?[bq]\?)/gi, '$1')
    .replaceAll(
      /=\?([^?*]+)(?:\*[^?]*)?\?([bq])\?([^?]*)\?=/gi,
      (_, charset: string, kind: string, text: string) =>
        decodeCharset(kind.toLowerCase() === 'b' ? Buffer.from(text, 'base64') : wordBytes(text), charset),
    )
}

const wordBytes = (text: string): Buffer => quotedPrintable(Buffer.from(text.replaceAll('_', ' '), 'latin1'))

/** The bytes of a quoted-printable text (RFC 2045 section 6.7). */
export function quotedPrintable(bytes: Buffer): Buffer {
  const text = bytes
    .toString('latin1')
    .replaceAll(/[ \t]+(?=\r?\n)/g, '')
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(text, 'latin1')
}

/** Text in a named charset; an unknown one is read as Latin-1. */
export function decodeCharset(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset.trim()).decode(bytes)
  } catch {
    return bytes.toString('latin1')
  }
}

/** A header value with parameters (RFC 2045, RFC 2231), names in lower case. */
export function parseParameters(value: string): { value: string; parameters: Map<string, string> } {
  const parameters = new Map<string, string>()
  const [first = '', ...rest] = value.match(/(?:"(?:\\.|[^"\\])*"|[^;"])+/g) ?? []
  for (const item of rest) {
    const equals = item.indexOf('=')
    if (equals < 0) continue
    const name = item.slice(0, equals).trim().toLowerCase()
    const text = unquote(item.slice(equals + 1).trim())
    const extended = /^([^*]+)(?:\*(\d+))?(\*?)$/.exec(name)
    if (!extended) continue
    const [, base = '', , star] = extended
    const part = star ? percentText(text) : text
    parameters.set(base, (extended[2] && extended[2] !== '0' ? (parameters.get(base) ?? '') : '') + part)
  }
  return { value: first.trim().toLowerCase(), parameters }
}

const unquote = (text: string): string =>
  text.startsWith('"') ? text.replaceAll(/^"|"$/g, '').replaceAll(/\\(.)/g, '$1') : text

function percentText(text: string): string {
  const [, charset = 'utf-8', encoded = text] = /^([^']*)'[^']*'(.*)$/s.exec(text) ?? []
  const bytes = encoded.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return decodeCharset(Buffer.from(bytes, 'latin1'), charset || 'utf-8')
}

/** The addresses in a header such as To, in lower case. */
export function addressesIn(value: string): string[] {
  const unquoted = value.replaceAll(/"(?:\\.|[^"\\])*"/g, '')
  return [...unquoted.matchAll(/[^\s<>,;:()"]+@[^\s<>,;:()"]+/g)].map(match => match[0].toLowerCase())
}

/** The message ids in a header such as References, with their angle brackets. */
export const messageIdsIn = (value: string): string[] => value.match(/<[^<>\s]+>/g) ?? []

/** A subject without the marks of answers and forwards, for comparing. */
export const baseSubject = (subject: string): string =>
  subject
    .replace(/^(?:\s*(?:re|aw|sv|fwd?|wg)(?:\[\d+\])?\s*:)+/i, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .toLowerCase()
