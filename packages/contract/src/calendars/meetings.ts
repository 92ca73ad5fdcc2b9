import { z } from 'zod'
import { timestamp, uuid } from '../shapes.ts'

export const meetingService = z
  .enum(['zoom', 'webex'])
  .meta({ id: 'MeetingService', description: 'A service for online meetings.' })

/** An account's grant at a service for online meetings. */
export const meetingConnection = z
  .object({
    service: meetingService,
    email: z.string().nullable().describe('The user at the service.'),
    displayName: z.string().nullable(),
    meetingAppId: uuid.nullable().describe('The app that the grant was given to; null: the operator’s.'),
    status: z.enum(['active', 'reauth_required']),
    statusReason: z.string().nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'MeetingConnection' })
export type MeetingConnection = z.infer<typeof meetingConnection>

const announced = z.object({ connection: meetingConnection })

/** What the events `meeting_connection.*` announce. */
export const announcedMeetingConnections = {
  'meeting_connection.connected': announced,
  'meeting_connection.reauth_required': announced,
}
