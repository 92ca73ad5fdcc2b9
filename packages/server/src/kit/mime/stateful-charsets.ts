/* Charsets in which escape sequences change the meaning of bytes. Each is converted to one that TextDecoder knows. */

const LF = 10
const CR = 13
const SHIFT_OUT = 14
const SHIFT_IN = 15
const ESC = 27
const TILDE = 126
const HIGH = 0x80
/** Bytes of EUC-JP that announce a character of JIS X 0201 katakana or of JIS X 0212. */
const SINGLE_SHIFT_2 = 0x8e
const SINGLE_SHIFT_3 = 0x8f

/** Escapes of ISO 2022 that designate the set for SO and single shifts. */
const DESIGNATION = /^\$[)*+][A-Z]$/
const FULL_STOP = 0x2e
/** The byte after an escape. */
const SINGLE_SHIFT = 0x4e
/** Not a byte of EUC or GBK, so it becomes U+FFFD. */
const UNKNOWN = 0xff

export interface StatefulCharset {
  decode(bytes: Buffer): string
  /** Whether the bytes end before they return to ASCII. Null if they contain no shift. */
  endsShifted(bytes: Buffer): boolean | null
}

const JAPANESE: StatefulCharset = { decode: decodeJapanese, endsShifted: endsInJapanese }
const KOREAN: StatefulCharset = { decode: decodeKorean, endsShifted: endsShiftedOut }
const CHINESE: StatefulCharset = { decode: decodeChinese, endsShifted: endsShiftedOut }
const HZ: StatefulCharset = { decode: decodeHz, endsShifted: endsInHz }

const BY_LABEL = new Map<string, StatefulCharset>([
  ['iso-2022-jp', JAPANESE],
  ['csiso2022jp', JAPANESE],
  ['iso-2022-jp-1', JAPANESE],
  ['iso-2022-jp-2', JAPANESE],
  ['csiso2022jp2', JAPANESE],
  ['iso-2022-jp-3', JAPANESE],
  ['iso-2022-jp-2004', JAPANESE],
  ['iso-2022-jp-ms', JAPANESE],
  ['cp50220', JAPANESE],
  ['cp50221', JAPANESE],
  ['iso-2022-kr', KOREAN],
  ['csiso2022kr', KOREAN],
  ['iso-2022-cn', CHINESE],
  ['iso-2022-cn-ext', CHINESE],
  ['hz-gb-2312', HZ],
  ['hz', HZ],
])

export function findStateful(label: string): StatefulCharset | null {
  return BY_LABEL.get(label) ?? null
}

const iso2022Jp = new TextDecoder('iso-2022-jp')
const eucJp = new TextDecoder('euc-jp')
const eucKr = new TextDecoder('euc-kr')
const gbk = new TextDecoder('gbk')

/** Beginnings of escapes that the TextDecoder of ISO-2022-JP does not know. */
const BEYOND_RFC_1468 = ['\x1b$(', '\x1b$A', '\x1b.']

/**
 * ISO-2022-JP (RFC 1468), with JIS X 0212 (RFC 2237), and of its other extensions what EUC-JP has. The Chinese, Korean
 * and Latin characters of RFC 1554 and the second plane of JIS X 0213 become U+FFFD.
 */
function decodeJapanese(bytes: Buffer): string {
  return BEYOND_RFC_1468.some(escape => bytes.includes(escape, 0, 'latin1'))
    ? eucJp.decode(toEucJp(bytes))
    : iso2022Jp.decode(withoutIdleEscapes(bytes))
}

/** TextDecoder returns U+FFFD for two escapes in a row, which occur when senders concatenate encoded pieces. */
function withoutIdleEscapes(bytes: Buffer): Buffer {
  let out: Buffer | null = null
  let length = 0
  let from = 0
  for (let at = bytes.indexOf(ESC); at >= 0; at = bytes.indexOf(ESC, at + 1)) {
    if (bytes[at + 3] !== ESC || !findJapaneseSet(bytes, at) || !findJapaneseSet(bytes, at + 3)) continue
    out ??= Buffer.allocUnsafe(bytes.length)
    length += bytes.copy(out, length, from, at)
    from = at + 3
  }
  if (!out) return bytes
  length += bytes.copy(out, length, from)
  return out.subarray(0, length)
}

type JapaneseSet = 'ascii' | 'roman' | 'katakana' | 'x0208' | 'x0212' | 'foreign'

const JAPANESE_SETS = new Map<string, JapaneseSet>([
  ['(B', 'ascii'],
  ['(J', 'roman'],
  ['(I', 'katakana'],
  ['$@', 'x0208'],
  ['$B', 'x0208'],
  ['$A', 'foreign'],
])
/** Sets with escapes of four bytes. The first plane of JIS X 0213 is JIS X 0208 with additions. */
const LONG_JAPANESE_SETS = new Map<string, JapaneseSet>([
  ['$(B', 'x0208'],
  ['$(O', 'x0208'],
  ['$(Q', 'x0208'],
  ['$(D', 'x0212'],
  ['$(A', 'foreign'],
  ['$(C', 'foreign'],
  ['$(P', 'foreign'],
])

/** The set that a three-byte escape shifts to. */
function findJapaneseSet(bytes: Buffer, at: number): JapaneseSet | undefined {
  return JAPANESE_SETS.get(bytes.toString('latin1', at + 1, at + 3))
}

