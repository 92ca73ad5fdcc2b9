import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openTcpDoor } from '../servers/tcp-door.ts'
import { openWorld } from '../servers/world.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { openSyncApp, readFeed, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { dayAhead, readTakingPlace, waitForCalendars } from './caldav-account.ts'
import { invitationMail, type MailedLines } from './invitation-mail.ts'

/** The moment at which the next look at an invitation ends as if its process died. */
let dyingAt: string | null = null
const opened = useServer(() =>
  openSyncApp({
    roles: ['api', 'sync', 'jobs'],
    async reachPoint(point) {
      if (point !== dyingAt) return
      dyingAt = null
      throw new Error('the process died')
    },
  }),
)
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

const BOB = 'bob@partner.example'

/** An account with mail at Dovecot and a calendar at Radicale, and the other side of its mailbox. */
async function openAccount(davUrl: URL = radicale().url) {
  const app = opened()
  const user = await dovecot().addUser()
  const davUser = await radicale().addUser()
  const client = davTestClient(radicale(), davUser)
  const calendarPath = await client.makeCalendar('team')
  await using moving = new AsyncDisposableStack()
  const world = moving.use(await openWorld(dovecot(), user))
  const connection = connectionWithDav(dovecot(), user, {
    dav: { ...radicale(), url: davUrl },
    davUser,
    half: 'calendarUrl',
  })
  const { body: account } = await app.post<Account>('/v1/imap-accounts', connection)
  await waitForFirstSync(app, account.id)
  await waitForCalendars(app, account.id)
  const path = `/v1/accounts/${account.id}`
  const { body } = await app.get<{ items: Calendar[] }>(`${path}/calendars`)
  const calendarId = body.items[0]!.id
  const owner = moving.move()
  return {
    app,
    accountId: account.id,
    path,
    email: user.email,
    calendarId,
    calendarPath,
    client,
    world,
    events: () => readTakingPlace(app, account.id),
    waitUntilTaken,
    /** Delivers mails, and waits until all of them were looked at. */
    async deliver(sources: readonly string[], mailbox = 'INBOX') {
      const before = await countArrivals()
      await world.deliver(
        sources.map(raw => ({ raw })),
        mailbox,
      )
      await waitUntil('the arrivals', async () => (await countArrivals()) >= before + sources.length)
      await waitUntilTaken()
    },
    [Symbol.asyncDispose]: () => owner.disposeAsync(),
  }

  async function countArrivals(): Promise<number> {
    const { events } = await readFeed(app)
    return events.filter(({ type, accountId }) => type === 'message.created' && accountId === account.id)
      .length
  }

  async function waitUntilTaken(): Promise<void> {
    await waitUntil('the look at all invitations', async () => {
      const { rows } = await sql<{ isDone: boolean }>`
        select not exists (select from pending_invitation) and not exists (
          select from event left join event_follower as follower
            on follower.tenant_id = event.tenant_id and follower.name = 'invitations'
          where event.type = 'message.created' and event.tenant_id = ${app.tenantId}
            and event.id > coalesce(follower.after_id, 0)
        ) as "isDone"
      `.execute(app.db)
      return rows[0]?.isDone
    })
  }
}

/** A colleague may invite without having been written to. */
const colleagueOf = (email: string) => `colleague@${email.split('@')[1]}`

const inShort = ({ subject, status, selfResponse }: CalendarEvent) => ({ subject, status, selfResponse })

test('an invitation by mail enters the calendar, is changed, and is cancelled, in the file, the index and the feed', async () => {
  await using account = await openAccount()
  const { app, email, path } = account
  const organizer = colleagueOf(email)
  const lines: MailedLines = {
    method: 'REQUEST',
    organizer,
    attendee: email,
    uid: 'lunch@partner',
    start: `${dayAhead(5)}T110000Z`,
    subject: 'Lunch',
    minute: 10,
  }
  await account.deliver([invitationMail(lines)])
  const [invited] = await account.events()
  expect(invited).toMatchObject({
    subject: 'Lunch',
    selfResponse: 'needs_action',
    isOrganizer: false,
    organizer: { address: organizer },
    calendarId: account.calendarId,
  })
  const accepted = await app.post<CalendarEventWithBody>(`${path}/calendar-events/${invited!.id}/respond`, {
    response: 'accepted',
    notify: false,
  })
  expect(accepted).toMatchObject({ status: 200, body: { selfResponse: 'accepted' } })

  // Twice is once, and an older one is none.
  const moved = { ...lines, start: `${dayAhead(6)}T110000Z`, sequence: 1, minute: 20 }
  await account.deliver([invitationMail(moved), invitationMail(moved), invitationMail(lines)])
  expect((await account.events()).map(inShort)).toEqual([
    { subject: 'Lunch', status: 'confirmed', selfResponse: 'needs_action' },
  ])
  const cancel: MailedLines = { ...moved, method: 'CANCEL', sequence: 2, minute: 30 }
  await account.deliver([invitationMail({ ...cancel, from: 'eve@partner.example' })])
  expect((await account.events()).map(({ status }) => status)).toEqual(['confirmed'])
  await account.deliver([invitationMail(cancel)])
  expect((await account.events()).map(({ status }) => status)).toEqual(['cancelled'])
  await expectEqualCalendars(app, account.accountId)

  const { events } = await readFeed(app)
  const told = events.filter(
    ({ type, accountId }) => type.startsWith('calendar_event.') && accountId === account.accountId,
  )
  expect(told.map(({ type }) => type)).toEqual([
    'calendar_event.created',
    'calendar_event.updated',
    'calendar_event.updated',
    'calendar_event.updated',
  ])
  expect(told[3]!.data.changes).toContain('status')
})

