import { beforeEach, expect, test } from 'vitest'
import { requireUser } from '../../src/world/users.ts'
import { type Event, hourOn, refusal, type TestClient, useCalendar } from './use-calendar.ts'

const used = useCalendar()
const { api } = used
const calendarId = 'primary'

type Called = Promise<{ status: number; data: unknown }>

let ann: string
let bob: string
let cid: string
let organizer: TestClient
let guest: TestClient
beforeEach(async () => {
  ;[ann, bob, cid] = await used.addUsers('ann', 'bob', 'cid')
  organizer = await used.client(ann)
  guest = await used.client(bob)
})

const to = (...emails: string[]) => ({ attendees: emails.map(email => ({ email })) })
const responsesIn = ({ attendees }: Event) =>
  attendees?.map(({ email, responseStatus }) => [email, responseStatus])
const invite = async (event: Event = {}) =>
  (await organizer.insert({ ...hourOn(1), summary: 'Plans', ...to(bob, cid), ...event })).id ?? ''
const answer = (id: string, responseStatus: string, client = guest, email = bob) =>
  client.get(id).then(({ attendees = [] }) =>
    client.patch(id, {
      attendees: attendees.map(one => (one.email === email ? { ...one, responseStatus } : one)),
    }),
  )
const mailsOf = (user: string) => {
  const mailbox = api.google.gmail.mailboxOf(requireUser(api.box.sandbox.world.users, user))
  return [...mailbox.messages.values()].map(({ raw }) => raw.toString())
}

test('places a copy in the calendar of each attendee, and brings responses to everyone', async () => {
  const id = await invite()
  const copy = await guest.get(id)
  expect(copy).toMatchObject({ summary: 'Plans', organizer: { email: ann }, iCalUID: `${id}@google.com` })
  expect(copy.organizer?.self).toBeUndefined()
  expect(copy.attendees).toMatchObject([
    { email: bob, self: true, responseStatus: 'needsAction' },
    { email: cid, responseStatus: 'needsAction' },
  ])
  const { syncToken } = await organizer.sync()
  await answer(id, 'accepted')
  const expected = [
    [bob, 'accepted'],
    [cid, 'needsAction'],
  ]
  expect((await organizer.sync({ syncToken })).items.map(responsesIn)).toEqual([expected])
  expect(responsesIn(await (await used.client(cid)).get(id))).toEqual(expected)
})

test('lets an attendee change what is their own, and nothing else', async () => {
  const id = await invite()
  const patch = (requestBody: Event) =>
    guest.api.events.patch({ calendarId, eventId: id, requestBody }, api.options) as Called
  for (const change of [{ summary: 'Mine' }, hourOn(2), to(bob), { location: 'Here' }])
    expect(await refusal(patch(change))).toEqual([403, 'forbiddenForNonOrganizer'])
  expect((await patch({ colorId: '5', reminders: { useDefault: false } })).status).toBe(200)
  await organizer.patch(id, { summary: 'New plans', colorId: '7' })
  expect(await guest.get(id)).toMatchObject({ summary: 'New plans', colorId: '5' })
})

test('loses responses that the organizer does not send back', async () => {
  const id = await invite()
  await answer(id, 'accepted')
  await organizer.patch(id, to(bob))
  expect(responsesIn(await guest.get(id))).toEqual([[bob, 'needsAction']])
  expect((await (await used.client(cid)).get(id)).status).toBe('cancelled')
})

test('declines for an attendee who deletes the event, and cancels for all when the organizer does', async () => {
  const id = await invite()
  await guest.remove(id)
  expect(responsesIn(await organizer.get(id))?.[0]).toEqual([bob, 'declined'])
  await organizer.patch(id, { location: 'Room 1' })
  expect((await guest.get(id)).status).toBe('cancelled')
  await organizer.remove(id)
  expect((await (await used.client(cid)).get(id)).status).toBe('cancelled')
})

test('answers one instance of a series, and invites to one only', async () => {
  const id = await invite({ recurrence: ['RRULE:FREQ=DAILY;COUNT=3'], ...to(bob) })
  const instance = `${id}_20261202T080000Z`
  await answer(instance, 'declined')
  expect(responsesIn(await organizer.get(instance))).toEqual([[bob, 'declined']])
  expect(responsesIn(await organizer.get(id))).toEqual([[bob, 'needsAction']])
  const last = `${id}_20261203T080000Z`
  await organizer.patch(last, to(bob, cid))
  const { items } = await (await used.client(cid)).sync()
  expect(items.map(one => [one.id, one.recurringEventId])).toEqual([[last, id]])
})

test('mails those who are to be told, and nobody of a change that concerns nobody else', async () => {
  const eva = 'eva@office.test'
  const id = await invite(to(bob, eva))
  expect(mailsOf(bob)).toEqual([])
  await organizer.patch(id, { colorId: '3' }, { sendUpdates: 'all' })
  await organizer.patch(id, { summary: 'Grüße, all' }, { sendUpdates: 'externalOnly' })
  expect(mailsOf(bob)).toEqual([])
  await organizer.patch(id, { location: 'Room 2' }, { sendUpdates: 'all' })
  await organizer.patch(id, to(eva), { sendUpdates: 'all' })
  const mails = mailsOf(bob)
  expect(mails.map(mail => /method=(\w+)/.exec(mail)?.[1])).toEqual(['REQUEST', 'CANCEL'])
  expect(mails[0]?.replaceAll('\r\n ', '')).toContain(`UID:${id}@google.com`)
})
