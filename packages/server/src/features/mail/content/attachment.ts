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
import type { AccountView } from '../../accounts/accounts/account.ts'
import type { RequestContext } from '../../context.ts'
import { refuse } from '../../refuse.ts'
import { readMessage } from './body.ts'
import { isStorable, openAtProvider } from './source.ts'
import type { FullRow } from '../messages/store.ts'
import { openStored } from './stored-source.ts'

/** A part number as IMAP counts. */
const PART = /^[1-9]\d{0,3}(?:\.[1-9]\d{0,3}){0,63}$/
const PART_BYTES_MAX = 1024 ** 3

/**
 * An attachment's bytes. Where it begins and ends is told by our own reading of the message, whatever is stored; servers
 * count the parts of what is not well formed in other ways. Only a part that is not listed is asked of the provider.
 */
export async function openAttachment(
  context: RequestContext,
  account: AccountView,
  message: FullRow,
  id: string,
): Promise<Download> {
  const known = isStorable(account, message) ? null : context.services.partPlaces.find(message.id)
  const attachments = known ?? (await readMessage(context, account, message))?.attachments
  const attachment = attachments?.find(part => part.id === id)
  if (!attachment) return openRemotePart(context, account, message, id)
  const stored = isStorable(account, message) ? await openStored(context, account, message.id) : 'none'
  const content =
    stored === 'none' || stored === 'unreadable'
      ? await readRange(context, account, message, attachment)
      : slice(stored, attachment.start, attachment.end)
  return toDownload(attachment, content)
}

/** The encoded content of a part, out of the provider's source of the message. Its first piece is there when it returns. */
async function readRange(
  context: RequestContext,
  account: AccountView,
  message: FullRow,
  { start, end }: ParsedAttachment,
): Promise<AsyncGenerator<Buffer>> {
  const read = await openAtProvider(context, account, message)
  const piece = async (offset: number) => {
    const length = Math.min(CONTENT_BYTES_MAX, end - offset)
    const bytes = length > 0 ? await read({ part: null, isHeader: false, offset, length }) : null
    // What ends too early must not look like the whole.
    return bytes && bytes.length > 0 ? bytes.subarray(0, length) : refuse('provider_unavailable')
  }
  const first = start < end ? await piece(start) : Buffer.alloc(0)
  async function* content() {
    let bytes = first
    for (let offset = start; offset < end;) {
      yield bytes
      offset += bytes.length
      if (offset < end) bytes = await piece(offset)
    }
  }
  return content()
}

async function openRemotePart(
  context: RequestContext,
  account: AccountView,
  message: FullRow,
  id: string,
): Promise<Download> {
  const read = await openAtProvider(context, account, message)
  if (!PART.test(id)) refuse('provider_not_found')
  const piece = async (part: string | null, isHeader: boolean, offset = 0) =>
    (await read({ part, isHeader, offset, length: CONTENT_BYTES_MAX })) ?? Buffer.alloc(0)

  const first = await piece(id, false)
  const own = await piece(id, true)
  if (first.length === 0 && own.length === 0) refuse('provider_not_found')
  // RFC 9051 section 6.4.5: a message that is no multipart is its own part 1, whose header is the message's.
  const header = own.length === 0 && id === '1' ? await piece(null, true) : own
  const text = header.toString('latin1')
  const traits = readPartFields(readHeader(text, 0, text.length))
  if (traits.type.value.startsWith('multipart/') && traits.type.parameters.has('boundary'))
    refuse('provider_not_found')
  const attachment = toAttachment(
    openLeaf(id, traits, { parent: null, isFirst: false, isInAlternative: false, isAfterText: false }, 0),
    0,
  )

  async function* content() {
    let bytes = first
    for (let offset = 0; bytes.length > 0 && offset < PART_BYTES_MAX;) {
      yield bytes
      offset += bytes.length
      bytes = await piece(id, false, offset)
    }
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
