/** Bytes of content, from its first. */
export interface CutRange {
  start: number
  end: number
}

/**
 * A piece of content without the bytes of the ranges.
 * @param offset where the piece begins in the content
 */
export function* withoutRanges(
  piece: Buffer,
  offset: number,
  ranges: readonly CutRange[],
): Generator<Buffer> {
  let from = 0
  for (const { start, end } of ranges) {
    if (end <= offset || start >= offset + piece.length) continue
    const kept = piece.subarray(from, Math.max(from, start - offset))
    if (kept.length > 0) yield kept
    from = Math.min(piece.length, end - offset)
  }
  if (from < piece.length) yield piece.subarray(from)
}

export function rangesLength(ranges: readonly CutRange[]): number {
  return ranges.reduce((bytes, { start, end }) => bytes + end - start, 0)
}
