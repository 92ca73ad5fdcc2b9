import { describe, expect, test } from 'vitest'
import { CALENDAR_HOST, configureCalendar } from '../../../../test/google-calendar/other-client.ts'
import {
  berlin,
  FIELDS,
  fieldsOf,
  newCreation,
  openWriter,
} from '../../../../test/google-calendar/open-writer.ts'
import { startSandbox } from '../../../../test/servers/sandbox.ts'
import { useServer } from '../../../../test/servers/shared-server.ts'
import { never } from '../../conformance/arrangement.ts'
import type { EventChange } from '../../changing-calendars.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

const ALL = { type: 'all', timesOf: null } as const
const GUEST = { name: 'Gil', address: 'gil@example.com', type: 'required' } as const

test('an event is created with every field, once', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, email } = opened
  const creation = newCreation()
  const fields = {
    ...FIELDS,
    location: 'Room 5',
    body: { contentType: 'text', content: 'a < b & "c"\n<b>no tag</b>' },
    attendees: [GUEST, { name: null, address: 'room@example.com', type: 'resource' }],
    showAs: 'free',
    sensitivity: 'private',
    reminderMinutes: 15,
    onlineMeetingUrl: 'https://meet.example.com/a?b=1&c=2',
  } as const
  const event = { calendarKey: email, fields, ...creation }

  const written = await writer.createEvent(event, options)
  const again = await writer.createEvent({ ...event, mayExist: true }, options)

  expect(written.place).toEqual({ calendarKey: email, key: creation.creationId.replaceAll('-', '') })
  expect(again).toEqual(written)
  expect(fieldsOf(written)).toMatchObject({
    start: FIELDS.start,
    end: FIELDS.end,
    subject: 'Review',
    location: 'Room 5',
    body: {
      contentType: 'text',
      content: 'a < b & "c"\n<b>no tag</b>\n\nJoin: https://meet.example.com/a?b=1&c=2',
    },
    attendees: [
      { ...GUEST, response: 'needs_action' },
      { name: null, address: 'room@example.com', type: 'resource', response: 'needs_action' },
    ],
    showAs: 'free',
    sensitivity: 'private',
    reminderMinutes: 15,
    onlineMeetingUrl: fields.onlineMeetingUrl,
    onlineMeetingProvider: 'other',
  })
  expect(await client.list()).toHaveLength(1)
  const asked = { calendarKey: email, creationId: creation.creationId }
  expect(await writer.findCreated(asked, never)).toBe(written.place.key)
  await client.remove(written.place.key)
  expect(await writer.findCreated(asked, never)).toBeNull()
  await expect(writer.createEvent(event, options)).rejects.toMatchObject({ kind: 'not_found' })
})

test('a creation whose answer was lost is found again', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, email } = opened
  const event = { calendarKey: email, fields: FIELDS, ...newCreation() }
  await sandbox().addFault({ does: 'lost', host: CALENDAR_HOST, method: 'POST', count: 1 })
  await expect(writer.createEvent(event, options)).rejects.toMatchObject({ isBeforeAcceptance: false })
  await writer.createEvent({ ...event, mayExist: true }, options)
  expect(await client.list()).toHaveLength(1)
})

test.each([
  [undefined, 10],
  [null, null],
  [0, 0],
])(
  'reminderMinutes %s reads %s, since the calendar reminds of events 10 minutes before',
  async (given, read) => {
    await using opened = await openWriter(sandbox())
    const { writer, options, email } = opened
    const fields = { ...FIELDS, ...(given !== undefined && { reminderMinutes: given }) }
    const written = await writer.createEvent({ calendarKey: email, fields, ...newCreation() }, options)
    expect(fieldsOf(written).reminderMinutes).toBe(read)
  },
)

