import type { TransferDecoder } from './transfer-encoding.ts'

const LF = 10
const BLANKS: ReadonlySet<number> = new Set([9, LF, 13, 32])
const LOWER_E = 101
const BEGIN = Buffer.from('begin ')
const LINE_BYTES_MAX = 63
/** The character for the length, and four for every three bytes. Anything after that has no meaning. */
const LINE_LENGTH_MAX = 1 + (LINE_BYTES_MAX / 3) * 4
const NOTHING = Buffer.alloc(0)

type State = 'before' | 'heading' | 'within' | 'behind' | 'plain'

/**
 * Decodes uuencode (POSIX) piece by piece, up to its `end`. Content that does not begin with `begin` is not encoded,
 * and stays as it is.
 */
export function uuDecoder(): TransferDecoder {
  let state: State = 'before'
  let matched = 0
  /** The beginning of an unfinished line. */
  let held = NOTHING

  /** Searches for `begin`. @returns the position it reached */
  const begin = (bytes: Buffer): number => {
    for (let at = 0; at < bytes.length; at++) {
      if (matched === 0 && BLANKS.has(bytes[at]!)) continue
      if (bytes[at] !== BEGIN[matched]) {
        state = 'plain'
        return at
      }
      if (++matched === BEGIN.length) {
        state = 'heading'
        return at + 1
      }
    }
    return bytes.length
  }
  const isPlain = () => state === 'plain'
  const isBehind = () => state === 'behind'
  const takeLine = (line: Buffer, out: Buffer, length: number): number => {
    if (state === 'heading') state = 'within'
    else if (isEnd(line)) state = 'behind'
    else return decodeLine(line, out, length)
    return length
  }
  return {
    push(bytes) {
      let at = 0
      if (state === 'before') {
        at = begin(bytes)
        if (isPlain()) return Buffer.concat([BEGIN.subarray(0, matched), bytes.subarray(at)])
      }
      if (isPlain()) return bytes
      let out = Buffer.allocUnsafe(bytes.length + LINE_BYTES_MAX)
      let length = 0
      while (at < bytes.length && !isBehind()) {
        const newline = bytes.indexOf(LF, at)
        const part = bytes.subarray(at, newline < 0 ? bytes.length : newline)
        const line = held.length === 0 ? part : Buffer.concat([held, part])
        held = newline < 0 ? Buffer.from(line.subarray(0, LINE_LENGTH_MAX)) : NOTHING
        if (newline < 0) break
        // Lines may have lost the blanks at their ends, which encode zeros.
        if (length + LINE_BYTES_MAX > out.length) out = Buffer.concat([out], out.length * 2)
        length = takeLine(line, out, length)
        at = newline + 1
      }
      return out.subarray(0, length)
    },
    end() {
      if (state === 'before') return Buffer.from(BEGIN.subarray(0, matched))
      if (state !== 'within') return NOTHING
      const out = Buffer.allocUnsafe(LINE_BYTES_MAX)
      return out.subarray(0, takeLine(held, out, 0))
    },
  }
}

function isEnd(line: Buffer): boolean {
  // Few of millions of lines begin with it.
  return line[0] === LOWER_E && line.toString('latin1', 0, 4).trimEnd() === 'end'
}

/** @returns the length of `out` with the bytes of the line */
function decodeLine(line: Buffer, out: Buffer, length: number): number {
  const count = sextet(line[0])
  for (let at = 0; at < count; at += 3) {
    const group = 1 + (at / 3) * 4
    const a = sextet(line[group])
    const b = sextet(line[group + 1])
    const c = sextet(line[group + 2])
    const d = sextet(line[group + 3])
    out[length + at] = (a << 2) | (b >> 4)
    if (at + 1 < count) out[length + at + 1] = ((b & 15) << 4) | (c >> 2)
    if (at + 2 < count) out[length + at + 2] = ((c & 3) << 6) | d
  }
  return length + count
}

/** An unknown or missing character counts as zero. */
function sextet(code = 0): number {
  return code > 32 && code < 96 ? code - 32 : 0
}
