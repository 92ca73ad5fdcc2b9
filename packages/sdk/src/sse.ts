import { errorOf } from './errors.ts'

/** More than the largest event has. */
const BLOCK_CHARACTERS_MAX = 8 * 1024 * 1024

/** Server-Sent Events (WHATWG HTML, 9.2.6): the fields of a block, up to its empty line. */
export interface SseBlock {
  id: string | undefined
  data: string | undefined
}

/**
 * Reads the blocks of a stream. The end of the stream ends them; a block that is cut off there is dropped.
 * @param onBytes is called whenever something came, comments included
 */
export async function* readBlocks(
  stream: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<SseBlock> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  let text = ''
  let hasCr = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      // A line ends with CR, LF or both, and these may come in two pieces.
      const piece = decoder.decode(value, { stream: true })
      text += (hasCr ? piece.replace(/^\n/, '') : piece).replaceAll(/\r\n?/g, '\n')
      if (piece !== '') hasCr = piece.endsWith('\r')
      if (text.length > BLOCK_CHARACTERS_MAX) {
        const message = 'The stream has an event that is too large.'
        throw errorOf({ code: 'unreadable_answer', message, outcome: 'not_applied' })
      }
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) yield parseBlock(block)
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parseBlock(block: string): SseBlock {
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'id' && !value.includes('\0')) id = value
  }
  return { id, data: data.length === 0 ? undefined : data.join('\n') }
}
