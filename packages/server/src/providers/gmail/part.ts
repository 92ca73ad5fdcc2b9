import type { ContentEnd, ContentRange } from '../content.ts'
import { cut } from '../content-range.ts'
import { ProviderFailure } from '../failure.ts'
import type { MessageKey } from '../mail.ts'
import { GMAIL_HOST, pathOf, segment } from './api.ts'
import type { GmailConnection } from './gmail-connection.ts'
import { decodeField } from './json-field.ts'
import { messageSchema, type Part } from './resources.ts'
import { UNITS } from './units.ts'

const STRUCTURE_BYTES_MAX = 64 * 1024 * 1024
const ANSWER_BYTES_MAX = 128 * 1024 * 1024
const WHOLE_SECONDS = 600
const NUMBER = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/

/**
 * A part of a message by its number, or its header. Gmail has removed its transfer encoding, so the header that is
 * given here declares none. The id of an attachment is valid only briefly, so each read fetches it.
 */
export async function* openPart(
  connection: GmailConnection,
  key: MessageKey,
  number: string,
  range: ContentRange,
): AsyncGenerator<Buffer, ContentEnd, void> {
  if (!NUMBER.test(number)) throw new ProviderFailure('not_found', 'There is no such part.')
  const { api, signal } = connection
  const path = `messages/${segment(String(key))}`
  const { payload } = await api.ask(
    {
      path,
      query: { format: 'full', fields: 'id,threadId,payload' },
      units: UNITS.messagesGet,
      schema: messageSchema,
      answerBytesMax: STRUCTURE_BYTES_MAX,
    },
    { signal },
  )
  const part = payload && findPart(payload, number)
  if (!part) return 'nothing'
  if (range.isHeader) return yield* cut(once(headerOf(part)), range)
  const { attachmentId, data } = part.body ?? {}
  if (attachmentId === undefined) return yield* cut(once(Buffer.from(data ?? '', 'base64url')), range)
  const call = {
    host: GMAIL_HOST,
    method: 'GET' as const,
    path: pathOf(`${path}/attachments/${segment(attachmentId)}`, { fields: 'data' }),
    answerBytesMax: ANSWER_BYTES_MAX,
    wholeSeconds: WHOLE_SECONDS,
    signal,
  }
  await using answer = await api.open(call, UNITS.attachmentsGet)
  return yield* cut(decodeField(answer.content, 'data'), range)
}

/** The part with a number as in IMAP (RFC 9051 section 6.4.5). Gmail shows an enclosed message as the part of its part. */
export function findPart(payload: Part, number: string): Part | null {
  let part = payload
  /** The part in which the next number counts: a multipart, or a message that is its own part 1. */
  let within: Part = payload
  for (const nth of number.split('.').map(Number)) {
    const found = isMultipart(within) ? within.parts?.[nth - 1] : nth === 1 ? within : undefined
    if (!found || (found === part && found !== payload)) return null
    part = found
    const isMessage = part.mimeType?.toLowerCase() === 'message/rfc822'
    within = (isMessage ? part.parts?.[0] : undefined) ?? part
  }
  return part
}

function isMultipart({ mimeType = '' }: Part): boolean {
  return /^multipart\//i.test(mimeType)
}

function headerOf({ headers }: Part): Buffer {
  const lines = headers
    .filter(({ name }) => name.toLowerCase() !== 'content-transfer-encoding')
    .map(({ name, value }) => `${name}: ${value}`.replaceAll(/[\r\n]+/g, ' '))
  return Buffer.from([...lines, 'Content-Transfer-Encoding: binary', '', ''].join('\r\n'))
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
