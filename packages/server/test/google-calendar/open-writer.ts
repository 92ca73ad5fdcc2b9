import { randomUUID } from 'node:crypto'
import type { CheckedRecurrence } from '../../src/kit/recurrence/check-recurrence.ts'
import type { RemoteEvent } from '../../src/providers/calendars.ts'
import type {
  CalendarsWriter,
  EventInput,
  ItemPlace,
  WriteOptions,
  WrittenEvents,
} from '../../src/providers/changing-calendars.ts'
import type { SandboxServer } from '../servers/sandbox.ts'
import { arrangeGoogleCalendar, type GoogleCalendarArrangement } from './arrange-google-calendar.ts'

const WINDOW = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') }

/** A user of the sandbox, and the writer of their calendars. */
export interface OpenedWriter extends GoogleCalendarArrangement {
  writer: CalendarsWriter
  options: WriteOptions
  /** Creates an event in the primary calendar. */
  create(fields: Partial<EventInput>): Promise<ItemPlace>
}

export async function openWriter(sandbox: SandboxServer): Promise<OpenedWriter> {
  const arranged = await arrangeGoogleCalendar(sandbox)
  const { email } = arranged
  const { writer } = (await arranged.connect()).calendars
  const options: WriteOptions = {
    self: { name: null, address: email },
    own: new Set([email]),
    notify: true,
    concernsOthers: true,
    window: WINDOW,
  }
  return {
    ...arranged,
    writer: writer!,
    options,
    async create(fields) {
      const event = { calendarKey: email, fields: { ...FIELDS, ...fields }, ...newCreation() }
      return (await writer!.createEvent(event, options)).place
    },
  }
}

export const newCreation = () => ({ creationId: randomUUID(), mayExist: false })

export const berlin = (wall: string) => ({ wall, zone: 'Europe/Berlin' })

/** An hour on a Tuesday in December. */
export const FIELDS: EventInput = {
  start: berlin('20261201T090000'),
  end: berlin('20261201T100000'),
  subject: 'Review',
  location: null,
  body: null,
  attendees: [],
  recurrence: null,
  showAs: 'busy',
  sensitivity: 'normal',
  onlineMeeting: false,
  onlineMeetingUrl: null,
}

export const recurring = (rule: string, taken: readonly string[] = []): CheckedRecurrence => ({
  rule,
  dates: [],
  taken,
})

/** The fields of the object that was written first. */
export function fieldsOf({ items }: WrittenEvents): RemoteEvent {
  const [first] = items
  if (!first?.object.event) throw new Error('nothing was written')
  return first.object.event
}

/** The occurrences that Google gives, as `MMDD HH:MM subject`. */
export async function occurrences(
  { client, email }: Pick<OpenedWriter, 'client' | 'email'>,
  calendarId = email,
): Promise<string[]> {
  const items = await client.listInstances(calendarId, '2026-11-01T00:00:00Z', '2027-06-01T00:00:00Z')
  return items.map(({ start, summary }) => {
    const text = start?.dateTime ?? `${start?.date}T     `
    return `${text.slice(5, 7)}${text.slice(8, 10)} ${text.slice(11, 16)} ${summary}`.replace(/ +/, ' ')
  })
}
