import { unescapeText } from '../../../kit/content-lines/text-value.ts'
import { findMeeting, meetingAt, type OnlineMeeting } from '../../online-meeting.ts'
import { type EventComponent, linesOf } from './event-file.ts'

/** Properties that hold the address of a meeting, the surest first. CONFERENCE is of RFC 7986 section 5.11. */
export const MEETING_PROPERTIES: readonly string[] = [
  'X-GOOGLE-CONFERENCE',
  'X-MICROSOFT-SKYPETEAMSMEETINGURL',
  'X-MICROSOFT-ONLINEMEETINGEXTERNALLINK',
  'CONFERENCE',
]

/** The online meeting of an event: of a property for it, else the first known link in these texts. */
export function readOnlineMeeting(event: EventComponent, texts: ReadonlyArray<string | null>): OnlineMeeting {
  const named = MEETING_PROPERTIES.flatMap(name => linesOf(event, name)).map(({ value }) =>
    unescapeText(value),
  )
  return meetingAt(named) ?? findMeeting(texts)
}
