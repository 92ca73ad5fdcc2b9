import { type NamedAddress, parseAddresses } from '../../mail/addresses.ts'
import { headerOf, type Header, messageIdsIn, parseParameters } from '../../mail/headers.ts'
import { type Part, partBytes, parseMessage, partsOf } from '../../mail/mime.ts'
import { attachmentPartsOf } from './mime-parts.ts'

export type Importance = 'low' | 'normal' | 'high'

export interface Body {
  readonly contentType: 'text' | 'html'
  readonly content: string
}

/** What Exchange reads out of a message's MIME. */
export interface Content {
  readonly headers: readonly Header[]
  readonly subject: string
  readonly from: NamedAddress | null
  readonly sender: NamedAddress | null
  readonly to: readonly NamedAddress[]
  readonly cc: readonly NamedAddress[]
  readonly bcc: readonly NamedAddress[]
  readonly replyTo: readonly NamedAddress[]
  /** With its angle brackets; empty without one. */
  readonly messageId: string
  /** The ids that the message answers: In-Reply-To, then References. */
  readonly answers: readonly string[]
  /** Its Date in milliseconds since 1970; null without a good one. */
  readonly date: number | null
  readonly importance: Importance
  readonly isReadReceiptRequested: boolean
  readonly isDeliveryReceiptRequested: boolean
  readonly body: Body
  readonly attachments: readonly ContentAttachment[]
  /** How many of the attachments, from the first, are inside the body and cannot be taken out of it. */
  readonly attachmentsWithin: number
}

/** An attachment inside a message's MIME. */
export interface ContentAttachment {
  readonly kind: 'file' | 'item' | 'reference'
  readonly name: string
  readonly contentType: string
  /** Without its angle brackets; null without one. */
  readonly contentId: string | null
  readonly isInline: boolean
  /** Address of what a reference names; empty otherwise. */
  readonly url: string
  /** Decoded; of an item its whole message. */
  readonly bytes: Buffer
}

/** Reads a message. What is broken in it reads as if it were not there. */
export function readContent(raw: Buffer): Content {
  const root = parseMessage(raw)
  const { headers } = root
  const addresses = (name: string) =>
    headers.filter(header => header.name.toLowerCase() === name).flatMap(({ value }) => parseAddresses(value))
  const [from = null] = addresses('from')
  const date = Date.parse(headerOf(headers, 'Date'))
  const { text, within, attachments } = attachmentPartsOf(root)
  return {
    headers,
    subject: headerOf(headers, 'Subject'),
    from,
    sender: addresses('sender')[0] ?? from,
    to: addresses('to'),
    cc: addresses('cc'),
    bcc: addresses('bcc'),
    replyTo: addresses('reply-to'),
    messageId: messageIdsIn(headerOf(headers, 'Message-ID'))[0] ?? '',
    answers: ['In-Reply-To', 'References'].flatMap(name => messageIdsIn(headerOf(headers, name))),
    date: Number.isNaN(date) ? null : date,
    importance: importanceOf(headers),
    isReadReceiptRequested: headerOf(headers, 'Disposition-Notification-To') !== '',
    isDeliveryReceiptRequested: headerOf(headers, 'Return-Receipt-To') !== '',
    body: bodyOf(raw, text),
    attachments: [...within, ...attachments].map(({ part, isInline }) => attachmentOf(raw, part, isInline)),
    attachmentsWithin: within.length,
  }
}

function importanceOf(headers: Header[]): Importance {
  const word = headerOf(headers, 'Importance').trim().toLowerCase()
  if (word === 'low' || word === 'high') return word
  const priority = headerOf(headers, 'X-Priority').trim()
  if (word === '' && /^[12]/.test(priority)) return 'high'
  return word === '' && /^[45]/.test(priority) ? 'low' : 'normal'
}

/** The HTML of a message, else its text. A message that has neither has an empty text. */
function bodyOf(raw: Buffer, text: Part | null): Body {
  const leaves = text ? [...partsOf(text)].filter(part => part.parts.length === 0) : []
  const chosen =
    leaves.find(({ mimeType }) => mimeType === 'text/html') ??
    leaves.find(({ mimeType }) => mimeType === 'text/plain') ??
    leaves.find(({ mimeType }) => mimeType.startsWith('text/'))
  if (!chosen) return { contentType: 'text', content: '' }
  return {
    contentType: chosen.mimeType === 'text/html' ? 'html' : 'text',
    content: partBytes(raw, chosen).toString('utf8'),
  }
}

function attachmentOf(raw: Buffer, part: Part, isInline: boolean): ContentAttachment {
  const contentId = headerOf(part.headers, 'Content-ID').trim().replaceAll(/^<|>$/g, '')
  const shared = { name: part.filename, contentId: contentId || null, isInline, url: '' }
  if (part.mimeType === 'message/rfc822') {
    const bytes = raw.subarray(part.bodyStart, part.bodyEnd)
    const subject = headerOf(part.parts[0]?.headers ?? [], 'Subject')
    return { ...shared, kind: 'item', name: subject || part.filename, contentType: part.mimeType, bytes }
  }
  const url = urlOf(part)
  if (url !== null)
    return { ...shared, kind: 'reference', contentType: part.mimeType, url, bytes: Buffer.alloc(0) }
  return { ...shared, kind: 'file', contentType: part.mimeType, bytes: decoded(raw, part) }
}

/** The decoded bytes of a file. Text keeps its charset, unlike that of a body. */
const decoded = (raw: Buffer, part: Part): Buffer =>
  partBytes(raw, { ...part, mimeType: 'application/octet-stream' })

/** The address that a part stands for instead of having bytes (RFC 2017). */
function urlOf(part: Part): string | null {
  if (part.mimeType !== 'message/external-body') return null
  const { parameters } = parseParameters(headerOf(part.headers, 'Content-Type'))
  return parameters.get('access-type')?.toLowerCase() === 'url' ? (parameters.get('url') ?? '') : null
}
