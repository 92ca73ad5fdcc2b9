import type { CheckedRecurrence } from '../../../kit/recurrence/check-recurrence.ts'
import { printRecurrence } from '../../../kit/recurrence/recurrence-lines.ts'
import type { EventTime } from '../../calendars.ts'
import type {
  Creation,
  EventChange,
  EventInput,
  MemberPlace,
  WrittenEvents,
} from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { newTimes } from '../../new-times.ts'
import { insertEvent } from './event-calls.ts'
import { eventPatch, type FieldWriting, type Times, withoutNulls } from './event-patch.ts'
import {
  askHeld,
  askMember,
  awaitMeeting,
  changeHeld,
  type EventWrite,
  writtenEvents,
} from './event-write.ts'
import type { HeldEvent } from './held-event.ts'
import { recurrenceJson } from './series.ts'

export const fieldWriting = ({ calendar, options, requestId }: EventWrite): FieldWriting => ({
  calendar,
  own: options.own,
  requestId,
})

/** The id of an event that a creation makes: Google takes the digits of a UUID. */
export const createdKey = ({ creationId }: Pick<Creation, 'creationId'>): string =>
  creationId.replaceAll('-', '').toLowerCase()

/** The recurrence of a new series. Throws `unsupported` for dates with ends of their own. */
export function newRecurrence(recurrence: CheckedRecurrence, start: EventTime): readonly string[] {
  if (recurrence.dates.some(({ end }) => end !== null))
    throw new ProviderFailure(
      'unsupported',
      'Google Calendar has no additional dates whose length differs from that of the series.',
      { isBeforeAcceptance: true },
    )
  return recurrenceJson({ start, lines: printRecurrence(recurrence, start), taken: recurrence.taken })
}

/** Creates an event under the id of its creation, or reads what an earlier try has made. */
export async function createEvent(
  write: EventWrite,
  fields: EventInput,
  creation: Creation,
): Promise<WrittenEvents> {
  const { calendar, record } = write
  const key = createdKey(creation)
  const event = withoutNulls({
    id: key,
    ...eventPatch(null, fields, fields, fieldWriting(write)),
    recurrence: fields.recurrence && newRecurrence(fields.recurrence, fields.start),
  })
  const { notify } = write.options
  const made = await record.run(() => insertEvent(calendar.api, calendar.key, event, notify))
  const answered = made ?? (await askHeld(write, key)).raw
  return writtenEvents(write, key, [fields.onlineMeeting ? await awaitMeeting(write, answered) : answered])
}

/** Changes one member of a series, which becomes an exception. */
export async function changeMember(
  write: EventWrite,
  seriesKey: string,
  part: MemberPlace,
  change: EventChange,
): Promise<WrittenEvents> {
  const { answered } = await changeHeld(
    write,
    () => askMember(write, seriesKey, part),
    held => eventPatch(held, change, changedTimes(held, change), fieldWriting(write)),
  )
  const last = change.onlineMeeting ? await awaitMeeting(write, answered) : answered
  return writtenEvents(write, seriesKey, [last])
}

/** The times of an event after a change; null if they stay. */
export function changedTimes(
  { fields }: HeldEvent,
  change: EventChange,
  timesOf: string | null = null,
): Times | null {
  if (!change.start && !change.end) return null
  const { start, end } = change
  return newTimes(fields, { ...(start && { start }), ...(end && { end }) }, timesOf)
}
