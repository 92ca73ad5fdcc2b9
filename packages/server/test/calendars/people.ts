import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import type { TestApp } from '../open-app.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import type { DavTestServer, DavTestUser } from '../servers/dav-test-server.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { openWorld } from '../servers/world.ts'
import { waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { readTakingPlace, waitForCalendars } from './caldav-account.ts'

/** A person whose mailbox and calendar are one account. */
export interface Person {
  name: string
  email: string
  accountId: string
  calendarId: string
  /** The path of the events. */
  path: string
  events(): Promise<CalendarEvent[]>
  /** Waits until what takes place is as wanted, and returns that. */
  until(what: string, isSo: (events: readonly CalendarEvent[]) => boolean): Promise<CalendarEvent[]>
  create(event: Record<string, unknown>): Promise<CalendarEventWithBody>
  change(id: string, change: Record<string, unknown>): Promise<void>
  respond(id: string, response: string): Promise<void>
  remove(id: string): Promise<void>
  /** The methods of the mails about events that lie in the mailbox, sorted. */
  mails(): Promise<string[]>
}

export interface Places {
  mail: MailServer
  user: TestUser
  dav: DavTestServer
  davUser: DavTestUser
  /** Null: the account cannot send mail. */
  smtp: { port: number } | null
}

export async function connectPerson(app: TestApp, name: string, places: Places): Promise<Person> {
  const { mail, user, dav, davUser, smtp } = places
  await davTestClient(dav, davUser).makeCalendar('team')
  const { body: account } = await app.post<Account>('/v1/imap-accounts', {
    ...connectionWithDav(mail, user, { dav, davUser, half: 'calendarUrl' }),
    displayName: name,
    smtp: smtp && { host: '127.0.0.1', port: smtp.port, security: 'none', user: user.user },
  })
  await waitForFirstSync(app, account.id)
  await waitForCalendars(app, account.id)
  const path = `/v1/accounts/${account.id}/calendar-events`
  const { body } = await app.get<{ items: Calendar[] }>(`/v1/accounts/${account.id}/calendars`)
  const calendarId = body.items.find(({ canEdit }) => canEdit)!.id
  const events = () => readTakingPlace(app, account.id)
  const done = async (answer: Promise<{ status: number; body: unknown }>) => {
    const { status, body: answered } = await answer
    if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(answered)}`)
  }
  return {
    name,
    email: user.email,
    accountId: account.id,
    calendarId,
    path,
    events,
    async until(what, isSo) {
      await app.post(`/v1/accounts/${account.id}/sync`, { kinds: ['calendar'] })
      let last: CalendarEvent[] = []
      const look = async () => (isSo((last = await events())) ? last : null)
      return waitUntil(`${what} of ${name}`, look).catch(error => {
        throw new Error(`${error.message}: ${last.map(inShort).join('; ')}`)
      })
    },
    async create(event) {
      const answer = await app.post<CalendarEventWithBody>(path, { calendarId, ...event })
      await done(Promise.resolve(answer))
      return answer.body
    },
    change: (id, change) => done(app.patch(`${path}/${id}`, change)),
    respond: (id, response) => done(app.post(`${path}/${id}/respond`, { response })),
    remove: id => done(app.delete(`${path}/${id}`)),
    async mails() {
      await using world = await openWorld(mail, user)
      if ((await world.uids('INBOX')).length === 0) return []
      const { untagged } = await world.witness.command('UID FETCH 1:* (BODY.PEEK[])')
      return untagged
        .flatMap(([, kind, values]) =>
          kind === 'FETCH' ? (values as unknown[]).filter(value => Buffer.isBuffer(value)) : [],
        )
        .flatMap(raw => /text\/calendar;[^:]*?\bmethod="?(\w+)/i.exec(raw.toString('latin1'))?.[1] ?? [])
        .map(method => method.toUpperCase())
        .toSorted()
    },
  }
}

const inShort = ({ kind, subject, status, start, selfResponse, attendees }: CalendarEvent) =>
  [
    kind,
    subject,
    status,
    start.dateTime,
    selfResponse,
    ...attendees.map(({ address, response }) => `${address} ${response}`),
  ].join(' ')

/** Waits until no mail about an event is on its way to the mail server, or waits to be read. */
export function untilQuiet(app: TestApp): Promise<boolean> {
  return waitUntil('the last mail about an event', async () => {
    const { rows } = await sql<{ isQuiet: boolean }>`
      select not exists (select from pending_invitation)
        and not exists (select from outbox where origin = 'invitation' and status in ('queued', 'scheduled', 'sending'))
        as "isQuiet"
    `.execute(app.db)
    return rows[0]?.isQuiet
  })
}
