import {
  booking,
  calendar,
  calendarEvent,
  contact,
  dataExport,
  meetingConnection,
} from './calendar-examples.ts'
import type { EventData, EventType } from './events.ts'
import { ADA, GRACE } from './example-people.ts'
import {
  account,
  announcedMessage,
  classification,
  mailbox,
  outboxEntry,
  suppressionEntry,
} from './examples.ts'

const externalRef = account.externalRef
const sent = {
  ...outboxEntry,
  status: 'sent',
  attempts: 1,
  nextAttemptAt: null,
  sentAt: '2026-11-21T10:00:01.204Z',
  updatedAt: '2026-11-21T10:00:01.204Z',
} as const
const { id: outboxId, reference } = outboxEntry
const busy = { reason: 'provider_unavailable', message: '451 4.3.0 Try again later' } as const
const refused = { reason: 'provider_rejected', message: '554 5.7.1 Message refused' } as const
const tracked = {
  outboxId,
  messageId: null,
  reference,
  recipient: GRACE.address,
  isMachine: false,
  machineReason: null,
  ip: null,
  userAgent: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Firefox/146.0',
}

/** A sample of each type of event: what a test delivers when it names no data. */
export const eventSamples: { [T in EventType]: EventData<T> } = {
  'webhook.test': { message: 'This is a test.' },
  'account.connected': {
    email: ADA.address,
    provider: account.provider,
    cloud: account.cloud,
    externalRef,
    reauthorized: false,
  },
  'account.updated': { account, changes: ['settings'] },
  'account.deleted': { email: ADA.address, externalRef },
  'account.reauth_required': {
    email: ADA.address,
    provider: account.provider,
    externalRef,
    reason: 'login_failed',
  },
  'account.initialized': { mailboxes: 8, messages: 1204 },
  'account.purged': { accountId: account.id, externalRef },
  'mailbox.created': { mailbox },
  'mailbox.updated': { mailbox, changes: ['name', 'path'] },
  'mailbox.deleted': { mailbox },
  'message.created': announcedMessage,
  'message.updated': {
    ...announcedMessage,
    message: { ...announcedMessage.message, isRead: true },
    changes: ['isRead'],
  },
  'message.deleted': announcedMessage,
  'message.bounced': {
    outboxId,
    messageId: null,
    reference,
    bounceType: 'hard',
    recipients: [{ address: GRACE.address, status: '5.1.1', diagnostic: '550 5.1.1 No such user' }],
  },
  'message.classified': { ...announcedMessage, classification },
  'message.opened': tracked,
  'message.clicked': { ...tracked, url: 'https://example.com/offer' },
  'send.sent': { outbox: sent },
  'send.retrying': {
    outbox: { ...outboxEntry, attempts: 1, nextAttemptAt: '2026-11-21T10:01:00.000Z', lastError: busy },
    error: busy,
  },
  'send.failed': {
    outbox: { ...outboxEntry, status: 'failed', attempts: 1, nextAttemptAt: null, lastError: refused },
    error: refused,
  },
  'send.rescheduled': { outbox: outboxEntry },
  'suppression.created': {
    listId: 'newsletter',
    address: suppressionEntry.address,
    source: suppressionEntry.source,
    reason: suppressionEntry.reason,
    outboxId,
  },
  'calendar.initialized': { calendars: 2, events: 173 },
  'calendar.created': { calendar },
  'calendar.updated': { calendar, changes: ['name'] },
  'calendar.deleted': { calendar },
  'calendar_event.created': { event: calendarEvent },
  'calendar_event.updated': { event: calendarEvent, changes: ['start', 'end'] },
  'calendar_event.deleted': { event: calendarEvent },
  'contacts.initialized': { folders: 1, contacts: 86 },
  'contact.created': { contact },
  'contact.updated': { contact, changes: ['emails'] },
  'contact.deleted': { contact },
  'export.completed': { export: dataExport },
  'export.failed': {
    export: {
      ...dataExport,
      status: 'failed',
      bytes: 0,
      sha256: null,
      error: 'interrupted',
      completedAt: null,
      expiresAt: null,
    },
  },
  'meeting_connection.connected': { connection: meetingConnection },
  'meeting_connection.reauth_required': {
    connection: { ...meetingConnection, status: 'reauth_required', statusReason: 'invalid_grant' },
  },
  'booking.created': { booking },
  'booking.cancelled': {
    booking: {
      ...booking,
      status: 'cancelled',
      cancelledAt: '2026-11-22T08:00:00.000Z',
      cancelledBy: 'invitee',
      cancelReason: 'Another time suits better.',
    },
  },
}
