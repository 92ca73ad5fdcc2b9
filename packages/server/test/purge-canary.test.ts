/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { newId } from '../src/kit/ids.ts'
import { dayAhead, readTakingPlace, waitForCalendars } from './calendars/caldav-account.ts'
import { openBlobFolder } from './bodies/blob-folder.ts'
import type { Caller } from './caller.ts'
import { tablesWith } from './database-text.ts'
import type { TestApp } from './open-app.ts'
import { purgeDeleted } from './purge-deleted.ts'
import {
  connectSender,
  GRACE,
  openSendingApp,
  send,
  type SendingApp,
  waitForStatus,
} from './sending/open-sending.ts'
import { davTestClient } from './servers/dav-client.ts'
import type { DavTestServer, DavTestUser } from './servers/dav-test-server.ts'
import { BERLIN, calendarFile, eventText } from './servers/event-text.ts'
import { startRadicale } from './servers/radicale.ts'
import { openWorld } from './servers/world.ts'
import { readMailboxes, waitForFirstSync } from './sync/followed-account.ts'
import { waitUntil } from './wait-until.ts'

const MESSAGES = 5
/** Tables between which the service moves rows, or adds them up, whatever is purged. */
const MOVING = new Set(['audit_open', 'audit_entry', 'audit_chain', 'usage_count', 'usage_day'])
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

