import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { htmlText } from '../../../kit/mime/html-text.ts'
import { SNIPPET_LENGTH } from '../../../kit/mime/snippet.ts'
import { collapseText, cutText } from '../../../kit/mime/text.ts'
import { storable } from '../../../kit/storable.ts'
import type { EventAddress, RemoteAttendee, RemoteEvent } from '../../../providers/calendars.ts'

/** The fields of an event in the index, without its body. */
export type ShownEvent = Omit<RemoteEvent, 'body' | 'self' | 'updatedAt'> & {
  snippet: string
  isOrganizer: boolean
  selfResponse: CalendarEvent['selfResponse']
  /** Whether the provider reports the account's part, so that it does not depend on the account's addresses. */
  isSelfGiven: boolean
}

/** @param own addresses of the account, as `comparedAddress` has them; used for events without `self` */
export function shownOf(event: RemoteEvent, own: ReadonlySet<string>): ShownEvent {
  const { body, self, updatedAt: _, ...shown } = event
  const { isOrganizer, response } = self ?? selfOf(event, own)
  return storableValue({
    ...shown,
    snippet: snippetOf(body),
    isOrganizer,
    selfResponse: response,
    isSelfGiven: self !== null,
  })
}

/** The same event for an account with other addresses. */
export function shownFor(shown: ShownEvent, own: ReadonlySet<string>): ShownEvent {
  if (shown.isSelfGiven) return shown
  const { isOrganizer, response } = selfOf(shown, own)
  return { ...shown, isOrganizer, selfResponse: response }
}

function selfOf(
  { organizer, attendees }: Pick<RemoteEvent, 'organizer' | 'attendees'>,
  own: ReadonlySet<string>,
): { isOrganizer: boolean; response: CalendarEvent['selfResponse'] } {
  if (organizer === null) return { isOrganizer: true, response: 'none' }
  const isOwn = ({ address }: EventAddress) => own.has(comparedAddress(address))
  if (isOwn(organizer)) return { isOrganizer: true, response: 'organizer' }
  const attendee: RemoteAttendee | undefined = attendees.find(isOwn)
  return { isOrganizer: false, response: attendee?.response ?? 'none' }
}

function snippetOf(body: RemoteEvent['body']): string {
  if (body === null) return ''
  const { contentType, content } = body
  const text = contentType === 'html' ? htmlText(content, SNIPPET_LENGTH + 1) : collapseText(content)
  return cutText(text, SNIPPET_LENGTH).trimEnd()
}

/** A value as PostgreSQL stores it. */
export function storableValue<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_, part: unknown) =>
    typeof part === 'string' ? storable(part) : part,
  ) as T
}

/** Whether the account is busy while the event takes place. */
export function isBusy({ showAs, status, selfResponse }: ShownEvent): boolean {
  if (status === 'cancelled' || selfResponse === 'declined') return false
  return showAs !== 'free' && showAs !== 'working_elsewhere'
}
