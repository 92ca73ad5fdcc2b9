import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { describe, expect, test } from 'vitest'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import type { DavTestServer } from '../servers/dav-test-server.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { calendarFile, eventText } from '../servers/event-text.ts'
import type { TestUser } from '../servers/mail-server.ts'
import { type PostfixServer, startPostfix } from '../servers/postfix.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { countQueued, valueOf, waitForInvitations } from './arrived-invitations.ts'
import { dayAhead, readTakingPlace, waitForCalendars, waitForSubjects } from './caldav-account.ts'

const opened = useServer(() => openSyncApp({ roles: ['api', 'sync', 'jobs'] }))
const mail = useServer(async () => {
  const dovecot = await startDovecot()
  const postfix = await startPostfix(dovecot)
  const end = async () => {
    await postfix[Symbol.asyncDispose]()
    await dovecot[Symbol.asyncDispose]()
  }
  return { dovecot, postfix, [Symbol.asyncDispose]: end }
})
const radicale = useServer(startRadicale)

const DAY = dayAhead(10).replace(/^(....)(..)(..)$/, '$1-$2-$3')
const at = (hour: string, day = DAY) => ({ dateTime: `${day}T${hour}:00:00`, timeZone: 'Europe/Berlin' })
const inviting = (...users: TestUser[]) => users.map(({ email }) => ({ address: email }))

/** An account with a calendar at a DAV server, whose mail goes through Postfix. */
async function connect(
  server: DavTestServer,
  {
    smtp = mail().postfix,
    filesFor,
  }: {
    smtp?: Pick<PostfixServer, 'port'> | null
    /** Events that are there before. */
    filesFor?: (user: TestUser) => string[]
  } = {},
) {
  const user = await mail().dovecot.addUser()
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  const calendar = await client.makeCalendar('work')
  for (const [nth, file] of (filesFor?.(user) ?? []).entries())
    await client.put(`${calendar}${nth}.ics`, file)
  const connection = connectionWithDav(mail().dovecot, user, { dav: server, davUser, half: 'calendarUrl' })
  const { body: account } = await opened().post<Account>('/v1/imap-accounts', {
    ...connection,
    displayName: 'Ada Lovelace',
    appendSent: false,
    smtp: smtp && { host: '127.0.0.1', port: smtp.port, security: 'none', user: user.user },
  })
  await waitForCalendars(opened(), account.id)
  const path = `/v1/accounts/${account.id}`
  const { body } = await opened().get<{ items: Calendar[] }>(`${path}/calendars`)
  const calendarId = body.items.find(({ canEdit }) => canEdit)!.id
  return { accountId: account.id, user, client, calendar, calendarId, events: `${path}/calendar-events` }
}

const people = () => Promise.all(Array.from({ length: 3 }, () => mail().dovecot.addUser()))
const inShort = (all: Awaited<ReturnType<typeof waitForInvitations>>) =>
  all.map(({ subject, method }) => `${method} ${subject}`)