test('a change leaves all else as it is, and attendees who stay as they are', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, create } = opened
  const place = await create({ attendees: [GUEST, { ...GUEST, name: null, address: 'leaves@example.com' }] })
  await client.patch(place.key, {
    colorId: '5',
    attendees: [
      { email: opened.email, responseStatus: 'accepted' },
      {
        email: GUEST.address,
        displayName: 'Gil',
        responseStatus: 'tentative',
        comment: 'Late',
        additionalGuests: 2,
      },
      { email: 'leaves@example.com' },
    ],
    extendedProperties: { private: { ours: '1' }, shared: { theirs: '2' } },
    reminders: {
      useDefault: false,
      overrides: [
        { method: 'email', minutes: 60 },
        { method: 'popup', minutes: 5 },
      ],
    },
  })
  const change: EventChange = {
    subject: null,
    location: 'Room 6',
    reminderMinutes: 30,
    attendees: [
      { ...GUEST, name: null, type: 'optional' },
      { name: 'New', address: 'new@example.com', type: 'required' },
    ],
    onlineMeetingUrl: 'https://meet.example.com/x',
  }

  const written = await writer.changeEvent({ place, part: ALL, change }, options)

  expect(fieldsOf(written)).toMatchObject({ subject: null, location: 'Room 6', reminderMinutes: 30 })
  expect(await client.get(place.key)).toMatchObject({
    colorId: '5',
    start: { dateTime: '2026-12-01T09:00:00+01:00' },
    attendees: [
      { email: opened.email, responseStatus: 'accepted' },
      {
        email: GUEST.address,
        displayName: 'Gil',
        responseStatus: 'tentative',
        comment: 'Late',
        additionalGuests: 2,
        optional: true,
      },
      { email: 'new@example.com', displayName: 'New', responseStatus: 'needsAction' },
    ],
    extendedProperties: {
      private: { ours: '1', 'waxwing.meeting': 'https://meet.example.com/x' },
      shared: { theirs: '2' },
    },
    reminders: {
      overrides: [
        { method: 'email', minutes: 60 },
        { method: 'popup', minutes: 30 },
      ],
    },
  })
})

test('times move with their length, become days, and times again', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, create } = opened
  const place = await create({})
  const change = async (times: EventChange) => {
    const { start, end } = fieldsOf(await writer.changeEvent({ place, part: ALL, change: times }, options))
    return [start, end]
  }
  const york = (wall: string) => ({ wall, zone: 'America/New_York' })
  const day = (wall: string) => ({ wall, zone: null })
  expect(await change({ start: york('20261202T140000') })).toEqual([
    york('20261202T140000'),
    york('20261202T150000'),
  ])
  expect(await change({ start: day('20261203'), end: day('20261205') })).toEqual([
    day('20261203'),
    day('20261205'),
  ])
  expect(await change({ start: berlin('20261203T090000'), end: york('20261203T090000') })).toEqual([
    berlin('20261203T090000'),
    york('20261203T090000'),
  ])
})

test('a link to a meeting becomes the location if there is none, and goes with both', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, create } = opened
  const place = await create({ body: { contentType: 'html', content: '<p>Agenda</p>' } })
  const [one, two] = ['https://meet.example.com/1?a=1&b=2', 'https://meet.example.com/2']
  const change = async (fields: EventChange) =>
    fieldsOf(await writer.changeEvent({ place, part: ALL, change: fields }, options))
  expect(await change({ onlineMeetingUrl: one })).toMatchObject({
    onlineMeetingUrl: one,
    location: one,
    body: { content: '<p>Agenda</p>' },
  })
  expect(await change({ body: { contentType: 'html', content: '<p>Plan</p>' } })).toMatchObject({
    onlineMeetingUrl: one,
    body: {
      content:
        '<p>Plan</p><p>Join: <a href="https://meet.example.com/1?a=1&amp;b=2">https://meet.example.com/1?a=1&amp;b=2</a></p>',
    },
  })
  expect(await change({ onlineMeetingUrl: two })).toMatchObject({
    onlineMeetingUrl: two,
    location: two,
    body: {
      content: expect.stringMatching(/^<p>Plan<\/p><p>Join: <a href="https:\/\/meet\.example\.com\/2">/),
    },
  })
  expect(await change({ onlineMeetingUrl: null })).toMatchObject({
    onlineMeetingUrl: null,
    location: null,
    body: { content: '<p>Plan</p>' },
  })
  expect((await client.get(place.key)).extendedProperties?.private?.['waxwing.meeting']).toBeUndefined()
})