test('one occurrence is moved and another one cancelled', async () => {
  await using account = await openAccount()
  const organizer = colleagueOf(account.email)
  const series: MailedLines = {
    method: 'REQUEST',
    organizer,
    attendee: account.email,
    uid: 'daily@partner',
    start: `${dayAhead(5)}T110000Z`,
    subject: 'Daily',
    minute: 10,
    more: ['RRULE:FREQ=DAILY;COUNT=3'],
  }
  const at = (days: number, hour = 11) => `${dayAhead(days)}T${hour}0000Z`
  const one = (days: number, given: Partial<MailedLines>): MailedLines => {
    const { more: _, ...rest } = series
    return { ...rest, start: at(days), more: [`RECURRENCE-ID:${at(days)}`], minute: 20, ...given }
  }
  await account.deliver([
    invitationMail(series),
    invitationMail(one(6, { subject: 'Moved', start: at(6, 15) })),
    invitationMail(one(7, { method: 'CANCEL', sequence: 1 })),
  ])
  const found = await account.events()
  expect(found.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
    'occurrence Daily',
    'exception Moved',
  ])
  expect(found[1]!.start.dateTime).toMatch(/T15:00/)
  await expectEqualCalendars(account.app, account.accountId)
})

test('answers of attendees are noted, and those of others are not', async () => {
  await using account = await openAccount()
  const { app, path, email } = account
  const created = await app.post<CalendarEventWithBody>(`${path}/calendar-events`, {
    calendarId: account.calendarId,
    subject: 'Review',
    start: { dateTime: new Date(Date.now() + 5 * 86_400_000).toISOString(), timeZone: 'UTC' },
    end: { dateTime: new Date(Date.now() + 5 * 86_400_000 + 3_600_000).toISOString(), timeZone: 'UTC' },
    attendees: [{ address: BOB }, { address: 'carol@partner.example' }],
    notify: false,
  })
  expect(created.status).toBe(200)
  const reply = (from: string, status: string, minute: number): string =>
    invitationMail({
      method: 'REPLY',
      organizer: email,
      attendee: from,
      from,
      status,
      uid: created.body.iCalUid!,
      start: `${dayAhead(5)}T110000Z`,
      subject: 'Review',
      minute,
    })
  const forged = reply('carol@partner.example', 'DECLINED', 10).replace(
    'Subject:',
    'Authentication-Results: mx.example; dmarc=fail (p=none) header.from=partner.example\r\nSubject:',
  )
  await account.deliver([
    reply(BOB, 'ACCEPTED', 20),
    reply(BOB, 'DECLINED', 10),
    reply('eve@x.example', 'ACCEPTED', 10),
    forged,
  ])
  const [event] = await account.events()
  expect(event!.attendees.map(({ address, response }) => `${address} ${response}`).toSorted()).toEqual([
    'bob@partner.example accepted',
    'carol@partner.example needs_action',
  ])
  // A request for an event of the account's own is an attempt to take it over.
  await account.deliver([
    invitationMail({
      method: 'REQUEST',
      organizer: colleagueOf(email),
      attendee: email,
      uid: created.body.iCalUid!,
      start: `${dayAhead(5)}T110000Z`,
      subject: 'Taken over',
      sequence: 99,
      minute: 50,
    }),
  ])
  expect((await account.events()).map(({ subject }) => subject)).toEqual(['Review'])
  await expectEqualCalendars(app, account.accountId)
})

