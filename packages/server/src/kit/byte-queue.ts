/** Bytes that arrive in pieces of any size and are taken in others. Each byte is copied once at most. */
export class ByteQueue {
  length = 0
  readonly #pieces: Buffer[] = []

  push(bytes: Buffer): void {
    if (bytes.length > 0) this.#pieces.push(bytes)
    this.length += bytes.length
  }

  /** Takes the first `count` bytes, or all if there are fewer. */
  take(count: number): Buffer {
    const taken = this.takePieces(count)
    return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken)
  }

  /** Takes the same bytes as `take`, in the pieces in which they arrived. */
  takePieces(count: number): Buffer[] {
    const taken: Buffer[] = []
    let missing = Math.min(count, this.length)
    this.length -= missing
    while (missing > 0) {
      const first = this.#pieces.shift() as Buffer
      taken.push(first.subarray(0, missing))
      if (first.length > missing) this.#pieces.unshift(first.subarray(missing))
      missing -= Math.min(first.length, missing)
    }
    return taken
  }
}
