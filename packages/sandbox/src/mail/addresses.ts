import { decodeWords } from './headers.ts'

/** One mailbox of a header such as To: the name is empty without one. */
export interface NamedAddress {
  readonly name: string
  readonly address: string
}

const ADDRESSES_MAX = 2_000

/** Reads a list of addresses (RFC 5322 section 3.4). The members of groups count; what is no address is left out. */
export function parseAddresses(value: string): NamedAddress[] {
  return separate(value).flatMap(text => parseAddress(text) ?? [])
}

/** Splits at commas, semicolons and the colons of groups, outside of quotes, comments and angle brackets. */
function separate(value: string): string[] {
  const found: string[] = []
  let current = ''
  let open = ''
  for (let at = 0; at < value.length && found.length < ADDRESSES_MAX; at += 1) {
    const sign = value.charAt(at)
    if (open === '"' && sign === '\\') {
      current += sign + value.charAt(++at)
      continue
    }
    if (open === '' && ',;:'.includes(sign)) {
      // The name of a group ends at its colon, and is no address.
      if (sign !== ':') found.push(current)
      current = ''
      continue
    }
    open = nowOpen(open, sign)
    current += sign
  }
  return [...found, current]
}

const CLOSING: Readonly<Record<string, string>> = { '"': '"', '(': ')', '<': '>' }

function nowOpen(open: string, sign: string): string {
  if (open !== '') return sign === CLOSING[open] ? '' : open
  return sign in CLOSING ? sign : ''
}

function parseAddress(text: string): NamedAddress | null {
  const [, before = '', inside] = /^(.*)<([^<>]*)>[^<>]*$/s.exec(text) ?? []
  const comment = /\(([^()]*)\)/.exec(text)?.[1] ?? ''
  const address = (inside ?? text.replaceAll(/\([^()]*\)/g, '')).trim()
  if (!/^[^\s@]+@[^\s@]+$/.test(address)) return null
  const name = inside === undefined ? comment : before.replaceAll(/\([^()]*\)/g, '').trim() || comment
  return { name: decodeWords(unquote(name)).trim(), address }
}

const unquote = (text: string): string =>
  /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : text

/** Writes a list of addresses as the value of a header, folded behind each comma. */
export const writeAddresses = (addresses: readonly NamedAddress[]): string =>
  addresses.map(writeAddress).join(',\r\n ')

function writeAddress({ name, address }: NamedAddress): string {
  if (name === '' || name === address) return address
  if (/^[\w ]+$/.test(name)) return `${name} <${address}>`
  if (/^[\x20-\x7E]+$/.test(name)) return `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}" <${address}>`
  return `${writeWords(name)} <${address}>`
}

/** Bytes of text in one encoded word, which may have 75 characters. */
const WORD_BYTES_MAX = 45

/** Text as encoded words where a header needs them (RFC 2047 section 2). */
export function writeWords(text: string): string {
  if (/^[\x20-\x7E]*$/.test(text) && !text.includes('=?')) return text
  const words: string[] = []
  let word = ''
  for (const letter of text.replaceAll(/[\r\n]+/g, ' ')) {
    if (Buffer.byteLength(word + letter) > WORD_BYTES_MAX) {
      words.push(word)
      word = ''
    }
    word += letter
  }
  return [...words, word].map(one => `=?utf-8?B?${Buffer.from(one).toString('base64')}?=`).join('\r\n ')
}
