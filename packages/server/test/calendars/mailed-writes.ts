import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import { at, guest, type MailingAccount, type MailingDoor } from './mailing-door.ts'

const address = (name: string) => ({ address: guest(name).address })

export interface MailedWrite {
  ask: (door: MailingDoor, account: MailingAccount) => Promise<{ status: number }>
  mails: string[]
  /** Whether the request can be sent again with its key. */
  isRepeated?: boolean
}

/** Writes of which people are told, and the recipients of each of their mails. */
export const MAILED_WRITES: Record<string, MailedWrite> = {
  creation: {
    ask: (door, { id, events, calendars }) =>
      door.post<CalendarEventWithBody>(
        events,
        {
          calendarId: calendars[0]!.id,
          subject: 'New',
          start: { dateTime: at(6), timeZone: 'UTC' },
          end: { dateTime: at(7), timeZone: 'UTC' },
          attendees: [address('bob'), address('kim')],
        },
        { 'idempotency-key': id },
      ),
    mails: ['bob,kim'],
    isRepeated: true,
  },
  'change of the people': {
    ask: (door, { events, series }) =>
      door.patch(`${events}/${series}`, { attendees: [address('bob'), address('kim')] }),
    mails: ['eve', 'kim'],
  },
  'change of one occurrence': {
    ask: (door, { events, occurrence }) => door.patch(`${events}/${occurrence}`, { location: 'Bar' }),
    mails: ['bob,eve'],
  },
  'move in time and to another calendar': {
    ask: (door, { events, series, calendars }) =>
      door.patch(`${events}/${series}`, {
        calendarId: calendars[1]!.id,
        start: { dateTime: at(1), timeZone: 'UTC' },
      }),
    mails: ['bob,eve'],
  },
  split: {
    ask: (door, { events, occurrence }) =>
      door.patch(`${events}/${occurrence}?scope=following`, { location: 'Bar' }),
    mails: ['bob,eve', 'bob,eve'],
  },
  'deletion of one occurrence': {
    ask: (door, { events, occurrence }) => door.delete(`${events}/${occurrence}`),
    mails: ['bob,eve'],
  },
  'deletion of the series': {
    ask: (door, { events, series }) => door.delete(`${events}/${series}`),
    mails: ['bob,eve'],
  },
  reply: {
    ask: (door, { id, events, invitation }) =>
      door.post(`${events}/${invitation}/respond`, { response: 'accepted' }, { 'idempotency-key': `r${id}` }),
    mails: ['boss'],
    isRepeated: true,
  },
  'deletion of an invitation': {
    ask: (door, { events, invitation }) => door.delete(`${events}/${invitation}`),
    mails: ['boss'],
  },
}
