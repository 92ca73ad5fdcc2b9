import { isDeepStrictEqual } from 'node:util'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { withJoinLine } from '../../join-line.ts'
import { setAttendees, type Writer } from './edit-attendees.ts'
import { setReminder } from './edit-reminder.ts'
import { setBody, setLocation, setMeetingUrl, setSensitivity, setShowAs, setSubject } from './edit-texts.ts'
import type { EventNode } from './event-tree.ts'
import { UnheldChange } from './unwritable.ts'

/** The fields of a change but for times and recurrence. */
export type FieldChange = Omit<EventChange, 'start' | 'end' | 'recurrence'>

/** The fields that a change names, with those that follow from them. */
export function completeFields(change: EventChange, event: RemoteEvent | null): FieldChange {
  const { start: _, end: __, recurrence: ___, onlineMeeting, ...fields } = change
  if (onlineMeeting) throw new UnheldChange('A calendar file has no meetings of its own.')
  const { onlineMeetingUrl: url, body } = fields
  const location = fields.location === undefined ? (event?.location ?? null) : fields.location
  const former = event?.onlineMeetingUrl ?? null
  // The link is the location where there is none, and follows the meeting.
  if (url !== undefined && (location === null || (fields.location === undefined && location === former)))
    fields.location = url
  const shown = url === undefined ? former : url
  if (body && shown !== null) fields.body = withJoinLine(body, shown)
  return fields
}

/** Writes the fields that differ from what is read of a component. */
export function setFields(node: EventNode, fields: FieldChange, event: RemoteEvent, writer: Writer): void {
  const differs = <Name extends keyof FieldChange & keyof RemoteEvent>(name: Name): boolean =>
    fields[name] !== undefined && !isDeepStrictEqual(fields[name], event[name])
  if (differs('subject')) setSubject(node, fields.subject!)
  if (differs('location')) setLocation(node, fields.location!)
  if (differs('body')) setBody(node, fields.body!)
  if (fields.onlineMeetingUrl !== undefined && differs('onlineMeetingUrl'))
    setMeetingUrl(node, fields.onlineMeetingUrl)
  if (differs('showAs')) setShowAs(node, fields.showAs!)
  if (differs('sensitivity')) setSensitivity(node, fields.sensitivity!)
  if (fields.attendees) setAttendees(node, fields.attendees, writer)
  if (differs('reminderMinutes')) setReminder(node, fields.reminderMinutes!, event)
}

/** The fields of a change that an exception takes from its series: it had the value that the series had before. */
export function followedFields(
  fields: FieldChange,
  exception: RemoteEvent,
  series: RemoteEvent,
): FieldChange {
  const followed = Object.entries(fields).filter(([name]) => {
    if (name === 'attendees') return addressesOf(exception) === addressesOf(series)
    const field = name as Exclude<keyof FieldChange, 'attendees' | 'onlineMeeting'>
    return isDeepStrictEqual(exception[field], series[field])
  })
  return Object.fromEntries(followed)
}

const addressesOf = ({ attendees }: RemoteEvent): string =>
  attendees
    .map(({ address }) => comparedAddress(address))
    .toSorted()
    .join(' ')
