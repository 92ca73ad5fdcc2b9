import { ProviderFailure } from '../../../failure.ts'
import { withoutMeeting } from './bodies.ts'
import { requireMeetings } from './create.ts'
import { COPIED_FIELDS, type EventThere, type Writing } from './there.ts'

/** Fields that a copy of an event has as they are. */
const SAME_FIELDS = [
  'subject',
  'categories',
  'showAs',
  'sensitivity',
  'isReminderOn',
  'reminderMinutesBeforeStart',
  ...COPIED_FIELDS.filter(name => name !== 'isOnlineMeeting' && name !== 'locations'),
] as const

const hasMeeting = ({ item }: EventThere): boolean => item['isOnlineMeeting'] === true

/**
 * Throws `unsupported` for an event that cannot be copied as a whole.
 * @param writing in the calendar of the copy
 * @param isMeeting whether the copy of an event with an online meeting has one, too
 */
export async function requireCopied(
  { connection, place }: Pick<Writing, 'connection' | 'place'>,
  there: EventThere,
  isMeeting = true,
): Promise<void> {
  if (there.fields.hasAttachments)
    throw new ProviderFailure(
      'unsupported',
      'An event with attachments cannot be split or moved at Exchange.',
    )
  if (isMeeting && hasMeeting(there))
    await requireMeetings(connection, place.calendarKey, String(there.item['onlineMeetingProvider']))
}

/** The properties of a copy of an event, which has other times. An online meeting becomes one of its own. */
export function copyOf(there: EventThere, isMeeting = true): Record<string, unknown> {
  const { item, event, fields } = there
  const joinUrl = event.onlineMeeting?.joinUrl ?? null
  const body = fields.body && joinUrl !== null ? withoutMeeting(fields.body, joinUrl) : fields.body
  const { locations, attendees, onlineMeetingProvider } = item
  return {
    ...Object.fromEntries(
      SAME_FIELDS.flatMap(name => (item[name] === undefined ? [] : [[name, item[name]]])),
    ),
    ...(body && { body }),
    ...(Array.isArray(locations) && locations.length > 0 && { locations }),
    ...(Array.isArray(attendees) && attendees.length > 0 && { attendees }),
    ...(isMeeting && hasMeeting(there) && { isOnlineMeeting: true, onlineMeetingProvider }),
  }
}
