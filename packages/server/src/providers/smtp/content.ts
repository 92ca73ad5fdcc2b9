import type { OutgoingContent } from '../sending.ts'

const [CR, LF, DOT] = [0x0d, 0x0a, 0x2e]

/** The content breaks its promise, so the message is not sent. `message` is for people. */
export class DamagedContent extends Error {
  override name = 'DamagedContent'
}

/**
 * The content with its dots stuffed (RFC 5321 section 4.5.2), up to and without the dot that ends it. Throws
 * `DamagedContent` at a CR or LF alone, which some servers take for a line end, so that a message could hold a second
 * one (SMTP smuggling), and if there are more or fewer bytes than promised.
 */
export async function* stuffed({
  byteLength,
  open,
}: OutgoingContent): AsyncGenerator<Uint8Array, void, void> {
  const stuffer = new DotStuffer()
  let bytes = 0
  for await (const chunk of open()) {
    bytes += chunk.length
    if (bytes > byteLength) break
    if (chunk.length > 0) yield stuffer.stuff(chunk)
  }
  if (bytes !== byteLength) throw new DamagedContent('The message is not as long as it should be.')
  const rest = stuffer.end()
  if (rest.length > 0) yield rest
}

class DotStuffer {
  #last = 0
  #isLineStart = true

  stuff(chunk: Uint8Array): Uint8Array {
    const dots: number[] = []
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if ((byte === LF) !== (this.#last === CR)) throw bareLineEnd()
      if (byte === DOT && this.#isLineStart) dots.push(at)
      this.#isLineStart = byte === LF
      this.#last = byte ?? 0
    }
    return dots.length > 0 ? withDots(chunk, dots) : chunk
  }

  /** The bytes that are missing before the line with the dot. */
  end(): Uint8Array {
    if (this.#last === CR) throw bareLineEnd()
    return this.#isLineStart ? new Uint8Array() : Buffer.from('\r\n')
  }
}

/** The bytes with one more dot before each of these. */
function withDots(chunk: Uint8Array, dots: readonly number[]): Uint8Array {
  const result = Buffer.allocUnsafe(chunk.length + dots.length)
  let [from, to] = [0, 0]
  for (const at of dots) {
    result.set(chunk.subarray(from, at), to)
    to += at - from
    result[to++] = DOT
    from = at
  }
  result.set(chunk.subarray(from), to)
  return result
}

function bareLineEnd(): DamagedContent {
  return new DamagedContent('The message has a line end that is not CRLF.')
}
