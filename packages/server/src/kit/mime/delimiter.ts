/* Delimiter lines of a multipart (RFC 2046 section 5.1.1). */

const CR = 13
const DASH = 45

/** A longer line is not a delimiter: by RFC 2046 boundaries have at most 70 characters. */
export const DELIMITER_LENGTH_MAX = 1006

/** The position of a line that begins with two dashes, or -1. */
export function findDashes(buffer: Buffer, from: number, isLineStart: boolean): number {
  if (isLineStart && buffer[from] === DASH && buffer[from + 1] === DASH) return from
  const at = buffer.indexOf('\n--', from, 'latin1')
  return at < 0 ? -1 : at + 1
}

/** The end of the content before a delimiter: the line break between them belongs to the delimiter. */
export function contentEnd(buffer: Buffer, from: number, line: number): number {
  if (line <= from) return line
  return line - 2 >= from && buffer[line - 2] === CR ? line - 2 : line - 1
}
