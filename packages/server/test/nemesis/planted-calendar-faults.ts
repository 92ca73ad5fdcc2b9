import type { PlantedFault } from './planted-faults.ts'
import { sampleAnnounced, sampleCalendarEvent, sampleRequest } from './sample-evidence.ts'

const ACCOUNT = 'account-1'

/** Promises about calendars and invitations that are broken, one each, with its report. */
export const PLANTED_IN_CALENDARS: PlantedFault[] = [
  [
    'I5',
    'an event that the index does not have',
    ({ end }) => void end.calendars[0]!.truth.push('20261203T090000Z Added 2'),
    /calendars of account account-1: the index lacks “20261203T090000Z Added 2”/,
  ],
  [
    'I5',
    'an event that was made twice',
    ({ end }) => {
      end.calendars[0]!.truth.push('20261204T090000Z Kept 1')
      end.calendars[0]!.index.push('20261204T090000Z Kept 1')
    },
    /account account-1: the server has “Kept 1” more than once/,
  ],
  [
    'I5',
    'an event that was acknowledged and is lost',
    ({ history }) =>
      void history.push(sampleRequest({ requestId: 'r1', event: { accountId: ACCOUNT, subject: 'Kept 2' } })),
    /the event account-1 Kept 2 was acknowledged, and the server does not have it/,
  ],
  [
    'I6',
    'an event that was changed and never announced',
    ({ end }) =>
      void end.calendars[0]!.after.set('v1', sampleCalendarEvent('v1', 'Added 1', { location: 'Room 5' })),
    /account account-1: the feed has null as location of the single Added 1, and the index "Room 5"/,
  ],
  [
    'I6',
    'an event that was announced twice',
    ({ end }) =>
      void end.calendars[0]!.feed.push(sampleAnnounced('created', sampleCalendarEvent('v2', 'Kept 1'))),
    /account account-1: Error: calendar_event.created of the single Kept 1 v2, which was there/,
  ],
  [
    'I6',
    'an event that got another id',
    ({ end }) => {
      const state = end.calendars[0]!
      state.feed.push(sampleAnnounced('deleted', sampleCalendarEvent('v2', 'Kept 1')))
      state.feed.push(sampleAnnounced('created', sampleCalendarEvent('v3', 'Kept 1')))
      state.after.delete('v2')
      state.after.set('v3', sampleCalendarEvent('v3', 'Kept 1'))
    },
    /account account-1: “Kept 1” had 2 ids/,
  ],
  [
    'I17',
    'an invitation that was queued twice',
    ({ history, end }) => {
      history.push(sampleMeeting('POST'))
      end.invitations.push({ eventId: 'meeting-1' })
    },
    /2 mails were queued, not 1, about “Meeting 1” of account account-1/,
  ],
  [
    'I17',
    'a guest who was not invited',
    ({ history, end }) => {
      history.push(sampleMeeting('POST'))
      end.invitations = []
    },
    /0 mails were queued, not 1, about “Meeting 1” of account account-1/,
  ],
  [
    'I17',
    'a guest who was not told that a meeting is cancelled',
    ({ history }) => void history.push(sampleMeeting('POST'), sampleMeeting('DELETE')),
    /1 mails were queued, not 2, about “Meeting 1” of account account-1/,
  ],
]

const sampleMeeting = (method: 'POST' | 'DELETE') =>
  sampleRequest({
    requestId: 'r1',
    method,
    key: null,
    madeId: method === 'POST' ? 'meeting-1' : null,
    event: { accountId: ACCOUNT, subject: 'Meeting 1' },
  })