test('Google makes a meeting, which lives through other changes until it is taken away', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, create } = opened
  const place = await create({})
  await configureCalendar(sandbox(), { meetSeconds: 0 })
  const change = async (fields: EventChange) =>
    fieldsOf(await writer.changeEvent({ place, part: ALL, change: fields }, options))
  const made = await change({ onlineMeeting: true })
  expect(made).toMatchObject({
    onlineMeetingProvider: 'google_meet',
    onlineMeetingUrl: expect.stringMatching(/^https:\/\/meet\.google\.com\//),
  })
  const { onlineMeetingUrl } = made
  expect(await change({ subject: 'With Meet' })).toMatchObject({ onlineMeetingUrl })
  expect(await change({ onlineMeeting: true })).toMatchObject({ onlineMeetingUrl })
  expect(await change({ onlineMeeting: false })).toMatchObject({ onlineMeetingUrl: null })
  await configureCalendar(sandbox(), { meetSeconds: 2 })
})

test.each([
  { showAs: 'oof' },
  { showAs: 'tentative' },
  { sensitivity: 'personal' },
  { onlineMeetingUrl: `https://meet.example.com/${'x'.repeat(1_000)}` },
] as const satisfies readonly EventChange[])('%o is refused before anything is written', async change => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, create, email } = opened
  const refused = { kind: 'unsupported', isBeforeAcceptance: true }
  const fields = { ...FIELDS, ...change }
  await expect(
    writer.createEvent({ calendarKey: email, fields, ...newCreation() }, options),
  ).rejects.toMatchObject(refused)
  expect(await client.list()).toEqual([])
  const place = await create({})
  const { etag } = await client.get(place.key)
  const changed = writer.changeEvent({ place, part: ALL, change: { subject: 'No', ...change } }, options)
  await expect(changed).rejects.toMatchObject(refused)
  expect((await client.get(place.key)).etag).toBe(etag)
})

test('a change is applied again if another client was faster, three times', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, create } = opened
  const place = await create({})
  const fault = (count: number) =>
    sandbox().addFault({ does: 'error', status: 412, host: CALENDAR_HOST, method: 'PATCH', count })
  await fault(3)
  await client.patch(place.key, { location: 'Theirs' }).catch(() => {})
  const written = await writer.changeEvent({ place, part: ALL, change: { subject: 'Ours' } }, options)
  expect(fieldsOf(written)).toMatchObject({ subject: 'Ours' })
  await fault(4)
  await expect(
    writer.changeEvent({ place, part: ALL, change: { subject: 'Late' } }, options),
  ).rejects.toMatchObject({ kind: 'conflict' })
})

test('an event is deleted once, and moves to another calendar under its key', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, client, create } = opened
  const place = await create({})
  const { id: toCalendarKey } = await client.addCalendar({ summary: 'Other' })
  const moving = { place, toCalendarKey, ...newCreation() }
  const moved = await writer.moveEvent(moving, options)
  expect(moved).toMatchObject({
    items: [{ calendarKey: toCalendarKey, object: { key: place.key, event: { subject: 'Review' } } }],
    gone: [place],
    place: { calendarKey: toCalendarKey, key: place.key },
  })
  expect(await writer.moveEvent({ ...moving, mayExist: true }, options)).toEqual(moved)

  const asked = { place: moved.place, part: { type: 'all' } } as const
  expect(await writer.removeEvent(asked, options)).toMatchObject({ items: [], gone: [moved.place] })
  await expect(writer.removeEvent(asked, options)).rejects.toMatchObject({ kind: 'not_found' })
})

