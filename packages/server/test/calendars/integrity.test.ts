import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { calendarFile, eventText } from '../servers/event-text.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { compareNow, readIntegrity } from '../sync/compare-now.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { dayAhead, waitForCalendars, waitForSubjects } from './caldav-account.ts'
import { calendarFeedOf, inShort } from './calendar-feed.ts'

const opened = useServer(() => openSyncApp())
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

const SUBJECTS = ['Ada', 'Bob', 'Cid']

test('events of which rows were changed behind the back of the service are found, repaired and announced once', async () => {
  const davUser = await radicale().addUser()
  const client = davTestClient(radicale(), davUser)
  const calendar = await client.makeCalendar('work')
  for (const [nth, subject] of SUBJECTS.entries()) {
    const lines = [`DTSTART:${dayAhead(nth + 1)}T090000Z`, 'DURATION:PT1H', `SUMMARY:${subject}`]
    await client.put(`${calendar}${subject}.ics`, calendarFile([eventText(subject, lines)]))
  }
  const old = [`DTSTART:${dayAhead(-400)}T090000Z`, 'DURATION:PT1H', 'SUMMARY:Old']
  await client.put(`${calendar}old.ics`, calendarFile([eventText('old', old)]))
  const connection = connectionWithDav(dovecot(), await dovecot().addUser(), {
    dav: radicale(),
    davUser,
    half: 'calendarUrl',
  })
  const { id } = (await opened().post<Account>('/v1/imap-accounts', connection)).body
  await waitForCalendars(opened(), id)
  const [, bob] = await waitForSubjects(opened(), id, SUBJECTS)

  const none = { missing: 0, extra: 0, changed: 0, repaired: 0 }
  const equal = await compareNow(opened(), id)
  const counts = { calendarId: bob!.calendarId, listed: 3, indexed: 3 }
  expect(equal).toMatchObject({ ...none, calendars: [{ ...counts, ...none }] })
  expect(equal.verifiedAt).not.toBeNull()

  const { db } = opened()
  const where = (subject: string) => sql`account_id = ${id} and shown ->> 'subject' = ${subject}`
  await sql`delete from calendar_event where ${where('Ada')}`.execute(db)
  await sql`
    update calendar_event set version = 'another', shown = shown || '{"subject": "Eve"}' where ${where('Bob')}
  `.execute(db)
  const healed = await compareNow(opened(), id)
  expect(healed.calendars).toEqual([{ ...counts, ...none, repaired: 2, comparedAt: expect.any(String) }])
  expect(healed.repaired).toBe(2)
  const after = await waitForSubjects(opened(), id, SUBJECTS)
  expect(after[1]!.id).toBe(bob!.id)
  expect((await calendarFeedOf(opened(), id)).map(inShort).toSorted()).toEqual([
    'calendar.initialized',
    'calendar_event.created single Ada',
    'calendar_event.updated single Bob subject',
  ])

  await sql`update calendar_comparison set missing = 2 where account_id = ${id}`.execute(db)
  expect(await readIntegrity(opened(), id)).toMatchObject({ state: 'behind', missing: 2 })
  await opened().patch(`/v1/accounts/${id}`, { settings: { calendarEnabled: false } })
  const without = await readIntegrity(opened(), id)
  expect(without).toMatchObject({ state: 'verified', missing: 0 })
  expect(without).not.toHaveProperty('calendars')
})
