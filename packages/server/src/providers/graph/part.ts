import { boundaryOf, readContentField } from '../../kit/mime/content-type.ts'
import { fieldText, HEADER_BYTES_MAX, readHeader } from '../../kit/mime/header.ts'

/* One part of a message, cut out of its source as that comes. Parts are numbered as in IMAP (RFC 9051 section 6.4.5). */

const DEPTH_MAX = 64
const CR = 13
const LF = 10
const DASH = 45
/** A line that is longer cannot be a delimiter, and is passed on in pieces. */
const LINE_BYTES_MAX = 8 * 1024

interface Level {
  boundary: string
  /** The number of the multipart with a dot, or empty for the message's own. */
  prefix: string
  children: number
}

interface Reading {
  levels: Level[]
  /** The number of the part whose header is being read, and its lines; null within content. */
  header: { number: string; lines: Buffer[]; bytes: number } | null
  /** Whether the bytes of the content belong to the wanted part, and its level. */
  wantedDepth: number | null
  isOver: boolean
}

/** The encoded content of a part, or its header with the empty line after it. Nothing comes if there is no such part. */
export async function* partOf(
  source: AsyncIterable<Buffer>,
  number: string,
  isHeader: boolean,
): AsyncGenerator<Buffer, void, void> {
  const reading: Reading = {
    levels: [],
    header: { number: '', lines: [], bytes: 0 },
    wantedDepth: null,
    isOver: false,
  }
  /** A line end that belongs to the delimiter if one follows. */
  let held = Buffer.alloc(0)
  for await (const { line, isStart } of linesOf(source)) {
    const piece = isStart ? readLine(reading, line, number, isHeader) : continued(reading, line)
    if (reading.isOver) return
    if (piece === null) continue
    const end = endOf(piece)
    const bytes = Buffer.concat([held, piece.subarray(0, piece.length - end)])
    held = Buffer.from(piece.subarray(piece.length - end))
    if (bytes.length > 0) yield bytes
    if (isHeader) {
      if (held.length > 0) yield held
      return
    }
  }
  if (reading.wantedDepth !== null && held.length > 0) yield held
}

/** @returns bytes of the wanted part */
function readLine(reading: Reading, line: Buffer, wanted: string, isHeader: boolean): Buffer | null {
  const delimiter = line[0] === DASH && line[1] === DASH ? findDelimiter(reading, line) : null
  if (delimiter !== null) {
    openNext(reading, delimiter)
    return null
  }
  const { header } = reading
  if (header === null) return reading.wantedDepth === null ? null : line
  header.lines.push(line)
  header.bytes += line.length
  if (line.length - endOf(line) > 0 && header.bytes < HEADER_BYTES_MAX) return null
  reading.header = null
  return endHeader(reading, header, wanted, isHeader)
}

function continued(reading: Reading, line: Buffer): Buffer | null {
  const { header } = reading
  if (header === null) return reading.wantedDepth === null ? null : line
  if (header.bytes < HEADER_BYTES_MAX) header.lines.push(line)
  header.bytes += line.length
  return null
}

/** Decides what the content behind a header is. */
function endHeader(
  reading: Reading,
  { number, lines }: { number: string; lines: readonly Buffer[] },
  wanted: string,
  isHeader: boolean,
): Buffer | null {
  const bytes = Buffer.concat(lines)
  const text = bytes.toString('latin1')
  const type = readContentField(fieldText(readHeader(text, 0, text.length), 'content-type'))
  const boundary = type.value.startsWith('multipart/') ? boundaryOf(type) : null
  const isMultipart = boundary !== null && reading.levels.length < DEPTH_MAX
  // A message that is no multipart is its own part 1, whose header is the message's.
  const isOwnPart = !isMultipart && (number === '' || number.endsWith('.'))
  const own = isOwnPart ? `${number}1` : number
  if (own === wanted) {
    if (isHeader && isOwnPart) {
      reading.isOver = true
      return null
    }
    if (isHeader) return bytes
    reading.wantedDepth = reading.levels.length
    return null
  }
  if (isMultipart) {
    const prefix = number === '' || number.endsWith('.') ? number : `${number}.`
    reading.levels.push({ boundary, prefix, children: 0 })
  } else if (
    type.value === 'message/rfc822' &&
    wanted.startsWith(`${own}.`) &&
    reading.levels.length < DEPTH_MAX
  )
    reading.header = { number: `${own}.`, lines: [], bytes: 0 }
  return null
}

/** The level whose delimiter a line is (RFC 2046 section 5.1.1), and whether it is the last one. */
function findDelimiter({ levels }: Reading, line: Buffer): { depth: number; isLast: boolean } | null {
  const text = line.subarray(2, line.length - endOf(line)).toString('latin1')
  for (let depth = levels.length - 1; depth >= 0; depth -= 1) {
    const { boundary } = levels[depth]!
    if (!text.startsWith(boundary)) continue
    const rest = text.slice(boundary.length).trimEnd()
    if (rest === '' || rest === '--') return { depth, isLast: rest === '--' }
  }
  return null
}

function openNext(reading: Reading, { depth, isLast }: { depth: number; isLast: boolean }): void {
  if (reading.wantedDepth !== null && depth < reading.wantedDepth) {
    reading.isOver = true
    return
  }
  const level = reading.levels[depth]!
  reading.levels.length = isLast ? depth : depth + 1
  level.children += 1
  reading.header = isLast ? null : { number: `${level.prefix}${level.children}`, lines: [], bytes: 0 }
}

/** Bytes of the line end. */
function endOf(line: Buffer): number {
  if (line.at(-1) !== LF) return 0
  return line.at(-2) === CR ? 2 : 1
}

/** The lines with their ends. A long line comes in pieces. */
async function* linesOf(source: AsyncIterable<Buffer>): AsyncGenerator<{ line: Buffer; isStart: boolean }> {
  let rest = Buffer.alloc(0)
  let isStart = true
  for await (const bytes of source) {
    const buffer = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes
    let at = 0
    for (;;) {
      const end = buffer.indexOf(LF, at)
      if (end < 0) break
      yield { line: buffer.subarray(at, end + 1), isStart }
      isStart = true
      at = end + 1
    }
    rest = Buffer.from(buffer.subarray(at))
    if (rest.length < LINE_BYTES_MAX) continue
    // A CR at the end may belong to the line end.
    yield { line: rest.subarray(0, -1), isStart }
    isStart = false
    rest = rest.subarray(-1)
  }
  if (rest.length > 0) yield { line: rest, isStart }
}
