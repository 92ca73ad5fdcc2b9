/* Cuts bytes into lines, however they are broken. */

const LF = 10
const CR = 13
/** Bytes that are held of a line without an end. A longer line comes in pieces. */
const PIECE_BYTES_MAX = 64 * 1024

/** The end of a line, or of a piece of one. `none`: the line goes on, or the content ended. */
export type LineEnd = 'crlf' | 'lf' | 'cr' | 'none'

export interface LineBreaker {
  push(bytes: Buffer): void
  end(): void
}

/** @param onLine called with each line without its end; the bytes are good until it returns */
export function lineBreaker(onLine: (line: Buffer, end: LineEnd) => void): LineBreaker {
  let held: Buffer = Buffer.alloc(0)
  return {
    push(bytes) {
      const all = held.length > 0 ? Buffer.concat([held, bytes]) : bytes
      const rest = cutLines(all, onLine)
      held = Buffer.from(all.subarray(rest))
      if (held.length > PIECE_BYTES_MAX) {
        // A CR at the end may belong to a line break.
        const to = held[held.length - 1] === CR ? held.length - 1 : held.length
        onLine(held.subarray(0, to), 'none')
        held = held.subarray(to)
      }
    },
    end() {
      if (held[held.length - 1] === CR) onLine(held.subarray(0, -1), 'cr')
      else if (held.length > 0) onLine(held, 'none')
      held = Buffer.alloc(0)
    },
  }
}

/** @returns where the bytes begin that are no whole line yet */
function cutLines(all: Buffer, onLine: (line: Buffer, end: LineEnd) => void): number {
  let from = 0
  let cr = all.indexOf(CR)
  let lf = all.indexOf(LF)
  while (cr >= 0 || lf >= 0) {
    if (lf >= 0 && (cr < 0 || lf < cr)) {
      onLine(all.subarray(from, lf), 'lf')
      from = lf + 1
    } else {
      if (cr === all.length - 1) return from
      const isPair = lf === cr + 1
      onLine(all.subarray(from, cr), isPair ? 'crlf' : 'cr')
      from = cr + (isPair ? 2 : 1)
    }
    if (cr >= 0 && cr < from) cr = all.indexOf(CR, from)
    if (lf >= 0 && lf < from) lf = all.indexOf(LF, from)
  }
  return from
}
