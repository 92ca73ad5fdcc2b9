import { z } from 'zod'
import { account } from './accounts/accounts.ts'
import { announcedCalendarEvents } from './calendars/calendar-events.ts'
import { announcedCalendars } from './calendars/calendars.ts'
import { announcedMeetingConnections } from './calendars/meetings.ts'
import { announcedContacts } from './contacts/contacts.ts'
import { announcedExports } from './exports/exports.ts'
import { mailbox, mailboxChange, mailboxReference } from './mail/mailboxes.ts'
import { classification, messageChange, messageSummary } from './mail/messages.ts'
import { announcedBookings } from './scheduling/bookings.ts'
import { outboxEntry, sendError } from './sending/outbox.ts'
import { trackedFacts } from './sending/tracking.ts'
import { suppressionEntry } from './sending/suppressions.ts'
import { eventId, microsoftCloud, timestamp, uuid } from './shapes.ts'

export const EVENT_TYPES = [
  'webhook.test',
  'account.connected',
  'account.updated',
  'account.deleted',
  'account.reauth_required',
  'account.initialized',
  'account.purged',
  'mailbox.created',
  'mailbox.updated',
  'mailbox.deleted',
  'message.created',
  'message.updated',
  'message.deleted',
  'message.bounced',
  'message.classified',
  'message.opened',
  'message.clicked',
  'send.sent',
  'send.retrying',
  'send.failed',
  'send.rescheduled',
  'suppression.created',
  'calendar.initialized',
  'calendar.created',
  'calendar.updated',
  'calendar.deleted',
  'calendar_event.created',
  'calendar_event.updated',
  'calendar_event.deleted',
  'contacts.initialized',
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'export.completed',
  'export.failed',
  'meeting_connection.connected',
  'meeting_connection.reauth_required',
  'booking.created',
  'booking.cancelled',
] as const

export const eventType = z.enum(EVENT_TYPES).meta({ id: 'EventType' })
export type EventType = z.infer<typeof eventType>

const externalRef = z.string().nullable()
const announcedMailboxes = z.array(mailboxReference)
const announcedMessage = z.object({ message: messageSummary, mailboxes: announcedMailboxes })
const announcedMailbox = z.object({ mailbox })
/** A delivery that failed, of one send. */
const announcedBounce = z.object({
  outboxId: uuid,
  messageId: uuid.nullable().describe('The sent copy; null while none is indexed.'),
  reference: z.string().nullable(),
  bounceType: z
    .enum(['hard', 'soft'])
    .describe('`hard`: the addresses take no mail. `soft`: another message may get through.'),
  recipients: z.array(
    z.object({
      address: z.string().describe('As it was sent to.'),
      status: z.string().describe('Enhanced status code (RFC 3463), such as `5.1.1`.'),
      diagnostic: z.string().describe('Text of the refusing server; may be empty.'),
    }),
  ),
})
const announcedSend = z.object({ outbox: outboxEntry })
const announcedFailure = announcedSend.extend({ error: sendError })

const trackedSend = {
  outboxId: uuid,
  messageId: uuid.nullable().describe('The copy in the mailbox of sent mail; null while none is indexed.'),
  reference: z.string().nullable(),
  recipient: z.string().nullable().describe('Null where the send has more than one.'),
}

/** Schemas of `data` by type of event. */
export const eventData = {
  'webhook.test': z.object({ message: z.string() }),
  'account.connected': z.object({
    email: z.string(),
    provider: account.shape.provider,
    cloud: microsoftCloud.nullable(),
    externalRef,
    reauthorized: z.boolean(),
  }),
  'account.updated': z.object({ account, changes: z.array(z.string()) }),
  'account.deleted': z.object({ email: z.string(), externalRef }),
  'account.reauth_required': z.object({
    email: z.string(),
    provider: account.shape.provider,
    externalRef,
    reason: z.string(),
  }),
  'account.initialized': z.object({ mailboxes: z.int(), messages: z.int() }),
  'account.purged': z.object({ accountId: uuid, externalRef }),
  'mailbox.created': announcedMailbox,
  'mailbox.updated': announcedMailbox.extend({ changes: z.array(mailboxChange) }),
  'mailbox.deleted': announcedMailbox,
  'message.created': announcedMessage,
  'message.updated': announcedMessage.extend({ changes: z.array(messageChange) }),
  'message.deleted': announcedMessage,
  'message.opened': z.object({ ...trackedSend, ...trackedFacts }),
  'message.clicked': z.object({ ...trackedSend, url: z.string(), ...trackedFacts }),
  'message.bounced': announcedBounce,
  'message.classified': announcedMessage.extend({ classification }),
  'send.sent': announcedSend,
  'send.retrying': announcedFailure,
  'send.failed': announcedFailure,
  'send.rescheduled': announcedSend,
  'suppression.created': z.object({
    listId: z.string(),
    address: z.string(),
    source: suppressionEntry.shape.source,
    reason: z.string(),
    outboxId: uuid.nullable().describe('The send that caused it; null if none did.'),
  }),
  ...announcedCalendars,
  ...announcedCalendarEvents,
  ...announcedContacts,
  ...announcedExports,
  ...announcedMeetingConnections,
  ...announcedBookings,
} satisfies Record<EventType, z.ZodType>

/** `data` of an event of this type. */
export type EventData<T extends EventType> = z.infer<(typeof eventData)[T]>

/** An event in the change feed, in the form that webhooks deliver too. */
export const changeEvent = z
  .object({
    id: eventId,
    type: eventType,
    accountId: uuid.nullable().describe('Null for events that concern no single account.'),
    createdAt: timestamp,
    data: z
      .record(z.string(), z.unknown())
      .describe(
        'Depends on the type: see the schemas named `ChangeEvent.` and the type. Empty after the ' +
          'account was purged: its events keep their ids, but none of their content.',
      ),
    isTest: z.literal(true).optional().describe('Only on test events.'),
  })
  .meta({ id: 'ChangeEvent' })
export type ChangeEvent = z.infer<typeof changeEvent>
