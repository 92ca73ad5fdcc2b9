import { ProviderFailure } from '../../../failure.ts'
import { withoutMeeting } from './bodies.ts'
import { COPIED_FIELDS, type EventThere } from './there.ts'

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

/** Throws `unsupported` for an event that cannot be copied as a whole. */
export function requireCopied({ fields }: EventThere): void {
  if (fields.hasAttachments)
    throw new ProviderFailure(
      'unsupported',
      'An event with attachments cannot be split or moved at Exchange.',
    )
}

/** The properties of a copy of an event, which has other times. An online meeting becomes one of its own. */
export function copyOf({ item, event, fields }: EventThere): Record<string, unknown> {
  const joinUrl = event.onlineMeeting?.joinUrl ?? null
  const isOnlineMeeting = item['isOnlineMeeting'] === true
  const body = isOnlineMeeting && joinUrl !== null ? withoutMeeting(fields.body, joinUrl) : fields.body
  const { locations, attendees } = item
  return {
    ...Object.fromEntries(
      SAME_FIELDS.flatMap(name => (item[name] === undefined ? [] : [[name, item[name]]])),
    ),
    ...(body && { body }),
    ...(Array.isArray(locations) && locations.length > 0 && { locations }),
    ...(Array.isArray(attendees) && attendees.length > 0 && { attendees }),
    ...(isOnlineMeeting && { isOnlineMeeting, onlineMeetingProvider: 'teamsForBusiness' }),
  }
}
