import { describe, expect, test } from 'vitest'
import { at, BERLIN, readSingle } from '../../../test/google-calendar/read-answers.ts'
import type { RemoteEvent } from '../calendars.ts'
import type { EventSurroundings } from './event-fields.ts'

describe('the fields of an event', () => {
  test.each<[string, object, Partial<RemoteEvent>, Partial<EventSurroundings>?]>([
    [
      'a start and an end in two zones',
      { end: at('2026-12-01T10:30:00+01:00', 'America/New_York') },
      {
        start: { wall: '20261201T090000', zone: BERLIN },
        end: { wall: '20261201T043000', zone: 'America/New_York' },
      },
    ],
    [
      'times without a zone in that of the answer',
      { start: at('2026-12-01T09:00:00+01:00'), end: at('2026-12-01T10:00:00+01:00') },
      { start: { wall: '20261201T090000', zone: BERLIN }, end: { wall: '20261201T100000', zone: BERLIN } },
    ],
    [
      'a zone that nobody knows as that of the answer',
      { start: at('2026-12-01T09:00:00+01:00', 'GMT-03:00') },
      { start: { wall: '20261201T090000', zone: BERLIN } },
    ],
    [
      'times without any zone in UTC',
      { start: at('2026-12-01T09:00:00.5+01:00'), end: at('2026-12-01T10:00:00+01:00') },
      { start: { wall: '20261201T080000', zone: 'UTC' } },
      { timeZone: null },
    ],
    [
      'the wall clock that Google shows, although its zone data differ from ours',
      { start: at('2026-12-01T09:00:00+03:00', BERLIN), end: at('2026-12-01T10:00:00+03:00', BERLIN) },
      { start: { wall: '20261201T090000', zone: BERLIN } },
    ],
    [
      'a time without an offset',
      { start: at('2026-12-01T08:00:00', 'America/New_York') },
      { start: { wall: '20261201T080000', zone: 'America/New_York' } },
    ],
    [
      'whole days up to the day after the last',
      { start: { date: '2026-12-24' }, end: { date: '2026-12-27' } },
      { start: { wall: '20261224', zone: null }, end: { wall: '20261227', zone: null } },
    ],
    [
      'a day without an end as one day',
      { start: { date: '2026-12-31' }, end: undefined },
      { end: { wall: '20270101', zone: null } },
    ],
    [
      'an unspecified end as the one that is given',
      { endTimeUnspecified: true },
      { end: { wall: '20261201T103000', zone: BERLIN } },
    ],
    [
      'a missing end as the start',
      { endTimeUnspecified: true, end: undefined },
      { end: { wall: '20261201T090000', zone: BERLIN } },
    ],
    [
      'an end before the start as the start',
      { end: at('2026-12-01T07:00:00+01:00', BERLIN) },
      { end: { wall: '20261201T090000', zone: BERLIN } },
    ],
    ['a subject on one line', { summary: ' A\r\nB\u0007 ' }, { subject: 'A B' }],
    [
      'no subject, as where only free and busy times are shown',
      { visibility: 'private' },
      { subject: null, sensitivity: 'private' },
    ],
    [
      'a description with tags as HTML',
      { description: '<p>Agenda: <b>plans</b> &amp; budget</p>' },
      { body: { contentType: 'html', content: '<p>Agenda: <b>plans</b> &amp; budget</p>' } },
    ],
    [
      'a description without tags as text',
      { description: 'Plans &amp; budget\r\n1 &lt; 2 < 3 > 2' },
      { body: { contentType: 'text', content: 'Plans & budget\n1 < 2 < 3 > 2' } },
    ],
    [
      'a description of a million characters whole',
      { description: 'x'.repeat(1_000_001) },
      { body: { contentType: 'text', content: 'x'.repeat(1_000_000) } },
    ],
    ['a blank description as none', { description: ' \n' }, { body: null }],
    [
      'attendees of each kind, each address once',
      {
        attendees: [
          { email: 'ann@example.com', displayName: 'Ann', responseStatus: 'accepted' },
          { email: 'ANN@example.com', responseStatus: 'declined' },
          {
            email: 'bob@example.com',
            displayName: 'bob@example.com',
            optional: true,
            responseStatus: 'tentative',
          },
          { email: 'room@resource.calendar.google.com', resource: true, responseStatus: 'declined' },
          { email: 'cid@example.com', responseStatus: 'delegated', additionalGuests: 2 },
          { id: '1234', displayName: 'Without an address' },
          'odd',
        ],
      },
      {
        attendees: [
          { name: 'Ann', address: 'ann@example.com', type: 'required', response: 'accepted' },
          { name: null, address: 'bob@example.com', type: 'optional', response: 'tentative' },
          {
            name: null,
            address: 'room@resource.calendar.google.com',
            type: 'resource',
            response: 'declined',
          },
          { name: null, address: 'cid@example.com', type: 'required', response: 'needs_action' },
        ],
      },
    ],
    [
      'an event that the account organizes',
      { organizer: { email: 'ann@example.com', displayName: 'Ann', self: true } },
      {
        organizer: { name: 'Ann', address: 'ann@example.com' },
        self: { isOrganizer: true, response: 'organizer' },
      },
    ],
    [
      'an event to which the account is invited',
      {
        organizer: { email: 'ann@example.com' },
        attendees: [
          { email: 'ann@example.com', organizer: true, responseStatus: 'accepted' },
          { email: 'bob@example.com', self: true, responseStatus: 'tentative' },
        ],
      },
      { self: { isOrganizer: false, response: 'tentative' } },
    ],
    [
      'an event of others, in the own calendar',
      { organizer: { email: 'ann@example.com' } },
      { self: { isOrganizer: false, response: 'none' } },
    ],
    [
      'an event in a calendar that is only read by its addresses',
      { organizer: { email: 'ann@example.com', self: true } },
      { self: null },
      { access: 'reader' },
    ],
    ['a tentative event', { status: 'tentative' }, { status: 'tentative', showAs: 'busy' }],
    ['an event that leaves the time free', { transparency: 'transparent' }, { showAs: 'free' }],
    ['an absence', { eventType: 'outOfOffice' }, { showAs: 'oof' }],
    [
      'work at home',
      { eventType: 'workingLocation', workingLocationProperties: { type: 'homeOffice' } },
      { showAs: 'working_elsewhere' },
    ],
    [
      'work in the office',
      { eventType: 'workingLocation', workingLocationProperties: { type: 'officeLocation' } },
      { showAs: 'free' },
    ],
    ['time to focus', { eventType: 'focusTime' }, { showAs: 'busy' }],
    [
      'a birthday',
      { eventType: 'birthday', transparency: 'transparent', visibility: 'private' },
      { showAs: 'free', sensitivity: 'private' },
    ],
    ['a confidential event', { visibility: 'confidential' }, { sensitivity: 'confidential' }],
    ['a public event', { visibility: 'public' }, { sensitivity: 'normal' }],
    [
      'a conference of Google Meet',
      {
        hangoutLink: 'https://meet.google.com/abc-defg-hij',
        conferenceData: {
          entryPoints: [
            { entryPointType: 'phone', uri: 'tel:+1-234-567' },
            { entryPointType: 'video', uri: 'https://meet.google.com/abc-defg-hij' },
          ],
          conferenceSolution: { key: { type: 'hangoutsMeet' } },
        },
      },
      { onlineMeetingUrl: 'https://meet.google.com/abc-defg-hij', onlineMeetingProvider: 'google_meet' },
    ],
    [
      'a conference that is still being made',
      {
        conferenceData: {
          createRequest: {
            requestId: '1',
            conferenceSolutionKey: { type: 'hangoutsMeet' },
            status: { statusCode: 'pending' },
          },
        },
      },
      { onlineMeetingUrl: null, onlineMeetingProvider: 'google_meet' },
    ],
    [
      'a conference that could not be made',
      {
        conferenceData: {
          createRequest: {
            conferenceSolutionKey: { type: 'hangoutsMeet' },
            status: { statusCode: 'failure' },
          },
        },
      },
      { onlineMeetingUrl: null, onlineMeetingProvider: null },
    ],
    [
      'a conference of an add-on',
      {
        conferenceData: {
          entryPoints: [{ entryPointType: 'video', uri: 'https://example.zoom.us/j/123?pwd=x' }],
          conferenceSolution: { key: { type: 'addOn' } },
        },
      },
      { onlineMeetingUrl: 'https://example.zoom.us/j/123?pwd=x', onlineMeetingProvider: 'zoom' },
    ],
    [
      'a conference that can only be called',
      { conferenceData: { entryPoints: [{ entryPointType: 'phone', uri: 'tel:+1-234-567' }] } },
      { onlineMeetingUrl: null, onlineMeetingProvider: null },
    ],
    [
      'a link of a known service in the location',
      { location: 'https://teams.microsoft.com/l/meetup-join/19%3a' },
      { onlineMeetingUrl: 'https://teams.microsoft.com/l/meetup-join/19%3a', onlineMeetingProvider: 'teams' },
    ],
    ['the default reminder that pops up last', { reminders: { useDefault: true } }, { reminderMinutes: 10 }],
    [
      'no default reminder on a whole day',
      { start: { date: '2026-12-24' }, end: { date: '2026-12-25' }, reminders: { useDefault: true } },
      { reminderMinutes: null },
    ],
    [
      'own reminders in place of the default ones',
      { reminders: { useDefault: false, overrides: [{ method: 'email', minutes: 1_440 }] } },
      { reminderMinutes: 1_440 },
    ],
    ['no reminders', { reminders: { useDefault: false } }, { reminderMinutes: null }],
    ['attachments', { attachments: [{ fileUrl: 'https://drive.google.com/x' }] }, { hasAttachments: true }],
    [
      'its UID, link and last change',
      {
        iCalUID: 'abcde@google.com',
        htmlLink: 'https://www.google.com/calendar/event?eid=abc',
        updated: '2026-11-01T10:00:00.123Z',
        extendedProperties: { private: { key: 'value' } },
      },
      {
        iCalUid: 'abcde@google.com',
        webLink: 'https://www.google.com/calendar/event?eid=abc',
        updatedAt: new Date('2026-11-01T10:00:00.123Z'),
      },
    ],
    [
      'fields of another form as absent',
      {
        summary: 7,
        description: {},
        attendees: 'ann@example.com',
        organizer: [],
        reminders: 'none',
        conferenceData: 'x',
        htmlLink: 'javascript:alert(1)',
        updated: 'yesterday',
        attachments: {},
      },
      {
        subject: null,
        body: null,
        attendees: [],
        organizer: null,
        reminderMinutes: null,
        onlineMeetingUrl: null,
        webLink: null,
        updatedAt: null,
        hasAttachments: false,
        self: { isOrganizer: true, response: 'none' },
      },
    ],
  ])('shows %s', async (_, event, expected, around) => {
    expect(await readSingle(event, around)).toMatchObject(expected)
  })
})
