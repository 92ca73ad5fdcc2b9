import { z } from 'zod'
import { address, timestamp, uuid } from '../shapes.ts'

export const booking = z
  .object({
    id: uuid,
    linkId: uuid.describe('The scheduling link, which may be gone.'),
    status: z.enum(['confirmed', 'cancelled']),
    accountId: uuid.describe('The organizer.'),
    accountIds: z.array(uuid).describe('The accounts that were booked.'),
    eventId: uuid.describe('The event in the organizer’s calendar, which may be gone.'),
    start: timestamp,
    end: timestamp,
    timeZone: z.string().describe('The invitee’s, an IANA name.'),
    name: z.string(),
    email: z.string(),
    guests: z.array(address),
    notes: z.string().nullable(),
    reference: z.string().nullable(),
    onlineMeetingUrl: z.string().nullable(),
    manageUrl: z.string().describe('A page on which the invitee can move or cancel it.'),
    rescheduledFromId: uuid.nullable().describe('The booking that this one replaces.'),
    rescheduledToId: uuid.nullable().describe('The booking that replaced this one.'),
    cancelledAt: timestamp.nullable(),
    cancelledBy: z.enum(['api', 'invitee', 'calendar']).nullable(),
    cancelReason: z.string().nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'Booking' })
export type Booking = z.infer<typeof booking>

const announced = z.object({ booking })

/** What the events `booking.*` announce. */
export const announcedBookings = { 'booking.created': announced, 'booking.cancelled': announced }
