import { encodeText } from './charsets.ts'

/** A MIME entity: its header fields, each without a line end, and its body. */
export interface Entity {
  fields: Array<string | Buffer>
  body: Buffer
}

const CRLF = Buffer.from('\r\n')

export function serialize({ fields, body }: Entity): Buffer {
  return Buffer.concat([...fields.flatMap(field => [Buffer.from(field as string), CRLF]), CRLF, body])
}

export type Encoding = '7bit' | '8bit' | 'quoted-printable' | 'base64'

export function textEntity(
  text: string,
  { subtype = 'plain', charset = 'utf-8', encoding = 'quoted-printable' as Encoding } = {},
): Entity {
  return {
    fields: [`Content-Type: text/${subtype}; charset=${charset}`, `Content-Transfer-Encoding: ${encoding}`],
    body: transfer(encodeText(text, charset), encoding),
  }
}

export function transfer(bytes: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'base64') return Buffer.from(base64Lines(bytes))
  if (encoding === 'quoted-printable') return quotedPrintable(bytes)
  return bytes
}

export function base64Lines(bytes: Buffer): string {
  return bytes.toString('base64').replace(/.{76}/g, '$&\r\n')
}

const LINE_LENGTH_MAX = 73
const [CR, LF, SPACE, EQUALS, TILDE] = [13, 10, 32, 61, 126]
const HEX = Buffer.from('0123456789ABCDEF')

/** RFC 2045 section 6.7; lines already end in CRLF. Written for speed: a corpus consists mostly of this. */
export function quotedPrintable(bytes: Buffer): Buffer {
  const out = Buffer.allocUnsafe(bytes.length * 4 + 8)
  let length = 0
  let column = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === CR && bytes[at + 1] === LF) {
      length = out.writeUInt16BE(0x0d0a, length)
      column = 0
      at++
      continue
    }
    if (column >= LINE_LENGTH_MAX) {
      out[length++] = EQUALS
      length = out.writeUInt16BE(0x0d0a, length)
      column = 0
    }
    const isPlain =
      byte >= SPACE && byte <= TILDE && byte !== EQUALS && !(byte === SPACE && bytes[at + 1] === CR)
    out[length++] = isPlain ? byte : EQUALS
    column += isPlain ? 1 : 3
    if (isPlain) continue
    out[length++] = HEX[byte >> 4] ?? 0
    out[length++] = HEX[byte & 15] ?? 0
  }
  return out.subarray(0, length)
}

function hex(byte: number) {
  return byte.toString(16).toUpperCase().padStart(2, '0')
}

export function multipart(
  subtype: string,
  parts: readonly Entity[],
  boundary: string,
  parameters = '',
): Entity {
  const pieces = parts.flatMap(part => [Buffer.from(`\r\n--${boundary}\r\n`), serialize(part)])
  return {
    fields: [`Content-Type: multipart/${subtype}; boundary="${boundary}"${parameters}`],
    body: Buffer.concat([
      Buffer.from('This is a message in parts.\r\n'),
      ...pieces,
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]),
  }
}

export interface FileOptions {
  type?: string
  disposition?: 'attachment' | 'inline'
  contentId?: string
  /** The encoding of a name that is not ASCII. */
  nameStyle?: 'rfc2231' | 'rfc2047' | 'raw'
}

export function fileEntity(name: string, bytes: Buffer, options: FileOptions = {}): Entity {
  const {
    type = 'application/octet-stream',
    disposition = 'attachment',
    contentId,
    nameStyle = 'rfc2231',
  } = options
  const parameter = {
    rfc2231: `filename*=utf-8''${encodeURIComponent(name).replace(/['()*]/g, sign => `%${hex(sign.charCodeAt(0))}`)}`,
    rfc2047: `filename="${encodedWords(name, 'utf-8', 'B')}"`,
    raw: `filename="${name}"`,
  }[nameStyle]
  return {
    fields: [
      `Content-Type: ${type}`,
      `Content-Disposition: ${disposition};\r\n ${parameter}`,
      'Content-Transfer-Encoding: base64',
      ...(contentId ? [`Content-ID: <${contentId}>`] : []),
    ],
    body: transfer(bytes, 'base64'),
  }
}

/** A whole message as a part (RFC 2046 section 5.2.1). */
export function forwardedEntity(raw: Buffer): Entity {
  return { fields: ['Content-Type: message/rfc822', 'Content-Disposition: inline'], body: raw }
}

/** Text as encoded words of at most 75 characters, each complete in itself (RFC 2047). */
export function encodedWords(text: string, charset: string, scheme: 'B' | 'Q'): string {
  const words: string[] = []
  let chunk = ''
  const word = (content: string) => {
    const bytes = encodeText(content, charset)
    const encoded = scheme === 'B' ? bytes.toString('base64') : quoteWord(bytes)
    return `=?${charset}?${scheme}?${encoded}?=`
  }
  for (const character of text) {
    if (chunk !== '' && word(chunk + character).length > 75) {
      words.push(word(chunk))
      chunk = ''
    }
    chunk += character
  }
  return [...words, word(chunk)].join('\r\n ')
}

/** The same, cut every few bytes, even inside a character, as some senders do. */
export function carelessEncodedWords(text: string, charset: string, bytesPerWord = 17): string {
  const bytes = encodeText(text, charset)
  const count = Math.ceil(bytes.length / bytesPerWord)
  return Array.from({ length: count }, (_, index) => {
    const piece = bytes.subarray(index * bytesPerWord, (index + 1) * bytesPerWord)
    return `=?${charset}?B?${piece.toString('base64')}?=`
  }).join('\r\n ')
}

function quoteWord(bytes: Buffer) {
  return bytes
    .toString('latin1')
    .replace(/[^A-Za-z0-9!*+/ -]/g, sign => `=${hex(sign.charCodeAt(0))}`)
    .replaceAll(' ', '_')
}
