import { isUtf8 } from 'node:buffer'
import iconv from 'iconv-lite'
import { findStateful } from './stateful-charsets.ts'

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
const UTF7_LABELS = new Set(['utf-7', 'unicode-1-1-utf-7'])
const LABEL_LENGTH_MAX = 40
const LABELS_MAX = 1000
/** Names of codecs that the library of rare charsets accepts although they are not charsets. */
const CODECS = /^\W*(?:hex|base64|binary)\W*$/
const MARK = 0xfeff
/** Maximum size of a character in UTF-8. */
const CHARACTER_BYTES_MAX = 4
const PLUS = 43
const DASH = 45
const SLASH = 47

/**
 * The text of bytes in a declared charset. Never throws: what a charset does not define becomes U+FFFD. Bytes without
 * a known charset are read as UTF-8 if they are valid UTF-8, otherwise as windows-1252. A byte order mark is dropped.
 * @param isCut whether the bytes may end within a character
 */
export function decodeBytes(bytes: Buffer, charset: string | null, isCut = false): string {
  const label = labelOf(charset)
  if (label === 'utf-8' || label === 'utf8') return withoutMark(bytes.toString('utf8'))
  if (UTF8_LABELS.has(label)) return decodeUnlabelled(bytes, isCut)
  if (UTF7_LABELS.has(label)) return decodeUtf7(bytes)
  const decode = findDecoder(isBigEndian(label, bytes) ? 'utf-16be' : label)
  return decode ? decode(bytes) : decodeUnlabelled(bytes, isCut)
}

/**
 * Whether the text of an encoded word may continue in the next word of its charset. Each word of a stateful charset
 * returns to ASCII (RFC 2047 section 2), if its sender follows the rules; with other charsets, many senders cut
 * characters in two.
 * @param wasShifted whether the words before it ended within a shift
 */
export function mayGoOn(bytes: Buffer, charset: string, wasShifted: boolean): boolean {
  const label = labelOf(charset)
  if (UTF7_LABELS.has(label)) return false
  const stateful = findStateful(label)
  return stateful === null || (stateful.endsShifted(bytes) ?? wasShifted)
}

type Decode = (bytes: Buffer) => string

/** Decoders by label; null if the label is unknown. Looking up a label costs more than decoding a word. */
const decoders = new Map<string, Decode | null>()

function findDecoder(label: string): Decode | null {
  if (label.length > LABEL_LENGTH_MAX) return null
  const known = decoders.get(label)
  if (known !== undefined) return known
  if (decoders.size >= LABELS_MAX) decoders.clear()
  const found = makeDecoder(label)
  decoders.set(label, found)
  return found
}

function makeDecoder(label: string): Decode | null {
  const stateful = findStateful(label)
  if (stateful) return bytes => stateful.decode(bytes)
  try {
    const decoder = new TextDecoder(label)
    return bytes => decoder.decode(bytes)
  } catch {
    // Charsets outside the WHATWG list, such as cp850 or the relatives of x-mac-roman.
    const isKnown = !CODECS.test(label) && iconv.encodingExists(label)
    return isKnown ? bytes => iconv.decode(bytes, label) : null
  }
}

/** The name of a charset without the comments and quotes that some senders leave on it. */
function labelOf(charset: string | null): string {
  const label = (charset ?? '').trim().toLowerCase()
  return /['"(;]/.test(label) ? (/[^'"(;]+/.exec(label)?.[0].trim() ?? '') : label
}

/** RFC 2781 section 4.3: the mark gives the order of bytes, while WHATWG assumes little-endian. */
function isBigEndian(label: string, bytes: Buffer): boolean {
  return label === 'utf-16' && bytes[0] === 0xfe && bytes[1] === 0xff
}

function withoutMark(text: string): string {
  return text.charCodeAt(0) === MARK ? text.slice(1) : text
}

const windows1252 = new TextDecoder('windows-1252')

/**
 * Decodes bytes without a declared charset: as UTF-8 if they are valid, otherwise as windows-1252, which defines
 * every byte.
 */
export function decodeUnlabelled(bytes: Buffer, isCut = false): string {
  const whole = isCut ? bytes.subarray(0, bytes.length - cutBytes(bytes)) : bytes
  return isUtf8(whole) ? withoutMark(whole.toString('utf8')) : windows1252.decode(bytes)
}

/** Number of bytes at the end that begin an incomplete character of UTF-8 (RFC 3629 section 4). */
function cutBytes(bytes: Buffer): number {
  for (let cut = 1; cut < CHARACTER_BYTES_MAX; cut++) {
    const byte = bytes[bytes.length - cut] ?? 0
    if (byte >= 0x80 && byte < 0xc0) continue
    const length = byte < 0xc2 || byte > 0xf4 ? 0 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4
    return cut < length ? cut : 0
  }
  return 0
}

/** RFC 2152. The library takes a second for a megabyte. */
function decodeUtf7(bytes: Buffer): string {
  const out = Buffer.allocUnsafe(bytes.length * 2)
  let length = 0
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== PLUS) {
      length = out.writeUInt16LE(bytes[at]!, length)
      continue
    }
    const shift = at
    let bits = 0
    let held = 0
    for (let six = sextet(bytes[at + 1]); six >= 0; six = sextet(bytes[++at + 1])) {
      bits = (bits << 6) | six
      held += 6
      if (held < 16) continue
      held -= 16
      length = out.writeUInt16LE(bits >> held, length)
      bits &= (1 << held) - 1
    }
    if (at === shift) length = out.writeUInt16LE(PLUS, length)
    if (bytes[at + 1] === DASH) at++
  }
  return out.toString('utf16le', 0, length)
}

/** The value of a base64 character, or -1. */
function sextet(code = 0): number {
  if (code >= 65 && code <= 90) return code - 65
  if (code >= 97 && code <= 122) return code - 71
  if (code >= 48 && code <= 57) return code + 4
  if (code === PLUS) return 62
  return code === SLASH ? 63 : -1
}
