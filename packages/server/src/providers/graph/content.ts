import { createHash, type Hash } from 'node:crypto'
import { CONTENT_BYTES_MAX, type ContentEnd, type ContentProvider, type ContentRange } from '../content.ts'
import { cut, untilHeaderEnd } from '../content-range.ts'
import { ProviderFailure } from '../failure.ts'
import { isOfPart } from '../http/ask-twice.ts'
import { AnswerUnread } from '../http/exchange.ts'
import type { MessageKey } from '../mail.ts'
import { segment } from './api.ts'
import type { GraphConnection } from './graph-connection.ts'
import { partOf } from './part.ts'

/** Number of a part as in IMAP (RFC 9051 section 6.4.5). */
const NUMBER = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/
/** Times that a source is opened for a reader who pauses. */
const OPENED_MAX = 40

export function graphContent(connection: GraphConnection): ContentProvider {
  return {
    open: ({ key }, range) => openSource(connection, key, range),
    readSources: ({ keys }, bytesMax) => readSources(connection, keys, bytesMax),
  }
}

/**
 * The source of a message, or one of its parts. If its reader pauses for long, it is opened again, and goes on behind what
 * was read. `conflict` if it is another one then, as a draft that was edited.
 */
async function* openSource(
  { api, signal }: GraphConnection,
  key: MessageKey,
  range: ContentRange,
): AsyncGenerator<Buffer, ContentEnd, void> {
  if (range.part !== null && !NUMBER.test(range.part))
    throw new ProviderFailure('not_found', 'There is no such part.')
  const read: Read = { bytes: 0, hash: createHash('sha256') }
  for (let opened = 1; ; opened += 1)
    try {
      await using answer = await api.stream(pathOf(key), { signal })
      return yield* goOn(cut(wantedOf(answer.content, range), range, 'nothing'), read)
    } catch (error) {
      if (!(error instanceof AnswerUnread) || opened >= OPENED_MAX) throw error
    }
}

/** The bytes that a reader has. */
interface Read {
  bytes: number
  hash: Hash
}

/** The pieces behind the bytes that were read, if they begin with these. */
async function* goOn(
  pieces: AsyncGenerator<Buffer, ContentEnd, void>,
  read: Read,
): AsyncGenerator<Buffer, ContentEnd, void> {
  const before = createHash('sha256')
  let left = read.bytes
  for (;;) {
    const step = await pieces.next()
    const known = step.done ? 0 : Math.min(left, step.value.length)
    if (!step.done && known > 0) before.update(step.value.subarray(0, known))
    const isBehind = left > 0 && left === known
    left -= known
    if (isBehind && !before.digest().equals(read.hash.copy().digest())) throw changed()
    if (step.done && left > 0) throw changed()
    if (step.done) return step.value
    if (known === step.value.length) continue
    const piece = step.value.subarray(known)
    read.hash.update(piece)
    read.bytes += piece.length
    yield piece
  }
}

function changed(): ProviderFailure {
  return new ProviderFailure('conflict', 'The message was changed while it was read.')
}

function pathOf(key: MessageKey): string {
  return `messages/${segment(String(key))}/$value`
}

/** Graph gives a source only whole and from its beginning. */
function wantedOf(source: AsyncIterable<Buffer>, { part, isHeader }: ContentRange): AsyncIterable<Buffer> {
  if (part !== null) return partOf(source, part, isHeader)
  return isHeader ? untilHeaderEnd(source) : source
}

async function readSources(
  { api, signal }: GraphConnection,
  keys: readonly MessageKey[],
  bytesMax: number,
): Promise<Map<MessageKey, Buffer>> {
  const sources = new Map<MessageKey, Buffer>()
  let left = bytesMax
  for (const key of keys) {
    if (left <= 0) break
    const source = await readSmall()
    if (!source || source.length > left) continue
    left -= source.length
    sources.set(key, source)

    async function readSmall(): Promise<Buffer | null> {
      try {
        await using answer = await api.stream(pathOf(key), { signal, urgency: 'background' })
        const chunks: Buffer[] = []
        let bytes = 0
        for await (const chunk of answer.content) {
          bytes += chunk.length
          if (bytes > CONTENT_BYTES_MAX) return null
          chunks.push(chunk)
        }
        return Buffer.concat(chunks)
      } catch (error) {
        if (!(error instanceof ProviderFailure) || !isOfPart(error) || error.isBusy) throw error
        return null
      }
    }
  }
  return sources
}
