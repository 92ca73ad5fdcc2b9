import type { Download } from '@waxwing/contract/shapes.ts'
import { readHeader } from '../../../kit/mime/header.ts'
import {
  openLeaf,
  type ParsedAttachment,
  readPartFields,
  toAttachment,
} from '../../../kit/mime/message-part.ts'
import { decodeContent } from '../../../kit/mime/transfer-decoder.ts'
import { CONTENT_BYTES_MAX } from '../../../providers/content.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import { type ReadContext, readMessage } from './body.ts'
import { openCopy } from './record-copy.ts'
import { isStorable, openAtProvider } from './source.ts'
import type { FullRow } from '../messages/store.ts'
import { openStored } from './stored-source.ts'

/** A part number as in IMAP. */
const PART = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/
const PART_BYTES_MAX = 1024 ** 3

/** The attachments of a message; null if it is too large to be read. It is not read again if that was done lately. */
export async function listAttachments(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<readonly ParsedAttachment[] | null> {
  const known = isStorable(account, message) ? null : context.partPlaces.find(message.id)
  return known ?? (await readMessage(context, account, message))?.attachments ?? null
}

/**
 * Reads an attachment. Its position comes from our own parser, even if the message is not stored, since servers number
 * the parts of malformed messages differently. Only a part that is not listed is fetched from the provider.
 */
export async function openAttachment(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
  id: string,
): Promise<Download> {
  const attachments = await listAttachments(context, account, message)
  const attachment = attachments?.find(part => part.id === id)
  if (!attachment) return openRemotePart(context, account, message, id)
  const stored = await openKept(context, account, message)
  const content =
    stored === 'none' || stored === 'unreadable'
      ? readRange(context, account, message, attachment)
      : slice(stored, attachment.start, attachment.end)
  return toDownload(attachment, content)
}

/** The whole message, if it is stored here. */
async function openKept(context: ReadContext, account: AccountView, message: FullRow) {
  if (message.is_kept) return openCopy(context, account, message.id)
  return isStorable(account, message) ? openStored(context, account, message.id) : 'none'
}

/** Reads the encoded content of a part from the provider's source of the message. */
async function* readRange(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
  { start, end }: ParsedAttachment,
): AsyncGenerator<Buffer> {
  const read = await openAtProvider(context, account, message)
  if (start === end) return
  let offset = start
  for await (const bytes of read({ part: null, isHeader: false, offset, end, size: null })) {
    offset += bytes.length
    yield bytes
  }
  // Content that ends too early must not look complete.
  if (offset < end) refuse('provider_unavailable')
}

async function openRemotePart(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
  id: string,
): Promise<Download> {
  const read = await openAtProvider(context, account, message)
  if (!PART.test(id)) refuse('provider_not_found')
  const openPart = (part: string | null, isHeader: boolean, end: number) =>
    read({ part, isHeader, offset: 0, end, size: null })
  const readHeaderOf = async (part: string | null) => {
    for await (const first of openPart(part, true, CONTENT_BYTES_MAX)) return first
    return Buffer.alloc(0)
  }

  const own = await readHeaderOf(id)
  // RFC 9051 section 6.4.5: a message that is not a multipart is its own part 1, whose header is the message's.
  const header = own.length === 0 && id === '1' ? await readHeaderOf(null) : own
  const text = header.toString('latin1')
  const traits = readPartFields(readHeader(text, 0, text.length))
  if (traits.type.value.startsWith('multipart/') && traits.type.parameters.has('boundary'))
    refuse('provider_not_found')
  const attachment = toAttachment(
    openLeaf(id, traits, { parent: null, isFirst: false, isInAlternative: false, isAfterText: false }, 0),
    0,
  )
  // Nothing is opened before the content is read: a caller that is refused meanwhile would never close it.
  async function* content() {
    let isEmpty = true
    for await (const bytes of openPart(id, false, PART_BYTES_MAX)) {
      isEmpty = false
      yield bytes
    }
    if (isEmpty && own.length === 0) refuse('provider_not_found')
  }
  return toDownload(attachment, content())
}

function toDownload(
  { filename, contentType, encoding }: ParsedAttachment,
  content: AsyncIterable<Buffer>,
): Download {
  return { contentType, fileName: filename, content: decodeContent(content, encoding) }
}

async function* slice(content: AsyncIterable<Buffer>, start: number, end: number): AsyncGenerator<Buffer> {
  let offset = 0
  for await (const bytes of content) {
    const piece = bytes.subarray(Math.max(0, start - offset), Math.max(0, end - offset))
    offset += bytes.length
    if (piece.length > 0) yield piece
    if (offset >= end) return
  }
}
