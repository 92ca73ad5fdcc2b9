import { headerOf, parseParameters } from '../../mail/headers.ts'
import { isAttachment, parseMessage, partsOf } from '../../mail/mime.ts'

/** Message classes of meeting messages, by the method of their calendar part (RFC 5546 section 1.4). */
const CLASSES: Readonly<Record<string, string>> = {
  REQUEST: 'IPM.Schedule.Meeting.Request',
  CANCEL: 'IPM.Schedule.Meeting.Canceled',
  REPLY: 'IPM.Schedule.Meeting.Resp.Pos',
}

/** The class that Exchange gives a message with a calendar part beside its text; null for any other message. */
export function meetingClassOf(raw: Buffer): string | null {
  if (!raw.includes('text/calendar')) return null
  for (const part of partsOf(parseMessage(raw))) {
    if (part.mimeType !== 'text/calendar' || isAttachment(part)) continue
    const { parameters } = parseParameters(headerOf(part.headers, 'Content-Type'))
    return CLASSES[parameters.get('method')?.toUpperCase() ?? ''] ?? null
  }
  return null
}
