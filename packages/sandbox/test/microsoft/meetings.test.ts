import { type Client, PageIterator } from '@microsoft/microsoft-graph-client'
import type { Event } from '@microsoft/microsoft-graph-types'
import { expect, test } from 'vitest'
import { requireUser } from '../../src/world/users.ts'
import { letter } from '../letter.ts'
import type { Parsed } from '../read-answer.ts'
import type { Validate } from '../published-types.ts'
import type { Answers } from './answers.ts'
import { IMMUTABLE } from './client.ts'
import { at, hour, recurrenceOf, series } from './make-event.ts'
import { ADA, EVA, FINN, useOffice } from './use-office.ts'
import { openGraphValidation } from './validation.ts'

const validate: Validate<Answers> = openGraphValidation()
const office = useOffice()

const attendee = (address: string, type = 'required'): object => ({ emailAddress: { address }, type })

async function done(user: string, method: string, path: string, body?: unknown): Promise<Parsed> {
  const { status, data } = await office.ask(user, method, path, body, IMMUTABLE)
  expect(status, JSON.stringify(data)).toBeLessThan(300)
  return data
}

const invite = (fields: object = {}, guests = [FINN]) =>
  done(EVA, 'POST', 'events', {
    ...hour('2026-12-01'),
    subject: 'Planning',
    attendees: guests.map(address => attendee(address)),
    ...fields,
  })

/** The only event of a user. */
async function copyOf(user: string): Promise<Parsed> {
  const { value } = await done(user, 'GET', 'events')
  expect(value).toHaveLength(1)
  return value[0]
}

const subjectsOf = async (user: string) => (await office.list(user, 'inbox')).map(({ subject }) => subject)

test('puts an invitation into the calendar and the inbox of an attendee, whose response comes back', async () => {
  const made = await invite()
  const copy = await copyOf(FINN)
  validate('event', copy)
  expect(copy).toMatchObject({
    subject: 'Planning',
    iCalUId: made.iCalUId,
    isOrganizer: false,
    organizer: { emailAddress: { address: EVA } },
    responseStatus: { response: 'notResponded' },
    showAs: 'tentative',
  })
  expect(copy.id).not.toBe(made.id)
  const [mail] = (await done(FINN, 'GET', 'mailFolders/inbox/messages')).value
  expect(mail).toMatchObject({
    '@odata.type': '#microsoft.graph.eventMessageRequest',
    subject: 'Planning',
  })
  const mime = await office.mime(FINN, mail.id)
  expect(mime).toContain('METHOD:REQUEST')
  expect(mime).toContain(`UID:${made.iCalUId.slice(0, 50)}`)

  await done(FINN, 'POST', `events/${copy.id}/accept`, { comment: 'Gladly' })
  expect(await copyOf(FINN)).toMatchObject({ responseStatus: { response: 'accepted' }, showAs: 'busy' })
  expect((await copyOf(EVA)).attendees).toMatchObject([{ status: { response: 'accepted' } }])
  expect(await subjectsOf(EVA)).toEqual(['Accepted: Planning'])
})

test('asks attendees again when a meeting takes place at another time, and keeps what is their own', async () => {
  const { id } = await invite()
  const copy = await copyOf(FINN)
  await done(FINN, 'POST', `events/${copy.id}/accept`)
  await done(FINN, 'PATCH', `events/${copy.id}`, {
    categories: ['Red category'],
    reminderMinutesBeforeStart: 5,
  })
  await done(EVA, 'PATCH', `events/${id}`, { subject: 'Renamed' })
  const own = { categories: ['Red category'], reminderMinutesBeforeStart: 5 }
  expect(await copyOf(FINN)).toMatchObject({
    ...own,
    subject: 'Renamed',
    responseStatus: { response: 'accepted' },
  })
  expect((await copyOf(EVA)).attendees).toMatchObject([{ status: { response: 'accepted' } }])
  await done(EVA, 'PATCH', `events/${id}`, hour('2026-12-02'))
  expect(await copyOf(FINN)).toMatchObject({ ...own, responseStatus: { response: 'notResponded' } })
  expect((await copyOf(EVA)).attendees).toMatchObject([{ status: { response: 'none' } }])
})

test('sends no response if the attendee does not want it, and takes a declined meeting away', async () => {
  await invite()
  const { id } = await copyOf(FINN)
  await done(FINN, 'POST', `events/${id}/tentativelyAccept`, { sendResponse: false })
  expect((await copyOf(FINN)).responseStatus.response).toBe('tentativelyAccepted')
  expect((await copyOf(EVA)).attendees).toMatchObject([{ status: { response: 'none' } }])
  await done(FINN, 'POST', `events/${id}/decline`)
  expect((await done(FINN, 'GET', 'events')).value).toEqual([])
  expect((await copyOf(EVA)).attendees).toMatchObject([{ status: { response: 'declined' } }])
  expect(await subjectsOf(EVA)).toEqual(['Declined: Planning'])
})

