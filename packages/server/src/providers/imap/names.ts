/**
 * Decodes a mailbox name from the wire: modified UTF-7 (RFC 3501 section 5.1.3). Malformed parts stay unchanged.
 */
export function decodeMailboxName(wire: string): string {
  if (!wire.includes('&')) return wire
  return wire.replaceAll(/&([A-Za-z0-9+,]*)-/g, (whole, encoded: string) => {
    if (encoded === '') return '&'
    const bytes = Buffer.from(encoded.replaceAll(',', '/'), 'base64')
    if (bytes.length % 2 !== 0 || bytes.length === 0) return whole
    const text = bytes.swap16().toString('utf16le')
    return text.isWellFormed() ? text : whole
  })
}

/** Encodes a mailbox name for the wire: printable ASCII stays, everything else becomes modified UTF-7. */
export function encodeMailboxName(name: string): string {
  return name.replaceAll(/&|[^\u0020-\u007e]+/g, encodeRun)
}

/**
 * Encodes a category as a keyword, in the same way, but for the characters that no atom may contain (RFC 9051 section
 * 9).
 * @param isWhole whether the first character is encoded in any case
 */
export function encodeKeyword(category: string, isWhole = false): string {
  const encoded = (text: string) => text.replaceAll(/&|[^\w!#'+,./:;<=>?@^`|~$-]+/g, encodeRun)
  const [first = ''] = category
  return isWhole ? encodeRun(first) + encoded(category.slice(first.length)) : encoded(category)
}

function encodeRun(run: string): string {
  if (run === '&') return '&-'
  const bytes = Buffer.from(run, 'utf16le').swap16()
  return `&${bytes.toString('base64').replaceAll('=', '').replaceAll('/', ',')}-`
}
