import { decodeContent } from '../../../kit/mime/transfer-decoder.ts'
import { type SeparablePart, surveyParts } from '../../../kit/mime-writing/survey-parts.ts'
import { UnwalkableMessage } from '../../../kit/mime-writing/walk-message.ts'
import type { ContentInParts, OutgoingPart } from '../../../providers/sending.ts'
import { rangesLength, withoutRanges } from './cut-ranges.ts'

/* Takes a message apart for a provider that takes its large files beside it. */

/** Content that can be read several times. */
interface Readable {
  byteLength: number
  open(): AsyncIterable<Buffer>
}

/**
 * Leaves out the largest files of a message, as few as will do, until the rest has at most `restBytesMax`.
 * @param known the files of the message; null: the message is read to find them
 * @returns null if the rest would still be larger
 */
export async function splitContent(
  content: Readable,
  known: readonly SeparablePart[] | null,
  restBytesMax: number,
): Promise<ContentInParts | null> {
  let restBytes = content.byteLength
  const chosen: SeparablePart[] = []
  if (restBytes > restBytesMax) {
    const parts = known ?? (await findParts(content))
    for (const part of parts.toSorted((a, b) => rangesLength([b]) - rangesLength([a]))) {
      if (restBytes <= restBytesMax) break
      chosen.push(part)
      restBytes -= rangesLength([part])
    }
    if (restBytes > restBytesMax) return null
  }
  const cut = chosen.toSorted((a, b) => a.start - b.start)
  const reading = new OrderedReading(content)
  return {
    rest: { byteLength: restBytes, open: () => readWithout(content, cut) },
    parts: cut.map(part => toOutgoing(part, reading)),
    [Symbol.asyncDispose]: () => reading.end(),
  }
}

async function findParts(content: Readable): Promise<SeparablePart[]> {
  try {
    return await surveyParts(content.open())
  } catch (error) {
    if (error instanceof UnwalkableMessage) return []
    throw error
  }
}

async function* readWithout(content: Readable, cut: readonly SeparablePart[]): AsyncGenerator<Buffer> {
  let offset = 0
  for await (const piece of content.open()) {
    yield* withoutRanges(piece, offset, cut)
    offset += piece.length
  }
}

function toOutgoing(part: SeparablePart, reading: OrderedReading): OutgoingPart {
  const { filename, contentType, contentId, isInline, byteLength, bodyStart, end, encoding } = part
  return {
    filename,
    contentType,
    contentId,
    isInline,
    byteLength,
    open: () => decodeContent(reading.range(bodyStart, end), encoding),
  }
}

/**
 * Reads ranges of content, one at a time. If a range begins behind the position that has been read, the reading goes on
 * from there; if it begins before it, the content is opened again and read from its start.
 */
class OrderedReading {
  readonly #content: Readable
  #pieces: AsyncIterator<Buffer> | null = null
  /** A piece that is read, and where it begins. */
  #piece: Buffer = Buffer.alloc(0)
  #at = 0

  constructor(content: Readable) {
    this.#content = content
  }

  async *range(start: number, end: number): AsyncGenerator<Buffer> {
    if (this.#at > start) await this.end()
    this.#pieces ??= this.#content.open()[Symbol.asyncIterator]()
    for (;;) {
      const from = Math.max(0, start - this.#at)
      const to = Math.min(this.#piece.length, end - this.#at)
      if (from < to) yield this.#piece.subarray(from, to)
      if (this.#at + this.#piece.length >= end) return
      const next = await this.#pieces.next()
      if (next.done) throw new Error('The content is shorter than its parts')
      this.#at += this.#piece.length
      this.#piece = next.value
    }
  }

  async end(): Promise<void> {
    const pieces = this.#pieces
    this.#pieces = null
    this.#piece = Buffer.alloc(0)
    this.#at = 0
    await pieces?.return?.()
  }
}
