import { HEADER_BYTES_MAX } from './header.ts'

const FIELDS_MAX = 1000
const SPACE = 32
const TAB = 9
const LETTER_C = 99

/** The header of a part, as far as it has been read. */
export interface PartHeader {
  id: string
  /** The raw values of Content-Type and related fields. */
  lines: Buffer[]
  lineBytes: number
  fields: number
  /** Whether the current field is one of those to keep. */
  isKept: boolean
  isEmpty: boolean
}

export function newHeader(id: string): PartHeader {
  return { id, lines: [], lineBytes: 0, fields: 0, isKept: false, isEmpty: true }
}

/**
 * Adds a line. Keeps only the fields that describe the part; other fields may be of any length. `isStart` is false for
 * the rest of a longer line.
 */
export function addLine(header: PartHeader, line: Buffer, isStart: boolean): void {
  header.isEmpty = false
  const first = line[0]!
  if (isStart && first !== SPACE && first !== TAB) {
    header.fields++
    header.isKept = (first | 0x20) === LETTER_C
  }
  if (!header.isKept) return
  header.lineBytes += line.length
  if (!isTooLong(header)) header.lines.push(Buffer.from(line))
}

export function isTooLong({ fields, lineBytes }: PartHeader): boolean {
  return fields > FIELDS_MAX || lineBytes > HEADER_BYTES_MAX
}