/** An account with the word in everything that its owner, its provider or a caller can write. */
async function fill(
  caller: Caller,
  { dav, ...sending }: SendingApp & { dav: DavTestServer },
  word: string,
): Promise<string> {
  const { app, imap } = sending
  const user = await imap.addUser()
  await using world = await openWorld(imap, user)
  const raw = (n: number) =>
    `From: ${word} <${word}@a.test>\r\nTo: ${word}@b.test\r\nSubject: ${word} ${n}\r\nMessage-ID: <${word}-${n}@a.test>\r\n` +
    `References: <${word}@a.test>\r\n\r\n${word} ${n}\r\n`
  await world.createMailbox(word)
  const uids = await world.deliver(
    Array.from({ length: MESSAGES }, (_, n) => ({ raw: raw(n) })),
    word,
  )
  await world.flag(word, uids, word)
  const davUser = await fillCalendar(dav, user.email, word)
  const accountId = await connectSender(caller, sending, {
    user,
    settings: { bodyStorage: 'full' },
    dav: {
      calendarUrl: dav.url.href,
      contactsUrl: null,
      user: davUser.user,
      password: davUser.password,
    },
  })
  await waitForFirstSync(caller, accountId)
  const path = `/v1/accounts/${accountId}`
  const key = (name: string) => ({ 'idempotency-key': `${name}-of-${accountId}` })
  const content = { to: [GRACE], subject: word, text: word, html: `<p>${word}</p>`, reference: word }
  const done = async (answer: Promise<{ status: number; body: unknown }>) => {
    const { status, body } = await answer
    expect({ status, body }).toMatchObject({ status: 200 })
  }
  await done(caller.patch(path, { externalRef: word }))
  await done(
    caller.post(`${path}/identities`, {
      address: `${word}@alias.test`,
      name: word,
      signature: { html: word, text: word },
    }),
  )
  await done(
    caller.patch(`${path}/mail-settings`, { signature: word }).then(answer => ({ ...answer, status: 200 })),
  )
  await done(
    caller.post(
      '/v1/templates',
      { accountId, name: word, subject: word, text: word, html: word },
      key('template'),
    ),
  )
  await done(caller.post(`${path}/drafts`, { subject: word, text: word }, key('draft')))
  await done(caller.post(`${path}/outbox`, { ...content, sendAt: inAnHour() }, key('send')))
  const merge = {
    subject: word,
    text: word,
    sendAt: inAnHour(),
    entries: [{ to: [GRACE], params: { name: word } }],
  }
  await caller.post(`${path}/mail-merges`, merge, key('merge'))
  await waitForStatus(caller, await send(caller, accountId, content), 'sent')
  await waitForCalendars(caller, accountId)
  const [event] = await readTakingPlace(caller, accountId)
  const events = `${path}/calendar-events`
  await done(caller.patch(`${events}/${event!.seriesId}`, { location: `${word} again`, notify: false }))
  await done(caller.delete(`${events}/${event!.id}?notify=false`))
  await waitUntil('the stored bodies', async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from message_blob join message on message.id = message_id
      where message.account_id = ${accountId}`.execute(app.db)
    return (rows[0]?.count ?? 0) >= MESSAGES
  })
  expect((await readMailboxes(caller, accountId)).map(({ name }) => name)).toContain(word)
  return accountId
}

/** A calendar with a series that has the word in its texts and people, and an exception. */
async function fillCalendar(dav: DavTestServer, owner: string, word: string): Promise<DavTestUser> {
  const davUser = await dav.addUser()
  const client = davTestClient(dav, davUser)
  const calendar = await client.makeCalendar(word, { props: `<D:displayname>${word}</D:displayname>` })
  const at = (day: string) => `DTSTART;TZID=Europe/Berlin:${day}T090000`
  const texts = [`SUMMARY:${word}`, `LOCATION:${word}`, `DESCRIPTION:${word}`, `CATEGORIES:${word}`]
  const people = [`ORGANIZER;CN=${word}:mailto:${owner}`, `ATTENDEE;CN=${word}:mailto:${word}@b.test`]
  const lines = [...texts, ...people, 'DURATION:PT1H']
  await client.put(
    `${calendar}${word}.ics`,
    calendarFile([
      BERLIN,
      eventText(word, [at(dayAhead(2)), 'RRULE:FREQ=DAILY;COUNT=5', ...lines]),
      eventText(word, [`RECURRENCE-ID;TZID=Europe/Berlin:${dayAhead(3)}T090000`, at(dayAhead(3)), ...lines]),
    ]),
  )
  return davUser
}

async function countRows(app: TestApp, tenantId: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'tenant_id' order by 1`.execute(app.db)
  const counts: Record<string, number> = {}
  for (const { name } of rows.filter(table => !MOVING.has(table.name))) {
    const { rows: counted } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(name)} where tenant_id = ${tenantId}`.execute(app.db)
    counts[name] = counted[0]?.count ?? 0
  }
  return counts
}

/** Numbers of calls of a tenant that were audited and counted. It is written somewhat later than it happens. */
async function countMoving(app: TestApp, tenantId: string): Promise<{ audited: number; used: number }> {
  const { rows } = await sql<{ audited: number; used: number }>`
    select (
        (select count(*) from audit_open where tenant_id = ${tenantId})
        + (select count(*) from audit_entry where tenant_id = ${tenantId}))::int as audited, (
        (select coalesce(sum(count), 0) from usage_count where tenant_id = ${tenantId})
        + (select coalesce(sum(read + write + send + admin + sends + webhook_deliveries + ai_calls), 0)
          from usage_day where tenant_id = ${tenantId}))::int as used`.execute(app.db)
  return rows[0]!
}

/** Pauses the account of a tenant, puts off what is to be done for the tenant, and leaves it something to do tomorrow. */
async function rest(app: TestApp, caller: Caller & { tenantId: string }, accountId: string): Promise<void> {
  expect((await caller.patch(`/v1/accounts/${accountId}`, { status: 'paused' })).status).toBe(200)
  const { tenantId } = caller
  await waitUntil('the rest of the other tenant', async () => {
    for (const table of ['job', 'pending_answer'])
      await sql`
        update ${sql.table(table)} set due_at = clock_timestamp() + interval '1 day'
        where tenant_id = ${tenantId} and claimed_by is null`.execute(app.db)
    const { rows } = await sql<{ isResting: boolean }>`
      select not exists (select from account where id = ${accountId} and owner_instance is not null)
        and not exists (select from job where tenant_id = ${tenantId}
          and (claimed_by is not null or due_at < clock_timestamp() + interval '1 hour'))
        and not exists (select from pending_answer where tenant_id = ${tenantId}
          and (claimed_by is not null or due_at < clock_timestamp() + interval '1 hour')) as "isResting"
    `.execute(app.db)
    return rows[0]?.isResting
  })
  await sql`
    insert into job (id, tenant_id, kind, payload, due_at)
    values (${newId()}, ${tenantId}, 'a test', '{}', clock_timestamp() + interval '1 day')`.execute(app.db)
  await sql`
    insert into pending_answer (message_id, tenant_id, account_id, due_at)
    select id, ${tenantId}, account_id, clock_timestamp() + interval '1 day' from message
    where account_id = ${accountId} limit 1
    on conflict do nothing`.execute(app.db)
}

test('a purge leaves no trace in tables, files and log, and nothing of another tenant changes', async () => {
  await using blobs = await openBlobFolder()
  await using dav = await startRadicale()
  await using opened = await openSendingApp({
    app: { roles: ['api', 'sync', 'jobs'], pace: { pollSeconds: 1 }, config: { blobDir: blobs.folder } },
  })
  const { app } = opened
  const sending = { ...opened, dav }
  const other = await app.createTenant('other')
  const keptId = await fill(other, sending, 'sparrowq')
  const purgedId = await fill(app, sending, 'canaryq')
  const held = await tablesWith(app.db, 'canaryq')
  for (const table of [
    'account',
    'event',
    'mailbox',
    'message',
    'message_search',
    'outbox',
    'template',
    'identity',
    'calendar',
    'calendar_event',
    'calendar_event_body',
  ])
    expect(held).toContain(table)
  await rest(app, other, keptId)
  const readOther = async () => ({
    tables: (await tablesWith(app.db, 'sparrowq')).filter(table => !MOVING.has(table)),
    rows: await countRows(app, other.tenantId),
  })
  const [before, movingBefore] = [await readOther(), await countMoving(app, other.tenantId)]

  expect((await app.delete(`/v1/accounts/${purgedId}?purge=true`)).status).toBe(200)
  await purgeDeleted(app)

  // The event that ends the purge names the caller's own identifier of the account, so that the caller can forget it, too.
  const left = await tablesWith(app.db, 'canaryq')
  expect(left.filter(table => !table.startsWith('event'))).toEqual([])
  const { rows } = await sql<{ type: string }>`
    select type from event where position('canaryq' in data::text) > 0`.execute(app.db)
  expect(rows).toEqual([{ type: 'account.purged' }])
  const { rows: answers } = await sql`
    select from idempotency_key where account_id = ${purgedId} or about_account = ${purgedId}`.execute(app.db)
  expect(answers).toEqual([])
  expect(app.logLines.join('')).not.toContain('canaryq')
  // A file is written before its row, and removed after it.
  await waitUntil('a row for each file', async () => {
    const { rows: stored } = await sql<{ count: number }>`
      select count(*)::int as count from message_blob`.execute(app.db)
    return (await blobs.files()).length === stored[0]!.count
  })
  expect(await readOther()).toEqual(before)
  const { audited, used } = await countMoving(app, other.tenantId)
  expect(audited).toBeGreaterThanOrEqual(movingBefore.audited)
  expect(used).toBeGreaterThanOrEqual(movingBefore.used)
  expect((await other.get(`/v1/accounts/${keptId}`)).status).toBe(200)
})
