import type { Mailbox } from '../../../kit/mime-writing/fields.ts'
import type { AttachedFile } from './attached.ts'

/** A message that is to be written. Names and values have no control characters. */
export interface Composition {
  /** With angle brackets. */
  internetMessageId: string
  /** Null for a draft. */
  outboxId: string | null
  /** The mark by which the provider's copy of a draft is recognised; null for a send. */
  draftMark: string | null
  date: Date
  from: Mailbox
  to: readonly Mailbox[]
  cc: readonly Mailbox[]
  bcc: readonly Mailbox[]
  replyTo: readonly Mailbox[]
  subject: string
  /** With angle brackets. */
  inReplyTo: string | null
  references: readonly string[]
  importance: 'high' | 'normal' | 'low' | null
  headers: ReadonlyArray<{ name: string; value: string }>
  /** The link by which the one recipient leaves the list of the send; null without a list. The copy does not have it. */
  unsubscribeUrl: string | null
  text: string | null
  html: string | null
  /** Makes the HTML as its recipients get it from the signed one, which the filed copy keeps; null: the same. */
  wireHtml: ((html: string) => Promise<string>) | null
  /** Null: the message is not signed. */
  signature: Signature | null
  /** The iCalendar object of an invitation; null for any other message. */
  calendar: CalendarObject | null
  attachments: readonly AttachedFile[]
}

/** An iCalendar object by which programs process an invitation (RFC 6047). */
export interface CalendarObject {
  method: 'REQUEST' | 'CANCEL' | 'REPLY'
  /** The whole object, with CRLF after each line. */
  text: string
}

/** The content of a message. Fields for sending or keeping it are added to it. */
export type PlannedComposition = Omit<
  Composition,
  'internetMessageId' | 'outboxId' | 'unsubscribeUrl' | 'draftMark' | 'date' | 'wireHtml'
>

export interface Signature {
  text: string | null
  html: string | null
}
