/** What a part that is no multipart says of itself. */
export interface PartTraits {
  /** Lower-cased `type/subtype`; empty where it says nothing. */
  type: string
  /** Lower-cased. */
  disposition: string
  hasFileName: boolean
  hasContentId: boolean
}

/** Where a part stands. */
export interface PartPlace {
  /** The type of the multipart that it is in; null for the message itself. */
  parent: string | null
  /** Whether it is the first part of that multipart. */
  isFirst: boolean
  /** Whether it is in a `multipart/alternative`, at whatever depth. */
  isInAlternative: boolean
  /** Whether a text of the body stands before it. */
  isAfterText: boolean
}

/** The parts of reports (RFC 6522) that are for machines: they are listed, but nobody attached them. */
const REPORTS = new Set([
  'message/delivery-status',
  'message/disposition-notification',
  'message/feedback-report',
  'message/global-delivery-status',
  'message/global-disposition-notification',
])

/**
 * Which half of the body a part belongs to; null: it is an attachment. A text with a file name is the body where it is
 * the first text of the message, or an alternative of others, as in RFC 8621 section 4.1.4; else it is a file.
 */
export function bodyHalfOf(part: PartTraits, place: PartPlace): 'text' | 'html' | null {
  const half = textKind(part.type, place.parent)
  if (half === null || part.disposition === 'attachment') return null
  return !part.hasFileName || !place.isAfterText || isAlternative(place) ? half : null
}

function textKind(type: string, parent: string | null): 'text' | 'html' | null {
  if (type === 'text/html') return 'html'
  // RFC 2046 section 5.1.5: what says nothing within a digest is a message.
  if (type === '') return parent === 'multipart/digest' ? null : 'text'
  // A multipart without a boundary has no parts to find; its text is all there is.
  return type === 'text/plain' || type === 'text' || type.startsWith('multipart/') ? 'text' : null
}

/** An alternative may be the first part of a multipart/related. */
function isAlternative({ parent, isFirst, isInAlternative }: PartPlace): boolean {
  return parent === 'multipart/alternative' || (isFirst && isInAlternative)
}

/** Whether an attachment is shown within the body. */
export function isInline({ disposition, hasContentId }: PartTraits, { parent }: PartPlace): boolean {
  return disposition === 'inline' || (disposition === '' && hasContentId && parent === 'multipart/related')
}

/**
 * Whether an attachment makes the message one with attachments: those that are not inline, and files that are inline
 * and no images, as some mail programs send every file.
 */
export function countsAsAttachment(part: PartTraits, place: PartPlace): boolean {
  if (REPORTS.has(part.type)) return false
  return !isInline(part, place) || (part.hasFileName && !part.type.startsWith('image/'))
}
