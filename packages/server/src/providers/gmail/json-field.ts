import { ProviderFailure } from '../failure.ts'

const QUOTE = 0x22
/** Bytes before the value of the field; few, since the request selects this field alone. */
const HEAD_BYTES_MAX = 64 * 1024
/** Base64 of four characters stands for three bytes. */
const GROUP = 4

/**
 * Decodes a field of base64 in an answer of JSON while that is being read, so that a large message is never in memory as
 * a whole. Throws `ProviderFailure` if the answer ends within the field. An answer without the field has no bytes.
 */
export async function* decodeField(
  answer: AsyncIterable<Buffer>,
  name: string,
): AsyncGenerator<Buffer, void, void> {
  const opening = new RegExp(`"${name}"\\s*:\\s*"`)
  let head = ''
  let isInside = false
  let rest = ''
  for await (const chunk of answer) {
    let text = chunk.toString('latin1')
    if (!isInside) {
      head += text
      const found = opening.exec(head)
      if (!found) {
        if (head.length > HEAD_BYTES_MAX) throw unexpected()
        continue
      }
      isInside = true
      text = head.slice(found.index + found[0].length)
      head = ''
    }
    const end = text.indexOf(String.fromCharCode(QUOTE))
    const encoded = rest + (end < 0 ? text : text.slice(0, end))
    const whole = end < 0 ? encoded.length - (encoded.length % GROUP) : encoded.length
    rest = encoded.slice(whole)
    const bytes = Buffer.from(encoded.slice(0, whole), 'base64url')
    if (bytes.length > 0) yield bytes
    if (end >= 0) return
  }
  if (isInside || !/^\s*\{[^"]*\}\s*$/.test(head)) throw unexpected()
}

function unexpected(): ProviderFailure {
  return new ProviderFailure('unavailable', 'Gmail answered what the service does not understand.')
}