test('responds to one occurrence of a series alone', async () => {
  await invite(series('2026-12-01', { type: 'daily' }, 3))
  const query = 'startDateTime=2026-12-01&endDateTime=2027-01-01'
  const occurrences = async (user: string) => (await done(user, 'GET', `calendarView?${query}`)).value
  const [, second] = await occurrences(FINN)
  await done(FINN, 'POST', `events/${second.id}/accept`)
  const responses = (await occurrences(EVA)).map((one: Parsed) => one.attendees[0].status.response)
  expect(responses).toEqual(['none', 'accepted', 'none'])
})

test('cancels a meeting for its attendees, and for those who are none any more', async () => {
  const { id } = await invite()
  await done(EVA, 'PATCH', `events/${id}`, { attendees: [] })
  const canceled = { subject: 'Canceled: Planning', isCancelled: true, showAs: 'free' }
  expect(await copyOf(FINN)).toMatchObject(canceled)
  await done(EVA, 'PATCH', `events/${id}`, { attendees: [attendee(FINN)] })
  expect(await copyOf(FINN)).toMatchObject({ subject: 'Planning', isCancelled: false })
  const refused = await office.ask(FINN, 'POST', `events/${(await copyOf(FINN)).id}/cancel`)
  expect([refused.status, refused.data.error.message]).toEqual([400, expect.stringContaining('organizer')])
  await done(EVA, 'POST', `events/${id}/cancel`, { comment: 'Sorry' })
  expect((await done(EVA, 'GET', 'events')).value).toEqual([])
  expect(await copyOf(FINN)).toMatchObject(canceled)
  expect(await subjectsOf(FINN)).toEqual(['Canceled: Planning', 'Planning', 'Canceled: Planning', 'Planning'])
})

test('does not let the organizer respond', async () => {
  const { id } = await invite()
  const { status, data } = await office.ask(EVA, 'POST', `events/${id}/accept`)
  expect([status, data.error.message]).toEqual([400, expect.stringContaining('organizer')])
})

test('mails an invitation to a user of another provider', async () => {
  const monthly = { recurrence: recurrenceOf('2026-12-31', { type: 'absoluteMonthly', dayOfMonth: 31 }, 3) }
  await invite({ ...hour('2026-12-31'), ...monthly }, [ADA])
  const token = (
    await office.control('POST', '/grants', {
      user: ADA,
      clientId: 'sandbox',
      scopes: ['https://www.googleapis.com/auth/gmail.readonly'],
    })
  ).data.accessToken
  const origin = office.sandbox.hosts['gmail.googleapis.com']
  const read = async (path: string) =>
    (
      await fetch(`${origin}/gmail/v1/users/me/${path}`, { headers: { authorization: `Bearer ${token}` } })
    ).json()
  const { messages } = (await read('messages')) as { messages: { id: string }[] }
  const { raw } = (await read(`messages/${messages[0]?.id}?format=raw`)) as { raw: string }
  const mime = Buffer.from(raw, 'base64url').toString().replaceAll('\r\n ', '')
  expect(mime).toContain('RRULE:FREQ=MONTHLY;BYMONTHDAY=28,29,30,31;BYSETPOS=-1;INTERVAL=1;COUNT=3\r\n')
  expect(mime).toContain('DTSTART;TZID=Europe/Berlin:20261231T090000')
})

test('notes the response that a mail from outside brings', async () => {
  const { iCalUId } = await invite(series('2026-12-01', { type: 'daily' }, 2), [ADA])
  const reply = (partStat: string, member: string) =>
    letter(
      { From: ADA, To: EVA, Subject: 'Re: Planning', 'Content-Type': 'text/calendar; method=REPLY' },
      [
        'BEGIN:VCALENDAR',
        'METHOD:REPLY',
        'BEGIN:VEVENT',
        `UID:${iCalUId}`,
        ...(member === '' ? [] : [`RECURRENCE-ID;TZID=Europe/Berlin:${member}`]),
        `ATTENDEE;PARTSTAT=${partStat}:mailto:${ADA}`,
        'END:VEVENT',
        'END:VCALENDAR',
      ].join('\r\n'),
    )
  const { world } = office.sandbox
  const receive = (message: Buffer) =>
    world.post.deliver(requireUser(world.users, EVA), { message, from: null })
  receive(reply('TENTATIVE', ''))
  receive(reply('DECLINED', '20261202T090000'))
  const query = 'startDateTime=2026-12-01&endDateTime=2027-01-01'
  const { value } = await done(EVA, 'GET', `calendarView?${query}`)
  expect(value.map((one: Parsed) => one.attendees[0].status.response)).toEqual([
    'tentativelyAccepted',
    'declined',
  ])
})