describe('invitations', () => {
  test('are answered with a comment, and told only if they are to be', async () => {
    await using host = await openWriter(sandbox())
    await using guest = await openWriter(sandbox())
    const { key } = await host.create({ attendees: [{ ...GUEST, address: guest.email }, GUEST] })
    const place = { calendarKey: guest.email, key }
    const answer = { place, part: { type: 'all' }, response: 'tentative', comment: 'Perhaps' } as const
    const written = await guest.writer.respond(answer, guest.options)
    expect(fieldsOf(written).self).toEqual({ isOrganizer: false, response: 'tentative' })
    expect(await host.client.get(key)).toMatchObject({
      attendees: [
        { email: guest.email, responseStatus: 'tentative', comment: 'Perhaps' },
        { email: GUEST.address, responseStatus: 'needsAction' },
      ],
    })
    const subject = { place, part: ALL, change: { subject: 'Not mine' } }
    await expect(guest.writer.changeEvent(subject, guest.options)).rejects.toMatchObject({
      kind: 'forbidden',
    })
    const showAs = { place, part: ALL, change: { showAs: 'free' } } as const
    expect(fieldsOf(await guest.writer.changeEvent(showAs, guest.options))).toMatchObject({ showAs: 'free' })
    const own = { ...answer, place: { calendarKey: host.email, key } }
    await expect(host.writer.respond(own, host.options)).rejects.toMatchObject({ kind: 'rejected' })
  })

  test('are answered by guests who do not see each other', async () => {
    await using host = await openWriter(sandbox())
    await using guest = await openWriter(sandbox())
    const recurrence = { rule: 'FREQ=WEEKLY;COUNT=3', dates: [], taken: [] }
    const { key } = await host.create({ recurrence, attendees: [{ ...GUEST, address: guest.email }, GUEST] })
    await host.client.patch(key, { guestsCanSeeOtherGuests: false })
    const place = { calendarKey: guest.email, key }
    const answer = { place, part: { type: 'all' }, response: 'accepted', comment: null } as const
    const written = await guest.writer.respond(answer, guest.options)
    expect(fieldsOf(written)).toMatchObject({ self: { response: 'accepted' }, attendees: [{}] })
    expect(await host.client.get(key)).toMatchObject({
      attendees: [
        { email: guest.email, responseStatus: 'accepted' },
        { email: GUEST.address, responseStatus: 'needsAction' },
      ],
    })
  })

  test('tell people by mail if they are to', async () => {
    await using opened = await openWriter(sandbox())
    const { writer, options, email } = opened
    await using guest = await openWriter(sandbox())
    expect(await writer.tellsPeople(email, never)).toBe(true)
    const fields = { ...FIELDS, attendees: [{ ...GUEST, address: guest.email }] }
    for (const notify of [true, false]) {
      const after = (await sandbox().calls({ user: email })).items.at(-1)?.id ?? 0
      await writer.createEvent({ calendarKey: email, fields, ...newCreation() }, { ...options, notify })
      const { items } = await sandbox().calls({ user: email, after })
      expect(items.find(({ method }) => method === 'POST')?.query).toContain(
        `sendUpdates=${notify ? 'all' : 'none'}`,
      )
    }
  })
})

test('calendars that can only be read, and those that are gone, take no writes', async () => {
  await using opened = await openWriter(sandbox())
  const { writer, options, email } = opened
  await using other = await openWriter(sandbox())
  const { id: calendarId } = await other.client.addCalendar({ summary: 'Read only' })
  await sandbox().control('POST', '/calendar/shares', { calendarId, user: email, role: 'reader' })
  const into = (calendarKey: string) =>
    writer.createEvent({ calendarKey, fields: FIELDS, ...newCreation() }, options)
  await expect(into(calendarId)).rejects.toMatchObject({ kind: 'forbidden', isBeforeAcceptance: true })
  await expect(into('none@group.calendar.google.com')).rejects.toMatchObject({ kind: 'not_found' })
})
