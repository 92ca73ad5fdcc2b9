import { CONTENT_BYTES_MAX, type ContentEnd, type ContentProvider, type ContentRange } from '../content.ts'
import { ProviderFailure } from '../failure.ts'
import type { MessageKey } from '../mail.ts'
import { segment } from './api.ts'
import { isOfPart } from './fetch.ts'
import type { GraphConnection } from './graph-connection.ts'
import { partOf } from './part.ts'

/** Number of a part as in IMAP (RFC 9051 section 6.4.5). */
const NUMBER = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/
const HEADER_END = Buffer.from('\r\n\r\n')

export function graphContent(connection: GraphConnection): ContentProvider {
  return {
    open: ({ key }, range) => openSource(connection, key, range),
    readSources: ({ keys }, bytesMax) => readSources(connection, keys, bytesMax),
  }
}

/** The source of a message, or one of its parts. Graph gives it only from its beginning: bytes before are dropped. */
async function* openSource(
  { api, signal }: GraphConnection,
  key: MessageKey,
  range: ContentRange,
): AsyncGenerator<Buffer, ContentEnd, void> {
  const { part, isHeader } = range
  if (part !== null && !NUMBER.test(part)) throw new ProviderFailure('not_found', 'There is no such part.')
  await using answer = await api.stream(`messages/${segment(String(key))}/$value`, { signal })
  if (part !== null) return yield* cut(partOf(answer.content, part, isHeader), range)
  return yield* cut(isHeader ? untilHeaderEnd(answer.content) : answer.content, range)
}

/** The bytes of a range, in pieces that are neither empty nor too long. */
async function* cut(
  source: AsyncIterable<Buffer>,
  { offset, end }: Pick<ContentRange, 'offset' | 'end'>,
): AsyncGenerator<Buffer, ContentEnd, void> {
  let at = 0
  let isEmpty = true
  for await (const bytes of source) {
    isEmpty &&= bytes.length === 0
    const last = end === null ? bytes.length : Math.max(0, end - at)
    const wanted = bytes.subarray(Math.max(0, offset - at), last)
    for (let from = 0; from < wanted.length; from += CONTENT_BYTES_MAX)
      yield wanted.subarray(from, from + CONTENT_BYTES_MAX)
    at += bytes.length
    if (end !== null && at >= end) break
  }
  return isEmpty ? 'nothing' : 'end'
}

async function* untilHeaderEnd(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let tail = Buffer.alloc(0)
  for await (const bytes of source) {
    const joined = Buffer.concat([tail, bytes])
    const at = joined.indexOf(HEADER_END)
    if (at >= 0) {
      yield bytes.subarray(0, at + HEADER_END.length - tail.length)
      return
    }
    yield bytes
    tail = joined.subarray(-(HEADER_END.length - 1))
  }
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
        const path = `messages/${segment(String(key))}/$value`
        await using answer = await api.stream(path, { signal, urgency: 'background' })
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
