import { CONTENT_BYTES_MAX, type ContentEnd, type ContentProvider, type ContentRange } from '../content.ts'
import { cut, untilHeaderEnd } from '../content-range.ts'
import type { MessageKey } from '../mail.ts'
import { BATCH_PARTS_MAX, GMAIL_HOST, pathOf, segment } from './api.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { decodeField } from './json-field.ts'
import { openPart } from './part.ts'
import { rawMessageSchema } from './resources.ts'
import { UNITS } from './units.ts'

/** A message of 50 MB in base64, and the JSON around it. */
const ANSWER_BYTES_MAX = 128 * 1024 * 1024
const WHOLE_SECONDS = 600
/** The sources of a batch are in memory together. */
const SOURCES_AT_ONCE = 10
const SOURCE_ANSWER_BYTES_MAX = 2 * CONTENT_BYTES_MAX

export function gmailContent(connection: GmailConnection): ContentProvider {
  return {
    open: ({ key }, range) =>
      range.part === null ? openSource(connection, key, range) : openPart(connection, key, range.part, range),
    readSources: ({ keys }, bytesMax) => readSources(connection, keys, bytesMax),
  }
}

/**
 * The source of a message. Gmail gives it as one field of JSON, and only from its beginning: bytes before the range are
 * read and dropped.
 */
async function* openSource(
  { api, signal }: GmailConnection,
  key: MessageKey,
  range: ContentRange,
): AsyncGenerator<Buffer, ContentEnd, void> {
  const call = {
    host: GMAIL_HOST,
    method: 'GET' as const,
    path: pathOf(`messages/${segment(String(key))}`, { format: 'raw', fields: 'raw' }),
    answerBytesMax: ANSWER_BYTES_MAX,
    wholeSeconds: WHOLE_SECONDS,
    signal,
  }
  await using answer = await api.open(call, UNITS.messagesGet)
  const source = decodeField(answer.content, 'raw')
  return yield* cut(range.isHeader ? untilHeaderEnd(source) : source, range)
}

async function readSources(
  { api, signal }: GmailConnection,
  keys: readonly MessageKey[],
  bytesMax: number,
): Promise<Map<MessageKey, Buffer>> {
  const sources = new Map<MessageKey, Buffer>()
  let left = bytesMax
  // Sources that were read before the quota ended would be read again.
  await api.requireRoom(keys.length * UNITS.messagesGet)
  const atOnce = Math.min(SOURCES_AT_ONCE, BATCH_PARTS_MAX)
  for (let at = 0; at < keys.length; at += atOnce) {
    const asked = keys.slice(at, at + atOnce)
    const outcomes = await api.askAll(
      asked.map(key => ({
        path: `messages/${segment(String(key))}`,
        query: { format: 'raw', fields: 'id,threadId,raw' },
        units: UNITS.messagesGet,
        schema: rawMessageSchema,
        answerBytesMax: SOURCE_ANSWER_BYTES_MAX,
      })),
      { signal, urgency: 'background' },
    )
    for (const [index, { value, failure }] of outcomes.entries()) {
      if (failure?.kind === 'throttled') throw failure
      if (!value || value.id !== asked[index]) continue
      const source = Buffer.from(value.raw, 'base64url')
      if (source.length > CONTENT_BYTES_MAX || source.length > left) continue
      left -= source.length
      sources.set(value.id, source)
    }
  }
  return sources
}
