/** One mailbox of a header such as To: the name is empty without one. */
export interface NamedAddress {
  readonly name: string
  readonly address: string
}

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
