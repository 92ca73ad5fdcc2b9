/** The properties that a part declares, if it is not a multipart. */
export interface PartTraits {
  /** Lower-cased `type/subtype`; empty if it declares none. */
  type: string
  /** Lower-cased. */
  disposition: string
  hasFileName: boolean
  hasContentId: boolean
}

/** The position of a part. */
export interface PartPlace {
  /** The type of the multipart that contains it; null for the message itself. */
  parent: string | null
  /** Whether it is the first part of that multipart. */
  isFirst: boolean
  /** Whether it is in a `multipart/alternative`, at whatever depth. */
  isInAlternative: boolean
  /** Whether a text of the body comes before it. */
  isAfterText: boolean
}

/** The type of a calendar object, by which invitations are mailed (RFC 6047). */
export const CALENDAR_TYPE = 'text/calendar'

/** The machine-readable parts of reports (RFC 6522): they are listed, but nobody attached them. */
const REPORTS = new Set([
  'message/delivery-status',
  'message/disposition-notification',
  'message/feedback-report',
  'message/global-delivery-status',
  'message/global-disposition-notification',
])

/**
 * The half of the body that a part belongs to; null for an attachment. A text with a file name belongs to the body if
 * it is the first text of the message, or one of several alternatives, as in RFC 8621 section 4.1.4; otherwise it is
 * a file.
 */
export function bodyHalfOf(part: PartTraits, place: PartPlace): 'text' | 'html' | null {
  const half = textKind(part.type, place.parent)
  if (half === null || part.disposition === 'attachment') return null
  return !part.hasFileName || !place.isAfterText || isAlternative(place) ? half : null
}

function textKind(type: string, parent: string | null): 'text' | 'html' | null {
  if (type === 'text/html') return 'html'
  // RFC 2046 section 5.1.5: a part of a digest that declares no type is a message.
  if (type === '') return parent === 'multipart/digest' ? null : 'text'
  // A multipart without a boundary has no parts that could be found, only its text.
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
 * Whether an attachment counts for `hasAttachments`: those that are not inline, and inline files that are not images,
 * because some mail programs send every file inline.
 */
export function countsAsAttachment(part: PartTraits, place: PartPlace): boolean {
  if (REPORTS.has(part.type)) return false
  return !isInline(part, place) || (part.hasFileName && !part.type.startsWith('image/'))
}
