/* Physical lines joined to logical ones (RFC 5545 section 3.1, RFC 6350 section 3.2). */

/** A line with its continuations. `start` and `end` are offsets in the file; `end` is behind the line ending. */
export interface LogicalLine {
  start: number
  end: number
  /** Bytes without folds and line ending, as latin1: one character for each byte. */
  raw: string
  /** As it stands at the end; empty if the file ends without one. */
  ending: string
}

/** More physical lines in one file are refused. */
export const PHYSICAL_LINES_MAX = 100_000

const TAB = 9
const CR = 13
const SPACE = 32
const EQUALS = 61
const BYTE_ORDER_MARK = '\xef\xbb\xbf'
/** The name and parameters of a line whose value is quoted-printable. */
const QUOTED_PRINTABLE = /^[^:]*[;=]quoted-printable[;:]/i
const BOUNDARY = /^(?:begin|end):/i

/**
 * Joins the lines of a file, given as latin1. A line ends with LF and any number of CRs before it; in a file without LF
 * it ends with CR. A byte order mark at the beginning belongs to no line. Null if there are too many physical lines.
 */
export function joinLines(file: string): LogicalLine[] | null {
  const lines: LogicalLine[] = []
  const isLf = file.includes('\n')
  let open: OpenLine | null = null
  let physical = 0
  for (let start = file.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0; start < file.length;) {
    if (++physical > PHYSICAL_LINES_MAX) return null
    const found = file.indexOf(isLf ? '\n' : '\r', start)
    const end = found === -1 ? file.length : found + 1
    const textEnd = found === -1 ? end : beforeReturns(file, start, found)
    const ending = file.slice(textEnd, end)
    const first = file.charCodeAt(start)
    if (open && isSoftBroken(open) && !BOUNDARY.test(file.slice(start, start + 'begin:'.length))) {
      open.pieces.push(open.pieces.pop()!.slice(0, -1), file.slice(start, textEnd))
    } else if (open && (first === SPACE || first === TAB)) {
      open.pieces.push(file.slice(start + 1, textEnd))
    } else {
      if (open) lines.push(close(open))
      open = {
        line: { start, end, raw: '', ending },
        pieces: [file.slice(start, textEnd)],
        isQuotedPrintable: null,
      }
    }
    open.line.end = end
    open.line.ending = ending
    start = end
  }
  if (open) lines.push(close(open))
  return lines
}

/** The end of a text that stands before a line ending, without the CRs that belong to the ending. */
function beforeReturns(file: string, start: number, at: number): number {
  let end = at
  while (end > start && file.charCodeAt(end - 1) === CR) end--
  return end
}

interface OpenLine {
  line: LogicalLine
  pieces: string[]
  /** Null while it was not needed. */
  isQuotedPrintable: boolean | null
}

function close({ line, pieces }: OpenLine): LogicalLine {
  line.raw = pieces.length === 1 ? pieces[0]! : pieces.join('')
  return line
}

/** Whether the value goes on in the next physical line, by the rules of quoted-printable (RFC 2045 section 6.7). */
function isSoftBroken(open: OpenLine): boolean {
  const last = open.pieces.at(-1)!
  if (last.charCodeAt(last.length - 1) !== EQUALS) return false
  open.isQuotedPrintable ??= QUOTED_PRINTABLE.test(open.pieces.join(''))
  return open.isQuotedPrintable
}
