import { type MessageOutline, readFields } from '../../../kit/mime/outline.ts'
import { type NamedSends, namedSends } from './report.ts'

/** A report of a recipient who called the message spam. */
export interface Complaint extends NamedSends {
  /** `abuse`, `fraud` … (RFC 5965 section 7.3). */
  kind: string
  /** The recipients that it names. Many reports leave them out, or make them unreadable (RFC 6590). */
  recipients: string[]
}

/**
 * Kinds of reports by which recipients complain about mail. Others report something else: `auth-failure` (RFC 6591),
 * `virus`, or that the message is no spam (`not-spam`, RFC 6430).
 */
const COMPLAINTS = new Set([
  'abuse',
  'fraud',
  'opt-out',
  'opt-out-list',
  'complaint',
  'other',
  'miscategorized',
])
const RECIPIENTS_MAX = 100

/** Reads a report of a feedback loop (RFC 5965); null if it is none. */
export function parseComplaint(outline: MessageOutline): Complaint | null {
  const report = outline.reports.find(({ type }) => type === 'feedback-report')
  if (!report) return null
  const fields = readFields(report.text.trim())
  const kind = readKind(fields.find(([name]) => name === 'feedback-type')?.[1] ?? '')
  if (!COMPLAINTS.has(kind)) return null
  const recipients = fields
    .flatMap(([name, value]) => (name === 'original-rcpt-to' || name === 'removal-recipient' ? [value] : []))
    .map(value => value.replace(/^rfc822\s*;/i, '').replaceAll(/[<>\s]/g, ''))
  return { kind, recipients: recipients.slice(0, RECIPIENTS_MAX), ...namedSends(outline, []) }
}

const KIND_LENGTH_MAX = 500

/** A kind without the comments that may stand around it (RFC 5965 section 3.5), which may be nested. */
function readKind(value: string): string {
  let text = value.slice(0, KIND_LENGTH_MAX).replaceAll(/\\./g, '')
  for (let outer = ''; outer !== text;) {
    outer = text
    text = outer.replaceAll(/\([^()]*\)/g, ' ')
  }
  return text.trim().toLowerCase()
}
