import { CONTENT_BYTES_MAX, type ContentEnd, type ContentRange } from '../content.ts'

/** The bytes of a range, in pieces that are neither empty nor too long. */
export async function* cut(
  source: AsyncIterable<Buffer>,
  { offset, end }: Pick<ContentRange, 'offset' | 'end'>,
): AsyncGenerator<Buffer, ContentEnd, void> {
  let at = 0
  for await (const bytes of source) {
    const wanted = bytes.subarray(
      Math.max(0, offset - at),
      end === null ? bytes.length : Math.max(0, end - at),
    )
    for (let from = 0; from < wanted.length; from += CONTENT_BYTES_MAX)
      yield wanted.subarray(from, from + CONTENT_BYTES_MAX)
    at += bytes.length
    if (end !== null && at >= end) break
  }
  return 'end'
}