describe('a server that sends no invitations', () => {
  test('has each person told of what concerns them, once', async () => {
    const app = opened()
    const { accountId, user, calendarId, events } = await connect(radicale())
    const [bob, eve, kim] = (await people()) as [TestUser, TestUser, TestUser]
    const created = await app.post<CalendarEventWithBody>(events, {
      calendarId,
      subject: 'Lunch',
      start: at('12'),
      end: at('13'),
      body: { content: 'With soup' },
      attendees: inviting(bob, eve),
    })
    expect(created).toMatchObject({ status: 200 })
    const event = `${events}/${created.body.id}`
    const change = async (body: Record<string, unknown>) =>
      expect(await app.patch(event, body)).toMatchObject({ status: 200 })
    await change({ location: 'Café' })
    await change({ reminderMinutes: 5, showAs: 'tentative', sensitivity: 'private' })
    await change({ location: 'Café' })
    await change({ attendees: inviting(bob, kim) })
    await change({ subject: 'Secret lunch', notify: false })
    expect((await app.delete(event)).status).toBe(200)

    const [bobs, eves, kims] = await Promise.all([
      waitForInvitations(mail().dovecot, bob, 3),
      waitForInvitations(mail().dovecot, eve, 3),
      waitForInvitations(mail().dovecot, kim, 2),
    ])
    expect(inShort(bobs).toSorted()).toEqual([
      'CANCEL Cancelled: Secret lunch',
      'REQUEST Invitation: Lunch',
      'REQUEST Updated invitation: Lunch',
    ])
    expect(inShort(eves).toSorted()).toEqual([
      'CANCEL Cancelled: Lunch',
      'REQUEST Invitation: Lunch',
      'REQUEST Updated invitation: Lunch',
    ])
    expect(inShort(kims).toSorted()).toEqual(['CANCEL Cancelled: Secret lunch', 'REQUEST Invitation: Lunch'])
    // Two to bob and eve, one to each of eve and kim, and one to bob and kim.
    expect(await countQueued(app.db, accountId)).toBe(5)

    const first = bobs.find(({ subject }) => subject === 'Invitation: Lunch')!
    expect(first).toMatchObject({ from: user.email, to: [bob.email, eve.email].toSorted() })
    expect(first.text).toContain('Ada Lovelace invites you to this event.')
    expect(first.text).toContain('12:00 to 13:00 (Europe/Berlin)')
    expect(first.calendar).toContain(`DTSTART;TZID=Europe/Berlin:${DAY.replaceAll('-', '')}T120000`)
    expect(valueOf(first.calendar, 'ORGANIZER')).toBe(`mailto:${user.email}`)
    const revision = (lines: readonly string[]) => Number(valueOf(lines, 'SEQUENCE'))
    const last = bobs.find(({ method }) => method === 'CANCEL')!
    expect(revision(last.calendar)).toBeGreaterThan(revision(first.calendar))
    expect(valueOf(last.calendar, 'UID')).toBe(valueOf(first.calendar, 'UID'))
  })

  test('has people told of occurrences, of a split and of the end of a series', async () => {
    const app = opened()
    const { accountId, calendarId, events } = await connect(radicale())
    const bob = await mail().dovecot.addUser()
    await app.post<CalendarEventWithBody>(events, {
      calendarId,
      subject: 'Daily',
      start: at('09'),
      end: at('10'),
      recurrence: ['RRULE:FREQ=DAILY;COUNT=6'],
      attendees: inviting(bob),
    })
    const occurrences = await readTakingPlace(app, accountId)
    const of = (nth: number) => `${events}/${occurrences[nth]!.id}`
    expect((await app.patch(of(1), { subject: 'Once' })).status).toBe(200)
    expect((await app.delete(of(2))).status).toBe(200)
    const split = await app.patch<CalendarEventWithBody>(`${of(4)}?scope=following`, { location: 'Bar' })
    expect(split.status).toBe(200)
    expect((await app.delete(`${of(3)}?scope=following`)).status).toBe(200)
    expect((await app.delete(`${events}/${split.body.id}`)).status).toBe(200)

    const arrived = await waitForInvitations(mail().dovecot, bob, 7)
    const about = arrived.map(({ method, subject, event }) => {
      const member = valueOf(event, 'RECURRENCE-ID')?.slice(0, 8)
      const rule = valueOf(event, 'RRULE')?.replace(/T\d{6}Z$/, '')
      return [method, subject.replace(/, \w+day.*/, ''), member ?? rule].join(' ')
    })
    const day = (nth: number) => dayAhead(10 + nth)
    expect(about.toSorted()).toEqual(
      [
        'REQUEST Invitation: Daily FREQ=DAILY;COUNT=6',
        `REQUEST Updated invitation: Once ${day(1)}`,
        `CANCEL Cancelled: Daily ${day(2)}`,
        `REQUEST Updated invitation: Daily FREQ=DAILY;UNTIL=${day(3)}`,
        'REQUEST Invitation: Daily FREQ=DAILY;COUNT=2',
        `REQUEST Updated invitation: Daily FREQ=DAILY;UNTIL=${day(2)}`,
        'CANCEL Cancelled: Daily FREQ=DAILY;COUNT=2',
      ].toSorted(),
    )
    expect(await countQueued(app.db, accountId)).toBe(7)
  })

  test('has organizers told of responses, and of invitations that are deleted', async () => {
    const app = opened()
    const boss = await mail().dovecot.addUser()
    const invitation = (hour: string, { email }: TestUser) =>
      calendarFile([
        eventText(`at-${hour}`, [
          `DTSTART:${dayAhead(5)}T${hour}0000Z`,
          `DTEND:${dayAhead(5)}T${hour}3000Z`,
          `SUMMARY:At ${hour}`,
          'SEQUENCE:4',
          `ORGANIZER;CN=Boss:mailto:${boss.email}`,
          `ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:${email}`,
          'ATTENDEE:mailto:others@example.com',
        ]),
      ])
    const { accountId, user, events } = await connect(radicale(), {
      filesFor: invited => ['08', '10'].map(hour => invitation(hour, invited)),
    })
    const [eight, ten] = await waitForSubjects(app, accountId, ['At 08', 'At 10'])
    const answer = { response: 'accepted', comment: 'Gladly' }
    expect((await app.post(`${events}/${eight!.id}/respond`, answer)).status).toBe(200)
    expect((await app.delete(`${events}/${ten!.id}`)).status).toBe(200)
    const arrived = await waitForInvitations(mail().dovecot, boss, 2)
    expect(inShort(arrived).toSorted()).toEqual(['REPLY Accepted: At 08', 'REPLY Declined: At 10'])
    const accepted = arrived.find(({ subject }) => subject.startsWith('Accepted'))!
    expect(accepted).toMatchObject({ from: user.email, to: [boss.email] })
    expect(accepted.calendar.filter(line => /^(?:ATTENDEE|SEQUENCE|UID|COMMENT)/.test(line))).toEqual([
      'UID:at-08',
      'SEQUENCE:4',
      'COMMENT:Gladly',
      `ATTENDEE;PARTSTAT=ACCEPTED:mailto:${user.email}`,
    ])
    expect(await countQueued(app.db, accountId)).toBe(2)
  })

  test('has 150 people told by two mails', async () => {
    const app = opened()
    const { accountId, calendarId, events } = await connect(radicale())
    const bob = await mail().dovecot.addUser()
    const attendees = Array.from({ length: 150 }, (_, nth) => ({
      address: bob.email.replace('@', `+${nth}@`),
    }))
    const body = { calendarId, subject: 'All', start: at('15'), end: at('16'), attendees }
    expect((await app.post(events, body)).status).toBe(200)
    const arrived = await waitForInvitations(mail().dovecot, bob, 150)
    const batches = new Set(arrived.map(({ to }) => to.join(' ')))
    expect([...batches].map(to => to.split(' ').length).toSorted()).toEqual([100, 50])
    expect(arrived).toHaveLength(150)
    expect(await countQueued(app.db, accountId)).toBe(2)
  })

  test('invites nobody for an account that cannot send mail, and then writes nothing', async () => {
    const app = opened()
    const { accountId, calendarId, client, calendar, events } = await connect(radicale(), { smtp: null })
    const [bob] = (await people()) as [TestUser]
    const body = { calendarId, subject: 'Lunch', start: at('12'), end: at('13'), attendees: inviting(bob) }
    const refused = await app.post(events, body)
    expect(refused).toMatchObject({ status: 400, body: { code: 'provider_unsupported' } })
    expect(await client.get(calendar)).not.toContain('Lunch')
    expect((await app.post(events, { ...body, notify: false })).status).toBe(200)
    expect(await countQueued(app.db, accountId)).toBe(0)
  })
})

test('a server that sends invitations itself has nobody mailed beside it', async () => {
  await using cyrus = await startCyrusDav()
  const app = opened()
  const { accountId, calendarId, events } = await connect(cyrus)
  const [bob] = (await people()) as [TestUser]
  const body = { calendarId, subject: 'Lunch', start: at('12'), end: at('13'), attendees: inviting(bob) }
  const { status, body: created } = await app.post<CalendarEventWithBody>(events, body)
  expect(status).toBe(200)
  expect((await app.patch(`${events}/${created.id}`, { location: 'Bar' })).status).toBe(200)
  expect((await app.delete(`${events}/${created.id}`)).status).toBe(200)
  expect(await countQueued(app.db, accountId)).toBe(0)
})
