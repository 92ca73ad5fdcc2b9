import { randomBytes } from 'node:crypto'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { wireAddress } from '../../../kit/mail-address.ts'
import { readIds, readMessageId } from '../../../kit/mime/message-ids.ts'
import type { Mailbox } from '../../../kit/mime-writing/fields.ts'

const REFERENCES_MAX = 100
/** Bytes of all ids together. Servers refuse headers of 100 KB. */
const REFERENCES_LENGTH_MAX = 32 * 1024
/** An id has a line of its own, which must not be longer than 998 bytes. */
const ID = /^<[!-;=?-~]{1,900}>$/

/** The Message-ID of a send: the nonce keeps others from guessing it. */
export function newInternetMessageId(outboxId: string, fromAddress: string): string {
  const wired = wireAddress(fromAddress)
  const nonce = randomBytes(8).toString('hex')
  return `<${outboxId}.${nonce}@${wired.slice(wired.lastIndexOf('@') + 1)}>`
}

/** Marks of replies and forwards as mail programs write them in other languages, too. */
const REPLY_MARK = /^\s*(?:re|aw|sv|vs|antw|odp|rif)(?:\[\d+\])?\s*:/i
const FORWARD_MARK = /^\s*(?:fwd?|wg|tr|doorst)(?:\[\d+\])?\s*:/i

/** The subject of a reply. */
export function replySubject(original: string | null): string {
  const subject = (original ?? '').trim()
  return REPLY_MARK.test(subject) ? subject : `Re: ${subject}`.trim()
}

/** The subject of a forwarded message. */
export function forwardSubject(original: string | null): string {
  const subject = (original ?? '').trim()
  return FORWARD_MARK.test(subject) ? subject : `Fwd: ${subject}`.trim()
}

/** The fields of a message that a reply refers to, as they stand in its header. */
export interface ThreadFields {
  messageId: string | null
  references: string | null
  inReplyTo: string | null
}

/**
 * The fields by which a reply refers to its original: RFC 5322 section 3.6.4. `references` has at most 100 ids, oldest
 * first: of a longer list the first and the newest.
 */
export function planReply(original: ThreadFields): { inReplyTo: string | null; references: string[] } {
  const originalId = readMessageId(original.messageId)
  const own = originalId !== null && ID.test(originalId) ? originalId : null
  const referred = readIds(original.references)
  const earlier = new Set(referred.length > 0 ? referred : readIds(original.inReplyTo))
  const all = [...earlier].filter(id => ID.test(id) && id !== own)
  return { inReplyTo: own, references: shorten(own === null ? all : [...all, own]) }
}

function shorten(ids: readonly string[]): string[] {
  const [first, ...rest] = ids
  if (first === undefined) return []
  let length = first.length
  const newest: string[] = []
  for (const id of rest.toReversed()) {
    length += id.length
    if (newest.length === REFERENCES_MAX - 1 || length > REFERENCES_LENGTH_MAX) break
    newest.unshift(id)
  }
  return [first, ...newest]
}

/** The recipients of the envelope, each once, in the order of the fields. Domains are A-labels. */
export function envelopeRecipients(...fields: Array<readonly Mailbox[]>): string[] {
  const recipients = new Map<string, string>()
  for (const { address } of fields.flat()) {
    const key = comparedAddress(address)
    if (!recipients.has(key)) recipients.set(key, wireAddress(address))
  }
  return [...recipients.values()]
}

/** Appends a signature after the line by which mail programs recognise it (RFC 3676 section 4.3). */
export function signText(text: string, signature: string): string {
  const body = text.replace(/(?:\r\n|\r|\n)+$/, '')
  return `${body === '' ? '' : `${body}\n\n`}-- \n${signature}`
}

/** Puts a signature before the end of the body. */
export function signHtml(html: string, signature: string): string {
  const end = [...html.matchAll(/<\/body\s*>/gi)].at(-1)?.index ?? endOfDocument(html)
  return `${html.slice(0, end)}<div>${signature}</div>${html.slice(end)}`
}

function endOfDocument(html: string): number {
  return [...html.matchAll(/<\/html\s*>/gi)].at(-1)?.index ?? html.length
}

/** A text as HTML, its lines kept. */
export function textToHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/\r\n|\r|\n/g, '<br>\n')
}

/** The value of a Date field in UTC; it always has the same length. */
export function mailDate(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000')
}
export const MAIL_DATE_LENGTH = 31

/** Decoded bytes of the contents in base64 that came with a request. */
export function attachedBytes(attachments: ReadonlyArray<{ content?: string | undefined }>): number {
  let bytes = 0
  for (const { content } of attachments) bytes += content === undefined ? 0 : decodedLength(content)
  return bytes
}

/** Bytes of base64 with padding, once decoded. */
export function decodedLength(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return (base64.length / 4) * 3 - padding
}
