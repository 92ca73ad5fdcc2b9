import type { CalendarEvent, CalendarEventWithBody } from './calendars/calendar-events.ts'
import type { Calendar } from './calendars/calendars.ts'
import type { MeetingConnection } from './calendars/meetings.ts'
import type { Contact } from './contacts/contacts.ts'
import { ACCOUNT_ID, ADA, GRACE } from './example-people.ts'
import type { DataExport } from './exports/exports.ts'
import type { Booking } from './scheduling/bookings.ts'

const CALENDAR_ID = '01a1fc40-3c1a-7d52-8e0b-7f2a4b6c8d10'
const EVENT_ID = '01a1fc41-5e2b-7c63-9f1c-8a3b5c7d9e21'

export const calendar: Calendar = {
  id: CALENDAR_ID,
  name: 'Work',
  description: null,
  owner: ADA,
  isPrimary: true,
  access: 'owner',
  canEdit: true,
  color: '#0b8043',
  timeZone: 'Europe/London',
  isHidden: false,
}

export const calendarEvent: CalendarEvent = {
  id: EVENT_ID,
  calendarId: CALENDAR_ID,
  kind: 'single',
  seriesId: null,
  originalStart: null,
  subject: 'Quarterly figures',
  snippet: 'We compare what we computed.',
  location: 'Room 4',
  start: { dateTime: '2026-11-24T10:00:00.000Z', date: null, timeZone: 'Europe/London' },
  end: { dateTime: '2026-11-24T10:30:00.000Z', date: null, timeZone: 'Europe/London' },
  isAllDay: false,
  organizer: ADA,
  attendees: [{ ...GRACE, type: 'required', response: 'needs_action' }],
  isOrganizer: true,
  selfResponse: 'organizer',
  status: 'confirmed',
  showAs: 'busy',
  sensitivity: 'normal',
  onlineMeetingUrl: null,
  onlineMeetingProvider: null,
  iCalUid: 'quarterly-figures-4711@example.com',
  recurrence: null,
  recurrenceTimeZone: null,
  cancelledStarts: null,
  categories: [],
  hasAttachments: false,
  reminderMinutes: 10,
  webLink: null,
  updatedAt: '2026-11-21T09:50:00.000Z',
}

export const calendarEventWithBody: CalendarEventWithBody = {
  ...calendarEvent,
  body: { contentType: 'text', content: 'We compare what we computed.' },
}

export const contact: Contact = {
  id: '01a1fc42-7f3c-7b74-8a2d-9b4c6d8e0f32',
  folderId: null,
  displayName: 'Grace Hopper',
  givenName: 'Grace',
  middleName: null,
  familyName: 'Hopper',
  nickname: null,
  organization: 'Example Navy Yard',
  jobTitle: null,
  department: null,
  emails: [{ address: GRACE.address, type: 'work' }],
  phones: [],
  birthday: '--12-09',
  notes: null,
  hasPhoto: false,
  updatedAt: '2026-11-21T09:50:00.000Z',
}

export const meetingConnection: MeetingConnection = {
  service: 'zoom',
  email: ADA.address,
  displayName: ADA.name,
  meetingAppId: null,
  status: 'active',
  statusReason: null,
  createdAt: '2026-11-21T09:52:00.000Z',
  updatedAt: '2026-11-21T09:52:00.000Z',
}

export const booking: Booking = {
  id: '01a1fc43-8a4d-7a85-9b3e-0c5d7e9f1a43',
  linkId: '01a1fc44-9b5e-7996-8c4f-1d6e8f0a2b54',
  status: 'confirmed',
  accountId: ACCOUNT_ID,
  accountIds: [ACCOUNT_ID],
  eventId: EVENT_ID,
  start: '2026-11-24T10:00:00.000Z',
  end: '2026-11-24T10:30:00.000Z',
  timeZone: 'America/New_York',
  name: 'Grace Hopper',
  email: GRACE.address,
  guests: [],
  notes: null,
  reference: null,
  onlineMeetingUrl: null,
  manageUrl: 'https://mail.example.com/book/manage/Zk3q1r8Yb2s5t7v9',
  rescheduledFromId: null,
  rescheduledToId: null,
  cancelledAt: null,
  cancelledBy: null,
  cancelReason: null,
  createdAt: '2026-11-21T09:55:00.000Z',
}

export const dataExport: DataExport = {
  id: '01a1fc45-ac6f-78a7-9d50-2e7f901b3c65',
  accountId: ACCOUNT_ID,
  accountEmail: ADA.address,
  status: 'completed',
  bytes: 48_213_077,
  sha256: '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9',
  contents: { accounts: 1, mailboxes: 8, messages: 1204 },
  error: null,
  createdAt: '2026-11-21T10:00:00.000Z',
  startedAt: '2026-11-21T10:00:01.000Z',
  completedAt: '2026-11-21T10:04:12.000Z',
  expiresAt: '2026-11-28T10:04:12.000Z',
}
