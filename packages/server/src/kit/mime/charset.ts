import iconv from 'iconv-lite'

const UTF8_LABELS = new Set([
  '',
  'utf-8',
  'utf8',
  'us-ascii',
  'ascii',
  'ansi_x3.4-1968',
  'unknown-8bit',
  'default',
])

/**
 * Text of bytes in a declared charset. Never throws: what a charset does not define becomes U+FFFD, and bytes without a
 * known charset are read as UTF-8 where they are that, else as windows-1252.
 * @param isCut whether the bytes may end within a character
 */
export function decodeBytes(bytes: Buffer, charset: string | null, isCut = false): string {
  const label = (charset ?? '').trim().toLowerCase()
  if (label === 'utf-8' || label === 'utf8') return bytes.toString('utf8')
  if (UTF8_LABELS.has(label)) return decodeUnlabelled(bytes, isCut)
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    // Labels outside the WHATWG list, such as utf-7, cp850 or x-mac-roman's relatives.
    if (label.length <= 40 && iconv.encodingExists(label)) return decodeRare(bytes, label)
    return decodeUnlabelled(bytes, isCut)
  }
}

/** Bytes that declare nothing: UTF-8 where they are that, else windows-1252, which knows every byte. */
export function decodeUnlabelled(bytes: Buffer, isCut = false): string {
  const text = bytes.toString('utf8')
  return (isCut ? text.slice(0, -1) : text).includes('\ufffd')
    ? new TextDecoder('windows-1252').decode(bytes)
    : text
}

/** These are slow (a second per megabyte), and none of them was ever the charset of a long text. */
const RARE_BYTES_MAX = 512 * 1024

function decodeRare(bytes: Buffer, label: string): string {
  try {
    return iconv.decode(bytes.subarray(0, RARE_BYTES_MAX), label)
  } catch {
    return decodeUnlabelled(bytes)
  }
}
