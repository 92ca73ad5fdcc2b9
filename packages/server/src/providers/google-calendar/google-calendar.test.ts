import { expect, test } from 'vitest'
import { arrangeGoogleCalendar } from '../../../test/google-calendar/arrange-google-calendar.ts'
import { callsOf, DECEMBER, hourAt, open, WINDOW } from '../../../test/google-calendar/followed-calendar.ts'
import { configureCalendar } from '../../../test/google-calendar/other-client.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { never } from '../conformance/arrangement.ts'
import { describeCalendars } from '../conformance/calendars.ts'
import { openEventIndex } from '../conformance/event-index.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

describeCalendars('Google', () => arrangeGoogleCalendar(sandbox()))

test('shows calendars with their colours, zones, owners and rights, hidden ones too', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  await using other = await arrangeGoogleCalendar(sandbox())
  const { client, email } = arranged
  const team = await client.addCalendar({
    summary: 'Team',
    description: 'All of us',
    timeZone: 'America/New_York',
  })
  await client.changeEntry(team.id, {
    summaryOverride: 'Us',
    backgroundColor: '#FF8800',
    foregroundColor: '#000000',
    hidden: true,
  })
  const gone = await client.addCalendar({ summary: 'Gone' })
  await client.removeCalendar(gone.id)
  for (const role of ['reader', 'freeBusyReader', 'writer']) {
    const shared = await other.client.addCalendar({ summary: role })
    await sandbox().control('POST', '/calendar/shares', { calendarId: shared.id, user: email, role })
  }
  const { calendars } = await arranged.connect()

  const found = await calendars.listCalendars(never)

  expect(found).toMatchObject([
    {
      key: email,
      name: email,
      isPrimary: true,
      access: 'owner',
      owner: { name: null, address: email },
      isHidden: false,
      timeZone: 'Europe/Berlin',
    },
    {
      key: team.id,
      name: 'Us',
      description: 'All of us',
      color: '#ff8800',
      timeZone: 'America/New_York',
      isPrimary: false,
      isHidden: true,
      access: 'owner',
      owner: { address: email },
    },
    { name: 'reader', access: 'reader', owner: { address: other.email } },
    { name: 'freeBusyReader', access: 'freebusy' },
    { name: 'writer', access: 'writer' },
  ])
})

test('reads the events of a calendar that shows only when they take place', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  await using other = await arrangeGoogleCalendar(sandbox())
  const { id } = await other.client.addCalendar({ summary: 'Busy' })
  await other.client.insert({ summary: 'Secret', ...DECEMBER }, id)
  await sandbox().control('POST', '/calendar/shares', {
    calendarId: id,
    user: arranged.email,
    role: 'freeBusyReader',
  })
  const { calendars, listed } = await open(arranged)
  const index = openEventIndex(
    listed.find(({ key }) => key === id)!,
    WINDOW,
  )

  await index.follow(calendars)

  expect(index.items()).toMatchObject([
    {
      event: {
        subject: null,
        organizer: null,
        self: null,
        showAs: 'busy',
        start: { wall: '20261201T090000' },
      },
    },
  ])
})

test('reads older events once the window begins earlier', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  await arranged.client.insert({ summary: 'Old', ...hourAt('20260910T090000') })
  await arranged.client.insert({ summary: 'New', ...DECEMBER })
  const { index, calendars } = await open(arranged, { ...WINDOW, start: new Date('2026-10-01T00:00:00Z') })
  expect(index.subjects()).toEqual(['New'])

  const longer = openEventIndex(index.calendar, WINDOW)
  longer.cursor = index.cursor
  await longer.follow(calendars)

  expect(longer.subjects()).toEqual(['New', 'Old'])
})

test('reads an invitation, its answer, and the meeting once Meet has made it', async () => {
  await using organizer = await arrangeGoogleCalendar(sandbox())
  await using guest = await arrangeGoogleCalendar(sandbox())
  await configureCalendar(sandbox(), { meetSeconds: 30 })
  try {
    const key = { conferenceSolutionKey: { type: 'hangoutsMeet' } }
    const { id } = await organizer.client.insert({
      summary: 'Planning',
      ...DECEMBER,
      attendees: [{ email: guest.email }, { email: 'external@example.com', optional: true }],
      conferenceData: { createRequest: { requestId: 'one', ...key } },
    })
    const { calendars, index } = await open(organizer)
    expect(index.items()).toMatchObject([
      {
        event: {
          onlineMeetingUrl: null,
          onlineMeetingProvider: 'google_meet',
          self: { isOrganizer: true, response: 'organizer' },
        },
      },
    ])
    const invited = await open(guest)
    expect(invited.index.items()).toMatchObject([
      { event: { self: { isOrganizer: false, response: 'needs_action' } } },
    ])

    await guest.client.patch(id, {
      attendees: [
        { email: guest.email, responseStatus: 'accepted' },
        { email: 'external@example.com', optional: true },
      ],
    })
    await sandbox().turnClock(31)
    await organizer.client.get(id)
    await index.follow(calendars)

    expect(index.items()).toMatchObject([
      {
        event: {
          onlineMeetingUrl: expect.stringMatching(/^https:\/\/meet\.google\.com\//),
          onlineMeetingProvider: 'google_meet',
          attendees: [
            { address: guest.email, type: 'required', response: 'accepted' },
            { address: 'external@example.com', type: 'optional', response: 'needs_action' },
          ],
        },
      },
    ])
  } finally {
    await configureCalendar(sandbox(), { meetSeconds: 2 })
  }
})

test('asks for the keys of many copies in one call', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { client, email } = arranged
  const keys: string[] = []
  for (let nth = 0; nth < 12; nth += 1) keys.push((await client.insert(DECEMBER)).id)
  await client.remove(keys[0]!)
  const { calendars } = await arranged.connect()
  const findHeld = (asked: readonly string[], calendarKey = email) =>
    calendars.findHeld!({ calendarKey, keys: asked }, never)
  expect(await callsOf(sandbox(), arranged, () => findHeld(keys.slice(1)))).toHaveLength(1)
  expect(await findHeld(keys)).toEqual(new Set(keys.slice(1)))
  expect(await findHeld(keys.slice(0, 2))).toEqual(new Set([keys[1]]))
  for (const asked of [keys, keys.slice(0, 1)])
    await expect(findHeld(asked, 'none@group.calendar.google.com')).rejects.toMatchObject({
      kind: 'not_found',
    })
})