test('makes a Teams meeting, which ends with its block in the body', async () => {
  const made = await done(EVA, 'POST', 'events', { ...hour('2026-12-01'), isOnlineMeeting: true })
  expect(made).toMatchObject({ isOnlineMeeting: true, onlineMeetingProvider: 'teamsForBusiness' })
  const { joinUrl } = made.onlineMeeting
  expect(made.body.content).toContain(joinUrl)
  const path = `events/${made.id}`
  const kept = { contentType: 'html', content: `${made.body.content}<p>Agenda</p>` }
  const changed = await done(EVA, 'PATCH', path, { body: kept })
  validate('event', changed)
  expect(changed.onlineMeeting).toEqual({ joinUrl })
  const lost = await done(EVA, 'PATCH', path, { body: { contentType: 'html', content: 'Agenda' } })
  expect(lost).toMatchObject({ isOnlineMeeting: false, onlineMeeting: null })
})

test('shows when people are busy, and the reason only to users who may see it', async () => {
  await done(FINN, 'POST', 'events', { ...hour('2026-12-01', 10), subject: 'Dentist' })
  await done(FINN, 'POST', 'events', { ...hour('2026-12-01', 11), showAs: 'free' })
  const asked = (schedules: string[], end = '2026-12-01T13:00:00') =>
    office.ask(EVA, 'POST', 'calendar/getSchedule', {
      schedules,
      startTime: at('2026-12-01T09:00:00'),
      endTime: at(end),
      availabilityViewInterval: 60,
    })
  const { data } = await asked([FINN, 'nobody@office.test'])
  for (const schedule of data.value) validate('schedule', schedule)
  expect(data.value).toMatchObject([
    { scheduleId: FINN, availabilityView: '0200', scheduleItems: [{ status: 'busy' }, { status: 'free' }] },
    { scheduleId: 'nobody@office.test', error: { responseCode: 'ErrorMailRecipientNotFound' } },
  ])
  expect(data.value[0].scheduleItems[0]).not.toHaveProperty('subject')
  await office.control('POST', '/graph/calendar-shares', { owner: FINN, user: EVA, role: 'read' })
  expect((await asked([FINN])).data.value[0].scheduleItems[0].subject).toBe('Dentist')
  expect((await asked([FINN], '2027-03-01T00:00:00')).status).toBe(400)
  const many = await asked(Array.from({ length: 21 }, (_, index) => `a${index}@office.test`))
  expect(many.data.value[0].error.responseCode).toBe('ErrorTooManyAttendees')
})

test('shows a shared calendar by the role that its owner gave', async () => {
  await done(FINN, 'POST', 'events', { ...hour('2026-12-01', 9), subject: 'Dentist' })
  await done(FINN, 'POST', 'events', { ...hour('2026-12-01', 12), subject: 'Secret', sensitivity: 'private' })
  const share = async (role: string | null) => {
    const answer = await office.control('POST', '/graph/calendar-shares', { owner: FINN, user: EVA, role })
    expect(answer.status).toBe(204)
  }
  await share('freeBusyRead')
  const shared = (await done(EVA, 'GET', 'calendars')).value[1]
  expect(shared).toMatchObject({ canEdit: false, canShare: false, owner: { address: FINN } })
  const path = `calendars/${shared.id}/events`
  const subjects = async () =>
    (await done(EVA, 'GET', `${path}?$orderby=start/dateTime`)).value.map(({ subject }: Parsed) => subject)
  expect(await subjects()).toEqual(['Busy', 'Busy'])
  await share('read')
  expect(await subjects()).toEqual(['Dentist', 'Busy'])
  expect((await office.ask(EVA, 'POST', path, hour('2026-12-02'))).status).toBe(403)
  await share('write')
  const added = await done(EVA, 'POST', path, { ...hour('2026-12-02'), subject: 'Added' })
  expect((await office.ask(EVA, 'GET', `events/${added.id}`)).status).toBe(404)
  expect((await done(EVA, 'GET', `${path}/${added.id}`)).organizer.emailAddress.address).toBe(FINN)
  expect((await done(FINN, 'GET', `events/${added.id}`)).subject).toBe('Added')
  await share(null)
  expect((await done(EVA, 'GET', 'calendars')).value).toHaveLength(1)
})

test.each([EVA, 'hugo@agency.test', 'jun@shanghai.test'])(
  "is followed by Microsoft's own client as %s",
  async user => {
    const client: Client = await office.client(user)
    for (let day = 1; day <= 12; day += 1)
      await client.api('/me/events').post(hour(`2026-12-${String(day).padStart(2, '0')}`))
    const page = await client
      .api('/me/calendarView/delta')
      .query({ startDateTime: '2026-12-01T00:00:00Z', endDateTime: '2027-01-01T00:00:00Z' })
      .header('Prefer', 'odata.maxpagesize=5')
      .get()
    const seen: Event[] = []
    const iterator = new PageIterator(client, page, (event: Event) => seen.push(event) > 0)
    await iterator.iterate()
    expect(seen).toHaveLength(12)
    const [first] = seen
    await client.api(`/me/events/${first?.id}`).patch({ subject: 'Renamed' })
    const later = await client.api(iterator.getDeltaLink() ?? '').get()
    expect(later.value).toMatchObject([{ id: first?.id, subject: 'Renamed' }])
  },
)
