import type { Random } from '../world/random.ts'
import { isAttachment, parseMessage, partBytes, partsOf, type Part } from '../mail/mime.ts'
import { snippetOf } from '../mail/snippet.ts'
import { historyId } from './mailbox/history.ts'
import type { Message } from './mailbox/message.ts'

export const FORMATS = ['full', 'minimal', 'metadata', 'raw'] as const
export type Format = (typeof FORMATS)[number]

/** A message as `messages.get` answers it. `headers` are the only ones to show with `metadata`; none means all. */
export function presentMessage(message: Message, format: Format, headers: string[], random: Random): object {
  const root = format === 'minimal' || format === 'raw' ? null : parseMessage(message.raw)
  return {
    ...presentIds(message),
    snippet: (message.snippet ??= snippetOf(message.raw, root ?? parseMessage(message.raw))),
    ...(format === 'full' && root && { payload: presentPart(message, root, random) }),
    ...(format === 'metadata' && root && { payload: presentHeaders(root, headers) }),
    sizeEstimate: message.raw.length,
    ...(format === 'raw' && { raw: base64(message.raw) }),
    historyId: historyId(message.historyNumber),
    internalDate: String(message.internalDate),
  }
}

/** The ids and labels of a message. Gmail leaves out an empty list. */
export const presentIds = (message: Message): object => ({
  id: message.id,
  threadId: message.threadId,
  ...(message.labels.size > 0 && { labelIds: [...message.labels] }),
})

const presentHeaders = (root: Part, names: string[]): object => {
  const wanted = new Set(names.map(name => name.toLowerCase()))
  const headers = root.headers.filter(header => wanted.size === 0 || wanted.has(header.name.toLowerCase()))
  return { mimeType: root.mimeType, ...(headers.length > 0 && { headers }) }
}

function presentPart(message: Message, part: Part, random: Random): object {
  return {
    partId: part.partId,
    mimeType: part.mimeType,
    filename: part.filename,
    ...(part.headers.length > 0 && { headers: part.headers }),
    body: presentBody(message, part, random),
    ...(part.parts.length > 0 && { parts: part.parts.map(child => presentPart(message, child, random)) }),
  }
}

function presentBody(message: Message, part: Part, random: Random): object {
  if (part.mimeType.startsWith('multipart/')) return { size: 0 }
  const bytes = partBytes(message.raw, part)
  if (isAttachment(part)) return { attachmentId: attachmentId(message, part, random), size: bytes.length }
  return { size: bytes.length, ...(bytes.length > 0 && { data: base64(bytes) }) }
}

/** Base64 for URLs, with its padding, as Google's APIs write bytes. */
const base64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_')

/** An id of an attachment. Each answer has another one, and all of them work. */
const attachmentId = (message: Message, part: Part, random: Random): string =>
  `ANGjdJ${random.letters(24)}${Buffer.from(`${message.id}/${part.partId}`).toString('base64url')}`

/** The body of an attachment, or null if the id is not one of this message's. */
export function presentAttachment(message: Message, id: string): object | null {
  const [messageId, partId] = Buffer.from(id.slice(30), 'base64url').toString('latin1').split('/')
  if (!id.startsWith('ANGjdJ') || messageId !== message.id) return null
  for (const part of partsOf(parseMessage(message.raw))) {
    if (part.partId !== partId || !isAttachment(part)) continue
    const bytes = partBytes(message.raw, part)
    return { size: bytes.length, data: base64(bytes) }
  }
  return null
}
