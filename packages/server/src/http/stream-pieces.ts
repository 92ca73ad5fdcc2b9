export interface Pieces {
  first: IteratorResult<Uint8Array>
  iterator: AsyncIterator<Uint8Array>
  /** A client that takes nothing for this long is taken for gone. */
  stallMillisecondsMax: number
  /** Ends the connection, which cancels the stream. */
  breakOff(error: unknown): void
}

/** Streams pieces one by one: the next is read when the client has taken the one before. */
export function streamPieces(pieces: Pieces): ReadableStream<Uint8Array> {
  const { first, iterator, stallMillisecondsMax, breakOff } = pieces
  let next: IteratorResult<Uint8Array> | null = first
  let stall: NodeJS.Timeout | undefined
  let isCancelled = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stall)
        try {
          const { done, value } = next ?? (await iterator.next())
          next = null
          // The client left while the piece was read.
          if (isCancelled) return
          if (done) {
            controller.close()
            return
          }
          controller.enqueue(value)
          stall = setTimeout(() => {
            // Nobody waits for an error of content that is given up.
            iterator.return?.().catch(() => {})
            breakOff(new Error('The client takes nothing'))
          }, stallMillisecondsMax)
          stall.unref()
        } catch (error) {
          // Not an error of the stream, which the server would write to the console.
          if (!isCancelled) breakOff(error)
        }
      },
      async cancel() {
        isCancelled = true
        clearTimeout(stall)
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
