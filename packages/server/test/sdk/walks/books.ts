import { expect } from 'vitest'
import { dayAhead, waitForCalendars, waitForSubjects } from '../../calendars/caldav-account.ts'
import { waitForContacts, waitForNames } from '../../contacts/carddav-account.ts'
import { davTestClient } from '../../servers/dav-client.ts'
import { calendarFile, eventText } from '../../servers/event-text.ts'
import { startRadicale } from '../../servers/radicale.ts'
import type { SdkWorld } from './world.ts'

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** An account with an address book and a calendar, in which it is invited. */
async function openBooks({ app, waxwing, account }: SdkWorld) {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startRadicale())
  const { accountId, email } = await account()
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  const card = ['VERSION:3.0', 'UID:grace', 'FN:Grace Hopper', `PHOTO;ENCODING=b;TYPE=PNG:${PIXEL}`]
  await client.put(
    `${await client.makeBook('people')}grace.vcf`,
    ['BEGIN:VCARD', ...card, 'END:VCARD', ''].join('\r\n'),
  )
  const people = ['ORGANIZER:mailto:boss@example.com', `ATTENDEE:mailto:${email}`]
  const times = [`DTSTART:${dayAhead(3)}T090000Z`, 'DURATION:PT1H']
  const asked = calendarFile([eventText('asked', [...times, ...people, 'SUMMARY:Asked'])])
  await client.put(`${await client.makeCalendar('work')}asked.ics`, asked)
  const { user, password } = davUser
  const dav = { calendarUrl: server.url.href, contactsUrl: server.url.href, user, password }
  await waxwing.accounts.updateImapSettings({ accountId, dav })
  await waitForContacts(app, accountId)
  await waitForCalendars(app, accountId)
  const owned = opened.move()
  return { accountId, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Contacts by CardDAV. */
export async function walkContacts(world: SdkWorld): Promise<void> {
  const { waxwing, check } = world
  await using books = await openBooks(world)
  const { accountId } = books
  const path = `/accounts/${accountId}/contacts` as const
  const [grace] = await waitForNames(world.app, accountId, ['Grace Hopper'])
  const graceId = grace?.id ?? ''
  const photo = await check('contacts.photo', `GET ${path}/${graceId}/photo`, () =>
    waxwing.contacts.photo({ accountId, contactId: graceId }),
  )
  expect(Buffer.from(await photo.bytes()).toString('base64')).toBe(PIXEL)
  const contact = { displayName: 'Ada', emails: [{ address: 'ada@example.org' }] }
  const { id: contactId } = await check(
    'contacts.create',
    `POST ${path}`,
    () => waxwing.contacts.create({ accountId, ...contact }),
    contact,
  )
  const change = { nickname: 'Countess', emails: [] }
  await check(
    'contacts.update',
    `PATCH ${path}/${contactId}`,
    () => waxwing.contacts.update({ accountId, contactId, ...change }),
    change,
  )
  await check('contacts.get', `GET ${path}/${contactId}`, () =>
    waxwing.contacts.get({ accountId, contactId }),
  )
  const { items } = await check('contacts.list', `GET ${path}?q=Countess&limit=5`, () =>
    waxwing.contacts.list({ accountId, q: 'Countess', limit: 5 }),
  )
  expect(items.map(({ displayName }) => displayName)).toEqual(['Ada'])
  const folders = await check('contactFolders.list', `GET /accounts/${accountId}/contact-folders`, () =>
    waxwing.contactFolders.list({ accountId }),
  )
  expect(folders.items).toHaveLength(1)
  await check('contacts.delete', `DELETE ${path}/${contactId}`, () =>
    waxwing.contacts.delete({ accountId, contactId }),
  )
}

/** Calendars, their events and free times, by CalDAV. */
export async function walkCalendars(world: SdkWorld): Promise<void> {
  const { waxwing, check } = world
  await using books = await openBooks(world)
  const { accountId } = books
  const [invited] = await waitForSubjects(world.app, accountId, ['Asked'])
  const account = `/accounts/${accountId}` as const
  const calendar = { name: 'Team', color: '#0088ff' }
  const { id: calendarId } = await check(
    'calendars.create',
    `POST ${account}/calendars`,
    () => waxwing.calendars.create({ accountId, ...calendar }),
    calendar,
  )
  const named = { name: 'Crew', color: null }
  await check(
    'calendars.update',
    `PATCH ${account}/calendars/${calendarId}`,
    () => waxwing.calendars.update({ accountId, calendarId, ...named }),
    named,
  )
  const { items } = await check('calendars.list', `GET ${account}/calendars`, () =>
    waxwing.calendars.list({ accountId }),
  )
  expect(items.map(({ name }) => name)).toContain('Crew')
  await walkEvents(world, { accountId, calendarId, invitedId: invited?.id ?? '' })
  const [start, end] = [isoAhead(3), isoAhead(4)]
  const question = { start, end, durationMinutes: 60, hours: { mon: [] }, timeZone: 'Europe/Berlin' }
  await check(
    'availability.find',
    `POST ${account}/availability/find`,
    () => waxwing.availability.find({ accountId, ...question }),
    question,
  )
  const shared = { start, end, accountIds: [accountId], mode: 'any' as const }
  await check(
    'availability.findShared',
    'POST /availability/find',
    () => waxwing.availability.findShared(shared),
    shared,
  )
  await check('calendars.delete', `DELETE ${account}/calendars/${calendarId}`, () =>
    waxwing.calendars.delete({ accountId, calendarId }),
  )
}

const isoAhead = (days: number) => dayAhead(days).replace(/^(....)(..)(..)$/, '$1-$2-$3') + 'T00:00:00Z'

async function walkEvents(
  { waxwing, check }: SdkWorld,
  { accountId, calendarId, invitedId }: { accountId: string; calendarId: string; invitedId: string },
): Promise<void> {
  const path = `/accounts/${accountId}/calendar-events` as const
  const answer = { response: 'accepted' as const, notify: false }
  await check(
    'calendarEvents.respond',
    `POST ${path}/${invitedId}/respond`,
    () => waxwing.calendarEvents.respond({ accountId, eventId: invitedId, ...answer }),
    answer,
  )
  const start = { dateTime: isoAhead(5) }
  const event = { calendarId, start, end: { dateTime: isoAhead(6) }, subject: 'Ours' }
  const { id: eventId } = await check(
    'calendarEvents.create',
    `POST ${path}`,
    () => waxwing.calendarEvents.create({ accountId, ...event }),
    event,
  )
  const change = { subject: 'Theirs', location: null }
  await check(
    'calendarEvents.update',
    `PATCH ${path}/${eventId}?scope=series`,
    () => waxwing.calendarEvents.update({ accountId, eventId, scope: 'series', ...change }),
    change,
  )
  await check('calendarEvents.get', `GET ${path}/${eventId}`, () =>
    waxwing.calendarEvents.get({ accountId, eventId }),
  )
  const range = { start: isoAhead(1), end: isoAhead(20), calendarId, limit: 5 }
  const query = new URLSearchParams({ ...range, limit: '5' })
  const { items } = await check('calendarEvents.list', `GET ${path}?${query}`, () =>
    waxwing.calendarEvents.list({ accountId, ...range }),
  )
  expect(items.map(({ subject }) => subject)).toEqual(['Theirs'])
  await check('calendarEvents.delete', `DELETE ${path}/${eventId}?scope=series&notify=false`, () =>
    waxwing.calendarEvents.delete({ accountId, eventId, scope: 'series', notify: false }),
  )
}