test('invitations of strangers and those in junk stay messages, and those of people written to do not', async () => {
  await using account = await openAccount()
  const { world, email } = account
  const lines = (organizer: string, subject: string): MailedLines => ({
    method: 'REQUEST',
    organizer,
    attendee: email,
    uid: `${subject}@partner`,
    start: `${dayAhead(5)}T110000Z`,
    subject,
    minute: 10,
  })
  const written = (subject: string, mailbox: string) =>
    world.deliver(
      { raw: `From: ${email}\r\nTo: Dan <Dan@stranger.example>\r\nSubject: ${subject}\r\n\r\nHello.\r\n` },
      mailbox,
    )
  const untilRead = (subject: string) =>
    waitUntil(`the message ${subject}`, async () => {
      const { events } = await readFeed(account.app)
      return events.some(({ data }) => data.message?.subject === subject)
    })
  // Anybody can write such a From.
  await written('Forged', 'INBOX')
  await untilRead('Forged')
  await account.deliver([invitationMail(lines('dan@stranger.example', 'Spam'))])
  await account.deliver([invitationMail(lines(colleagueOf(email), 'Junk'))], world.at('Junk'))
  expect(await account.events()).toEqual([])
  await written('Hello', world.at('Sent'))
  await untilRead('Hello')
  // The beginning that is fetched of each message shows neither calendar object.
  const text = 'A long text.\r\n'.repeat(2_000)
  await account.deliver([
    invitationMail({ ...lines('dan@stranger.example', 'Known'), text }),
    invitationMail({ ...lines('dan@stranger.example', 'Known as well'), text, hasFile: true }),
  ])
  expect((await account.events()).map(({ subject }) => subject).toSorted()).toEqual([
    'Known',
    'Known as well',
  ])
})

/** Makes invitations that wait for another try due, again and again. */
function hurry({ db }: { db: Db }): Disposable {
  const make = () =>
    sql`update pending_invitation set due_at = clock_timestamp() where claimed_by is null`.execute(db)
  const timer = setInterval(() => void make().catch(() => undefined), 100)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

test('the end of an event that is read before its invitation ends the event all the same', async () => {
  await using door = await openTcpDoor(Number(radicale().url.port))
  const url = new URL(radicale().url)
  url.port = String(door.port)
  await using account = await openAccount(url)
  const { app, accountId, world, email } = account
  const invitation: MailedLines = {
    method: 'REQUEST',
    organizer: colleagueOf(email),
    attendee: email,
    uid: 'overtaken@partner',
    start: `${dayAhead(5)}T110000Z`,
    subject: 'Overtaken',
    minute: 10,
  }
  const tried = (count: number) =>
    waitUntil(`tries to take ${count}`, async () => {
      const { rows } = await sql`
        select from pending_invitation where account_id = ${accountId} and attempts > 0 and claimed_by is null
      `.execute(app.db)
      return rows.length === count
    })
  // Nobody listens there.
  door.leadTo(1)
  await world.deliver({ raw: invitationMail(invitation) })
  await tried(1)
  await world.deliver({ raw: invitationMail({ ...invitation, method: 'CANCEL', sequence: 1, minute: 20 }) })
  await tried(2)
  door.leadTo(Number(radicale().url.port))
  // The cancellation is due first.
  await sql`
    update pending_invitation set due_at = clock_timestamp()
    where account_id = ${accountId} and created_at = (
      select max(created_at) from pending_invitation where account_id = ${accountId})
  `.execute(app.db)
  await waitUntil('a look at the cancellation', async () => {
    const { rows } = await sql<{ attempts: number }>`
      select attempts from pending_invitation where account_id = ${accountId} order by created_at desc limit 1
    `.execute(app.db)
    return (rows[0]?.attempts ?? 0) > 1
  })
  using _hurrying = hurry(app)
  await account.waitUntilTaken()
  await waitUntil('the event', async () => (await account.events()).length > 0)
  expect((await account.events()).map(inShort)).toMatchObject([{ subject: 'Overtaken', status: 'cancelled' }])
})

test('an invitation enters once if its process dies between the file and the index', async () => {
  await using account = await openAccount()
  const { app, email, accountId } = account
  dyingAt = 'invitation_commit'
  using _hurrying = hurry(app)
  const invitation = invitationMail({
    method: 'REQUEST',
    organizer: colleagueOf(email),
    attendee: email,
    uid: 'crash@partner',
    start: `${dayAhead(5)}T110000Z`,
    subject: 'Once',
    minute: 10,
  })
  await account.deliver([invitation])
  expect(dyingAt).toBe(null)
  await app.post(`${account.path}/sync`, { kinds: ['calendar'] })
  await waitUntil('the event', async () => (await account.events()).length > 0)
  await expectEqualCalendars(app, accountId)
  const { events } = await readFeed(app)
  const told = events.filter(
    event => event.accountId === accountId && event.type.startsWith('calendar_event.'),
  )
  expect(told.map(({ type }) => type)).toEqual(['calendar_event.created'])
})
