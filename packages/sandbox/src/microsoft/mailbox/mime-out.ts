import { writeAddresses, writeWords } from '../../mail/addresses.ts'
import { dateText } from '../../mail/message-headers.ts'
import { parseMessage } from '../../mail/mime.ts'
import { textOf } from '../../mail/snippet.ts'
import type { Body, MessageFields, Recipient } from './message.ts'
import { multipart, type Piece, putTogether } from './mime-parts.ts'

/** Fields of a message that stand in its headers, and that a client may write as JSON. */
export type HeaderFields = Pick<
  MessageFields,
  | 'subject'
  | 'from'
  | 'sender'
  | 'toRecipients'
  | 'ccRecipients'
  | 'bccRecipients'
  | 'replyTo'
  | 'importance'
  | 'isReadReceiptRequested'
  | 'isDeliveryReceiptRequested'
>

/** A new message, with its Message-ID and those of the mail that it answers. */
export interface WrittenMessage extends HeaderFields {
  /** With angle brackets. */
  readonly internetMessageId: string
  readonly sentAt: number
  readonly answers: { readonly inReplyTo: string; readonly references: readonly string[] } | null
  /** Headers of the client's own, whose names begin with `x-`. */
  readonly headers: readonly { readonly name: string; readonly value: string }[]
  readonly body: Body
  readonly attached: readonly Piece[]
}

/** A file or a message to attach. */
export interface NewAttachment {
  readonly kind: 'file' | 'item'
  readonly name: string
  readonly contentType: string
  readonly contentId: string | null
  readonly isInline: boolean
  /** Content of the file; for an attached message its whole MIME. */
  readonly bytes: Buffer
}

/** Writes a message (RFC 5322) as Exchange does for what came as JSON. */
export function writeMessage(message: WrittenMessage, boundary: () => string): Buffer {
  const { answers } = message
  const lines = [
    ...Object.values(fieldLines(message)),
    `Date: ${dateText(message.sentAt)}`,
    `Message-ID: ${message.internetMessageId}`,
    answers && `In-Reply-To: ${answers.inReplyTo}`,
    answers && `References: ${answers.references.join('\r\n ')}`,
    ...message.headers.map(({ name, value }) => `${name}: ${writeWords(value)}`),
  ]
  const head = lines.map(line => (line === null ? '' : `${line}\r\n`)).join('')
  return putTogether(
    {
      head: Buffer.from(head),
      text: writeBody(message.body, boundary),
      attached: [...message.attached],
    },
    boundary,
  )
}

/** The header line of each field, by the header's name in lower case; null for a field without a value. */
export function fieldLines(fields: HeaderFields): Record<string, string | null> {
  const { from, sender } = fields
  const list = (name: string, addresses: readonly Recipient[]) =>
    addresses.length > 0 ? `${name}: ${writeAddresses(addresses)}` : null
  const isForAnother = sender !== null && sender.address !== from?.address
  return {
    subject: `Subject: ${writeWords(fields.subject)}`,
    from: list('From', from ? [from] : []),
    sender: list('Sender', isForAnother ? [sender] : []),
    to: list('To', fields.toRecipients),
    cc: list('Cc', fields.ccRecipients),
    bcc: list('Bcc', fields.bccRecipients),
    'reply-to': list('Reply-To', fields.replyTo),
    importance: fields.importance === 'normal' ? null : `Importance: ${fields.importance}`,
    'disposition-notification-to': fields.isReadReceiptRequested
      ? list('Disposition-Notification-To', from ? [from] : [])
      : null,
    'return-receipt-to': fields.isDeliveryReceiptRequested
      ? list('Return-Receipt-To', from ? [from] : [])
      : null,
  }
}

/** The entity of a body. HTML comes with its text, as Exchange sends it. */
export function writeBody({ contentType, content }: Body, boundary: () => string): Buffer {
  if (contentType === 'text') return textEntity('plain', content)
  const html = textEntity('html', content)
  return multipart(
    'alternative',
    [textEntity('plain', textOf(html, parseMessage(html), html.length)), html],
    boundary(),
  )
}

const textEntity = (subtype: string, content: string): Buffer =>
  entity(
    [`Content-Type: text/${subtype}; charset="utf-8"`, 'Content-Transfer-Encoding: base64'],
    base64Lines(Buffer.from(content)),
  )

const entity = (headers: readonly string[], body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${headers.join('\r\n')}\r\n\r\n`), body])

const LINE_LETTERS = 76

/** Base64 in lines of 76 characters (RFC 2045 section 6.8). Copied line by line: files may have many megabytes. */
function base64Lines(bytes: Buffer): Buffer {
  const letters = Buffer.from(bytes.toString('base64'), 'latin1')
  const ends = Math.max(0, Math.ceil(letters.length / LINE_LETTERS) - 1)
  const lines = Buffer.allocUnsafe(letters.length + 2 * ends)
  let to = 0
  for (let from = 0; from < letters.length; from += LINE_LETTERS) {
    if (from > 0) to += lines.write('\r\n', to, 'latin1')
    to += letters.copy(lines, to, from, from + LINE_LETTERS)
  }
  return lines
}

/** The entity of an attachment that a client adds. */
export function writeAttachment(attachment: NewAttachment): Piece {
  const { kind, name, contentId, isInline, bytes, contentType } = attachment
  const disposition = `Content-Disposition: ${isInline ? 'inline' : 'attachment'}${parameter('filename', name)}`
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(contentType) ? contentType : 'application/octet-stream'
  const lines =
    kind === 'item'
      ? ['Content-Type: message/rfc822', disposition]
      : [
          `Content-Type: ${type}${parameter('name', name)}`,
          disposition,
          ...(contentId === null ? [] : [`Content-ID: <${contentId.replaceAll(/[\r\n<>]/g, '')}>`]),
          'Content-Transfer-Encoding: base64',
        ]
  const body = kind === 'item' ? bytes : base64Lines(bytes)
  return { entity: entity(lines, body), isBeside: isInline, attachments: 1 }
}

/** A parameter of a header, in the form that its letters need (RFC 2231). */
function parameter(name: string, value: string): string {
  const line = value.replaceAll(/[\r\n]+/g, ' ')
  if (line === '') return ''
  if (/^[\x20-\x7E]*$/.test(line)) return `;\r\n\t${name}="${line.replaceAll(/["\\]/g, String.raw`\$&`)}"`
  const letters = encodeURIComponent(line).replaceAll(
    /['()*!]/g,
    sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `;\r\n\t${name}*=utf-8''${letters}`
}
