import { CONTENT_BYTES_MAX, type ContentEnd, type ContentRange } from './content.ts'

const HEADER_END = Buffer.from('\r\n\r\n')

/**
 * The bytes of a range of a source that is read from its beginning, in pieces that are neither empty nor too long.
 * @param emptyEnd the end of a source without any bytes
 */
export async function* cut(
  source: AsyncIterable<Buffer>,
  { offset, end }: Pick<ContentRange, 'offset' | 'end'>,
  emptyEnd: ContentEnd = 'end',
): AsyncGenerator<Buffer, ContentEnd, void> {
  let at = 0
  let isEmpty = true
  for await (const bytes of source) {
    isEmpty &&= bytes.length === 0
    const wanted = bytes.subarray(
      Math.max(0, offset - at),
      end === null ? bytes.length : Math.max(0, end - at),
    )
    for (let from = 0; from < wanted.length; from += CONTENT_BYTES_MAX)
      yield wanted.subarray(from, from + CONTENT_BYTES_MAX)
    at += bytes.length
    if (end !== null && at >= end) break
  }
  return isEmpty ? emptyEnd : 'end'
}

/** The header of a message, with the empty line after it. */
export async function* untilHeaderEnd(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let tail = Buffer.alloc(0)
  for await (const bytes of source) {
    const joined = Buffer.concat([tail, bytes])
    const at = joined.indexOf(HEADER_END)
    if (at >= 0) {
      yield bytes.subarray(0, at + HEADER_END.length - tail.length)
      return
    }
    yield bytes
    tail = joined.subarray(-(HEADER_END.length - 1))
  }
}