function toEucJp(bytes: Buffer): Buffer {
  // A character takes at most one byte more than in ISO-2022-JP.
  const out = Buffer.allocUnsafe(bytes.length * 2)
  let length = 0
  let set: JapaneseSet = 'ascii'
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === ESC) {
      const long = LONG_JAPANESE_SETS.get(bytes.toString('latin1', at + 1, at + 4))
      const found = long ?? findJapaneseSet(bytes, at)
      if (found) {
        set = found
        at += long ? 3 : 2
        continue
      }
      // RFC 1554: a set for single characters, and one of them.
      if (bytes[at + 1] === FULL_STOP || bytes[at + 1] === SINGLE_SHIFT) {
        if (bytes[at + 1] === SINGLE_SHIFT) out[length++] = UNKNOWN
        at += 2
        continue
      }
    }
    // RFC 1468: a line ends in ASCII.
    if (byte === LF || byte === CR) set = 'ascii'
    if (byte <= 0x20 || byte > 0x7e || set === 'ascii') out[length++] = byte
    else if (set === 'roman') length = writeRoman(out, length, byte)
    else if (set === 'katakana') {
      out[length++] = SINGLE_SHIFT_2
      out[length++] = byte | HIGH
    } else {
      if (set === 'x0212') out[length++] = SINGLE_SHIFT_3
      out[length++] = set === 'foreign' ? UNKNOWN : byte | HIGH
      if (!isGraphic(bytes[at + 1])) continue
      at++
      if (set !== 'foreign') out[length++] = bytes[at]! | HIGH
    }
  }
  return out.subarray(0, length)
}

/** JIS X 0201 Roman is ASCII with a yen sign and an overline, which EUC-JP has in full width. */
function writeRoman(out: Buffer, length: number, byte: number): number {
  if (byte === 0x5c) return out.writeUInt16BE(0xa1ef, length)
  if (byte === TILDE) return out.writeUInt16BE(0xa1b1, length)
  return out.writeUInt8(byte, length)
}

function endsInJapanese(bytes: Buffer): boolean | null {
  const escape = bytes.lastIndexOf(ESC)
  if (escape < 0) return null
  const set = findJapaneseSet(bytes, escape)
  return set !== 'ascii' && set !== 'roman'
}

/** RFC 1557: Korean between SO and SI, which is EUC-KR without its high bits. */
function decodeKorean(bytes: Buffer): string {
  return eucKr.decode(withHighBits(bytes, '$)C'))
}

/** RFC 1922: Chinese between SO and SI. GB 2312 is EUC-CN without its high bits; what other sets hold becomes U+FFFD. */
function decodeChinese(bytes: Buffer): string {
  return gbk.decode(withHighBits(bytes, '$)A'))
}

/**
 * Sets the high bits of what is between SO and SI if the escape announced it; writes `UNKNOWN` for each two bytes
 * otherwise.
 */
function withHighBits(bytes: Buffer, announced: string): Buffer {
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let isShifted = false
  let isKnown = true
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const escape = byte === ESC ? bytes.toString('latin1', at + 1, at + 4) : ''
    if (DESIGNATION.test(escape)) {
      isKnown = escape === announced || (isKnown && escape.startsWith('$*'))
      at += 3
    } else if (byte === SHIFT_OUT || byte === SHIFT_IN) isShifted = byte === SHIFT_OUT
    else {
      if (byte === LF || byte === CR) isShifted = false
      if (!isShifted || !isGraphic(byte)) out[length++] = byte
      else if (isKnown) out[length++] = byte | HIGH
      else {
        out[length++] = UNKNOWN
        if (isGraphic(bytes[at + 1])) at++
      }
    }
  }
  return out.subarray(0, length)
}

function isGraphic(byte = 0): boolean {
  return byte > 0x20 && byte < 0x7f
}

function endsShiftedOut(bytes: Buffer): boolean | null {
  const [out, back] = [bytes.lastIndexOf(SHIFT_OUT), bytes.lastIndexOf(SHIFT_IN)]
  return out === back ? null : out > back
}

/** RFC 1843: Chinese between ~{ and ~}, which is GB 2312 without its high bits; ~~ is a tilde. */
function decodeHz(bytes: Buffer): string {
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let isShifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const next = bytes[at + 1] ?? 0
    if (byte === LF || byte === CR) isShifted = false
    const sign = byte === TILDE ? String.fromCharCode(next) : ''
    if (sign === '{' || sign === '}') {
      isShifted = sign === '{'
      at++
    } else if (!isShifted && sign === '~') {
      out[length++] = TILDE
      at++
    } else if (!isShifted && sign !== '' && isLineEnd(bytes, at + 1)) {
      at += next === CR ? 2 : 1
    } else if (isShifted && byte > 0x20 && byte < 0x7f && next > 0x20 && next < 0x7f) {
      out[length++] = byte | HIGH
      out[length++] = next | HIGH
      at++
    } else out[length++] = byte
  }
  return gbk.decode(out.subarray(0, length))
}

function isLineEnd(bytes: Buffer, at: number): boolean {
  return bytes[at] === LF || (bytes[at] === CR && bytes[at + 1] === LF)
}

function endsInHz(bytes: Buffer): boolean | null {
  const [out, back] = [
    bytes.lastIndexOf('~{', undefined, 'latin1'),
    bytes.lastIndexOf('~}', undefined, 'latin1'),
  ]
  return out === back ? null : out > back
}
