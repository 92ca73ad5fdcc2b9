import { needsSmtpUtf8 } from '../../../kit/mail-address.ts'
import { addressField, type Mailbox, textField, wordsField } from '../../../kit/mime-writing/fields.ts'
import type { Composition } from './composition.ts'
import { mailDate } from './rules.ts'
import type { ContentLayout, FormRange } from './stored-content.ts'

/** The header of a message without the fields of its body, and the ranges of bytes that only one form has. */
export function writeHeader(composition: Omit<Composition, 'attachments'>): {
  header: Buffer
  layout: Omit<ContentLayout, 'is8Bit'>
} {
  const writing = newHeader()
  const { to, cc, bcc, replyTo, references, inReplyTo } = composition
  addAddresses(writing, 'Bcc', bcc, 'bcc')
  addDate(writing, composition.date)
  addAddresses(writing, 'From', [composition.from])
  addAddresses(writing, 'Reply-To', replyTo)
  if (to.length + cc.length === 0 && bcc.length > 0) add(writing, 'To: undisclosed-recipients:;\r\n')
  addAddresses(writing, 'To', to)
  addAddresses(writing, 'Cc', cc)
  if (composition.subject.trim() !== '') add(writing, textField('Subject', composition.subject))
  add(writing, wordsField('Message-ID', [composition.internetMessageId]))
  if (inReplyTo !== null) add(writing, wordsField('In-Reply-To', [inReplyTo]))
  if (references.length > 0) add(writing, wordsField('References', references))
  const { importance } = composition
  // RFC 2156 section 5.3.4, and the field that older programs read.
  if (importance === 'high') add(writing, 'Importance: high\r\nX-Priority: 1\r\n')
  if (importance === 'low') add(writing, 'Importance: low\r\nX-Priority: 5\r\n')
  for (const { name, value } of composition.headers) add(writing, textField(name, value))
  addUnsubscribing(writing, composition.unsubscribeUrl)
  addOutboxId(writing, composition.outboxId)
  const { draftMark } = composition
  if (draftMark !== null) add(writing, wordsField('X-Waxwing-Draft', draftMark.split(' ')))
  add(writing, 'MIME-Version: 1.0\r\n')
  return endHeader(writing)
}

/** A header that is being written. */
export interface HeaderWriting {
  fields: Buffer[]
  bytes: number
  dateAt: number
  ranges: FormRange[]
}

export function newHeader(): HeaderWriting {
  return { fields: [], bytes: 0, dateAt: 0, ranges: [] }
}

export function add(writing: HeaderWriting, field: string | Buffer, only?: FormRange['of']): void {
  const bytes = typeof field === 'string' ? Buffer.from(field, 'utf8') : field
  writing.fields.push(bytes)
  const start = writing.bytes
  writing.bytes += bytes.length
  if (only) writing.ranges.push({ start, end: writing.bytes, of: only })
}

export function addDate(writing: HeaderWriting, date: Date): void {
  writing.dateAt = writing.bytes + 'Date: '.length
  add(writing, `Date: ${mailDate(date)}\r\n`)
}

/** Addresses that need SMTPUTF8 are written in both ways; the copy has them as they are. */
export function addAddresses(
  writing: HeaderWriting,
  name: string,
  mailboxes: readonly Mailbox[],
  only?: 'bcc',
): void {
  if (mailboxes.length === 0) return
  const field = addressField(name, mailboxes, 'utf8')
  if (only || !mailboxes.some(({ address }) => needsSmtpUtf8(address))) {
    add(writing, field, only)
    return
  }
  add(writing, field, 'utf8')
  add(writing, addressField(name, mailboxes, 'ascii'), 'ascii')
}

export function addOutboxId(writing: HeaderWriting, outboxId: string | null): void {
  if (outboxId !== null) add(writing, wordsField('X-Waxwing-Outbox', [outboxId]))
}

/** RFC 8058 section 3.1. A reader of the copy is not the recipient. */
export function addUnsubscribing(writing: HeaderWriting, url: string | null): void {
  if (url === null) return
  add(writing, wordsField('List-Unsubscribe', [`<${url}>`]), 'wire')
  add(writing, 'List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n', 'wire')
}

export function endHeader({ fields, dateAt, ranges }: HeaderWriting): {
  header: Buffer
  layout: Omit<ContentLayout, 'is8Bit'>
} {
  return { header: Buffer.concat(fields), layout: { dateAt, ranges } }
}
