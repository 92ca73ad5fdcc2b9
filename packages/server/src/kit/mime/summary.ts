import { type ParsedAddress, readAddresses, readAuthor } from './addresses.ts'
import { readDate } from './date.ts'
import { decodeWords } from './encoded-words.ts'
import { HEADER_BYTES_MAX, type Header, fieldText, readHeader } from './header.ts'
import { readIds, readMessageId, readReferences } from './message-ids.ts'
import { readParts } from './parts.ts'
import { readSnippet } from './snippet.ts'
import { cleanLine } from './text.ts'

const SUBJECT_LENGTH_MAX = 4000
const IN_REPLY_TO_MAX = 20

/** The fields of a message that an index shows. */
export interface MessageSummary {
  internetMessageId: string | null
  /** Message-IDs with angle brackets of the messages before it in its thread, oldest first, at most 100. */
  references: string[]
  /** Message-IDs of In-Reply-To, which may be none of these. */
  inReplyTo: string[]
  subject: string | null
  /** The address is empty if the author has only a name, as in bounces. */
  from: ParsedAddress | null
  to: ParsedAddress[]
  cc: ParsedAddress[]
  bcc: ParsedAddress[]
  replyTo: ParsedAddress[]
  sentAt: Date | null
  importance: 'high' | 'normal' | 'low'
  /** The value of X-Waxwing-Draft, by which the service finds its own drafts. */
  draftMark: string | null
  /** Whether its header is that of a report on another message: a bounce, a complaint, a notice. */
  mayBeReport: boolean
  /** Whether it has a calendar object, as far as the given bytes show it. */
  mayBeInvitation: boolean
  /** At most 200 characters of the first part with text, on one line. */
  snippet: string
  /** As far as the given bytes show it. */
  hasAttachments: boolean
  /** Whether more bytes could show attachments. */
  isMultipart: boolean
  /** Whether the snippet is empty and a little more of the message may change that. */
  mayShowText: boolean
  /** Whether the given bytes contain the end of the header. */
  isHeaderComplete: boolean
}

/**
 * Summarises a message by its first bytes (at most 256 KB are read). Linear, and never throws.
 * @param isCut whether the message may continue
 */
export function summarize(source: Buffer, isCut = false): MessageSummary {
  const bytes = source.length > HEADER_BYTES_MAX ? source.subarray(0, HEADER_BYTES_MAX) : source
  const text = bytes.toString('latin1')
  const header = readHeader(text, 0, text.length)
  const mayGoOn = isCut || bytes.length < source.length
  const parts = readParts(text, header, mayGoOn)
  const snippet = readSnippet({ bytes, text, isCut: mayGoOn }, parts.texts)
  const internetMessageId = readMessageId(fieldText(header, 'message-id'))
  return {
    internetMessageId,
    references: readReferences(
      fieldText(header, 'references'),
      fieldText(header, 'in-reply-to'),
      internetMessageId,
    ),
    inReplyTo: readIds(fieldText(header, 'in-reply-to')).slice(0, IN_REPLY_TO_MAX),
    subject: readSubject(fieldText(header, 'subject')),
    from: readAuthor(fieldText(header, 'from')) ?? readAuthor(fieldText(header, 'sender')),
    to: readAddresses(fieldText(header, 'to')),
    cc: readAddresses(fieldText(header, 'cc')),
    bcc: readAddresses(fieldText(header, 'bcc')),
    replyTo: readAddresses(fieldText(header, 'reply-to')),
    sentAt: readDate(fieldText(header, 'date')),
    importance: readImportance(header),
    draftMark: fieldText(header, 'x-waxwing-draft'),
    mayBeReport: readsAsReport(header),
    mayBeInvitation: parts.hasCalendar,
    snippet,
    hasAttachments: parts.hasAttachments,
    isMultipart: /^\s*multipart\//i.test(header.fields.get('content-type') ?? ''),
    mayShowText: isCut && snippet === '' && !parts.endsInAttachment,
    isHeaderComplete: header.isComplete,
  }
}

function readSubject(field: string | null): string | null {
  if (field === null) return null
  return cleanLine(decodeWords(field), SUBJECT_LENGTH_MAX) || null
}

/**
 * Signs of a report: its form (RFC 6522), the field of Exim and Gmail for the recipients, that of Exchange, an answer of a
 * program (RFC 3834 section 5), or a null sender, which reports must have (RFC 5321 section 4.5.5).
 */
function readsAsReport(header: Header): boolean {
  const { fields } = header
  return (
    /^\s*multipart\/report\b/i.test(fields.get('content-type') ?? '') ||
    fields.has('x-failed-recipients') ||
    fields.has('x-ms-exchange-message-is-ndr') ||
    /^\s*auto-replied\b/i.test(fields.get('auto-submitted') ?? '') ||
    /^\s*<\s*>/.test(fields.get('return-path') ?? '')
  )
}

/** Importance (RFC 2156), otherwise X-Priority and its relatives: 1 and 2 are high, 4 and 5 low. */
function readImportance(header: Header): 'high' | 'normal' | 'low' {
  const importance = (fieldText(header, 'importance') ?? '').trim().toLowerCase()
  if (importance === 'high' || importance === 'low') return importance
  const priority = (fieldText(header, 'x-priority') ?? fieldText(header, 'x-msmail-priority') ?? '').trim()
  if (/^[12]\b|^(?:high|urgent)/i.test(priority)) return 'high'
  if (/^[45]\b|^(?:low|non-urgent)/i.test(priority)) return 'low'
  const urgency = (fieldText(header, 'priority') ?? '').trim().toLowerCase()
  if (urgency === 'urgent') return 'high'
  return urgency === 'non-urgent' ? 'low' : 'normal'
}
