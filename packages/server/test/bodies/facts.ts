import { type ParsedMessage, openMessageParser } from '../../src/kit/mime/message-parser.ts'
import type { ParsedAttachment } from '../../src/kit/mime/message-part.ts'
import { summarize } from '../../src/kit/mime/summary.ts'
import { transferDecoder } from '../../src/kit/mime/transfer-decoder.ts'
import type { Fact, OddFacts, OddMessage } from '../mail/odd/odd-message.ts'
import type { PythonMessage, PythonPart } from './ask-python.ts'

/** Parses in pieces of odd sizes, so that every boundary between pieces falls everywhere. */
export function parse(raw: Buffer, pieceBytes = raw.length + 1): ParsedMessage {
  const parser = openMessageParser()
  for (let at = 0; at < raw.length; at += pieceBytes) parser.push(raw.subarray(at, at + pieceBytes))
  return parser.end()
}

/** The content of an attachment, cut out of the message and decoded. */
export function contentOf(raw: Buffer, { encoding, start, end }: ParsedAttachment): Buffer {
  const decoder = transferDecoder(encoding)
  return Buffer.concat([decoder.push(raw.subarray(start, end)), decoder.end()])
}

type Facts = Required<OddFacts>

/** Our reading of a message, in the format of the table. */
export function ourFacts(raw: Buffer): Facts {
  const { text, html, attachments, hasAttachments } = parse(raw)
  const { subject, from, to, cc, sentAt } = summarize(raw)
  return {
    text: plain(text),
    html: plain(html),
    attachments: attachments.map(formatAttachment),
    hasAttachments,
    subject,
    from: from && formatAddress(from.name, from.address),
    to: to.map(({ name, address }) => formatAddress(name, address)),
    cc: cc.map(({ name, address }) => formatAddress(name, address)),
    date: sentAt?.toISOString() ?? null,
  }
}

export function formatAttachment(part: Omit<ParsedAttachment, 'encoding' | 'start' | 'end'>): string {
  const { id, contentType, size, isInline, contentId, filename } = part
  const words = [id, contentType, size, isInline && 'inline', contentId && `<${contentId}>`, filename]
  return words.filter(word => word !== false && word !== null).join(' ')
}

function formatAddress(name: string | null, address: string) {
  return name ? `${name} <${address}>` : address
}

function plain(text: string | null) {
  return text === null ? null : text.replace(/\n+$/, '')
}

const isText = ({ type, disposition, filename }: PythonPart) =>
  ['text/plain', 'text/html'].includes(type) && disposition !== 'attachment' && filename === null

/**
 * Python's reading of a message; undefined where Python reports nothing. For attachments: number, type, name and
 * content.
 */
export function pythonFacts(message: PythonMessage): OddFacts {
  const [from] = addressesOf(message.from) ?? []
  return {
    text: joinTexts(message.parts, 'text/plain'),
    html: joinTexts(message.parts, 'text/html'),
    attachments: message.parts.filter(part => !isText(part)).map(pythonAttachment),
    subject: message.subject === false ? undefined : (message.subject?.trim() ?? null),
    from: from ?? null,
    to: addressesOf(message.to),
    cc: addressesOf(message.cc),
    date: message.date === null ? null : new Date(message.date * 1000).toISOString(),
  }
}

function pythonAttachment({ id, type, content, filename }: PythonPart) {
  const digest = content === null ? '' : Buffer.from(content, 'base64').toString('hex')
  return [id, type, filename ?? '', digest].join(' ')
}

function addressesOf(found: PythonMessage['to']) {
  return found?.filter(([, address]) => address !== '').map(([name, address]) => formatAddress(name, address))
}

function joinTexts(parts: readonly PythonPart[], type: string) {
  const texts = parts.filter(part => isText(part) && part.type === type)
  if (texts.length === 0) return null
  // Python returns no text for an unknown charset, or for bytes outside it.
  if (texts.some(({ text }) => text === null)) return undefined
  return plain(texts.map(({ text }) => text!.replaceAll('\r\n', '\n').replace(/\n$/, '')).join('\n'))
}

/** Our attachments in the format of `pythonFacts`, with their content, except for embedded messages. */
export function comparableAttachments(raw: Buffer): string[] {
  return parse(raw).attachments.map(part => {
    const isMessage = part.contentType === 'message/rfc822'
    const digest = isMessage ? '' : contentOf(raw, part).toString('hex')
    return [part.id, part.contentType, part.filename ?? '', digest].join(' ')
  })
}

/** Whether the table states that Python reads this differently. */
export function pythonDiffers(message: OddMessage, fact: Fact): boolean {
  return message.unlike?.python?.includes(fact) ?? false
}
