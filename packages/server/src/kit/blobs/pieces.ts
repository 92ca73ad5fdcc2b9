/** Least size of a piece that is stored as a row, but for the last. */
const PIECE_BYTES = 1024 * 1024

/**
 * Joins frames to pieces.
 * @param pieceBytes a piece has at least this size, but for the last
 */
export async function* cutIntoPieces(
  frames: AsyncIterable<Buffer>,
  pieceBytes = PIECE_BYTES,
): AsyncGenerator<Buffer, undefined> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const frame of frames) {
    waiting.push(frame)
    bytes += frame.length
    if (bytes < pieceBytes) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}
