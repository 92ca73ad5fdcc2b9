import { readFileSync } from 'node:fs'
import { type RawBuilder, sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../src/database/pool.ts'
import { Pulse } from '../src/processes/pulse.ts'
import { type StoredTimes, startVoidingTimes } from '../src/jobs/stored-times.ts'
import { openLog } from '../src/kit/log.ts'
import { TIMES } from './all-stored-times.ts'
import { openTurnedClock } from './turned-clock.ts'
import { waitUntil } from './wait-until.ts'

/** Times that a clock which was ahead leaves as they are, with the reason. */
const LEFT_ALONE = {
  'a caller, a message or a provider has named it': [
    'account_token.expires_at',
    'api_key.expires_at',
    'calendar_channel.expires_at',
    'gmail_watch.expires_at',
    'graph_subscription.expires_at',
    'half_subscription.expires_at',
    'message.received_at',
    'message.sent_at',
    'message_mailbox.received_at',
    'message_search.received_at',
    'outbox.send_at',
  ],
  'whoever reads it expects that it may be ahead': [
    // `holdAfterRestore`: what is due now is held at most.
    'feed_epoch.noticed_at',
    // `isLive`: no lease is a minute ahead.
    'instance.heartbeat_at',
    'instance.heartbeat_until',
    // A claim takes a task that is more than its interval ahead.
    'recurring_task.due_at',
    // `openPushing`: no watch is renewed later than after a day.
    'gmail_watch.begun_at',
    'gmail_watch.renew_at',
    // `slotTable`: nobody is in line, or held up, for longer than either lasts.
    'graph_slot.paused_until',
    'graph_slot.wanted_until',
    // `openSubscribing`: no subscription is renewed later than after half of its longest life.
    // `Channels`: no channel is replaced later than after its longest life.
    'calendar_channel.begun_at',
    'calendar_channel.renew_at',
    'graph_subscription.begun_at',
    'graph_subscription.renew_at',
    'half_subscription.begun_at',
    'half_subscription.renew_at',
    // `isDue`: no series is expanded further than the window.
    'calendar_event.spanned_until',
  ],
  'it says until or since when something is kept, which is then kept for longer': [
    'connect_attempt.expires_at',
    'connect_session.created_at',
    'connect_session.expires_at',
    'event.created_at',
    'graph_slot.used_at',
    'grant_revocation.expires_at',
    'left_subscription.expires_at',
    'outbox.ended_at',
    'suppression_list.deleted_at',
    // Only compared with another reading of it.
    'sync_cursor.suspected_at',
    'webhook_endpoint.previous_secret_expires_at',
  ],
  'it is shown, sorted by or counted by, and nothing waits for it': [
    'account.created_at',
    'account.deleted_at',
    'account.purged_at',
    'account.updated_at',
    'account_half.initialized_at',
    'account_secret.updated_at',
    'account_token.created_at',
    'api_key.created_at',
    'api_key.revoked_at',
    'bounce.created_at',
    'calendar_event.end_at',
    'calendar_event.ends_at',
    'calendar_event.original_at',
    'calendar_event.start_at',
    'calendar_event.updated_at',
    'calendar_span.end_at',
    'calendar_span.start_at',
    'connect_attempt.created_at',
    'connect_attempt.ended_at',
    'connect_session.ended_at',
    'contact.updated_at',
    'identity.created_at',
    'instance.started_at',
    'mailbox.created_at',
    'oauth_app.created_at',
    'oauth_app.updated_at',
    'oauth_grant.created_at',
    'oauth_grant.refused_at',
    'outbox.created_at',
    'outbox.sent_at',
    'outbox.updated_at',
    'plan.created_at',
    'quarantined_message.first_failed_at',
    'schema_migration.applied_at',
    'settings_announcement.created_at',
    'suppression_entry.created_at',
    'suppression_list.created_at',
    'suppression_review.created_at',
    'template.created_at',
    'template.updated_at',
    'tenant.created_at',
    'tenant.links_off_at',
    'tenant.past_due_at',
    'tenant.resumed_at',
    'tenant.suspended_at',
    'tracked_send.first_clicked_at',
    'tracked_send.first_opened_at',
    'tracked_send.last_clicked_at',
    'tracked_send.last_opened_at',
    'webhook_attempt.occurred_at',
    'webhook_endpoint.created_at',
    'webhook_endpoint.last_success_at',
  ],
}

test('every time in the tables is either mended after the clock was ahead, or left alone for a reason', () => {
  const schema = readFileSync(new URL('../src/database/schema.sql', import.meta.url), 'utf8')
  const tables = [...schema.matchAll(/^create (?:unlogged )?table (\w+) \(\n(.*?)^\)/gms)]
  const columns = tables.flatMap(([, table, body = '']) =>
    [...body.matchAll(/^ {2}"?(\w+)"? timestamp/gm)].map(([, column]) => `${table}.${column}`),
  )
  const mended = TIMES.flatMap(({ table, waits = {}, past = [], since = {} }) => {
    const setAt = Object.values(waits).flatMap(wait => ('setAt' in wait ? [wait.setAt] : []))
    return [...Object.keys(waits), ...setAt, ...past, ...Object.keys(since)].map(
      column => `${table}.${column}`,
    )
  })
  const leftAlone = Object.values(LEFT_ALONE).flat()
  expect(columns.length).toBeGreaterThan(100)
  expect([...new Set(mended), ...leftAlone].toSorted()).toEqual(columns.toSorted())
})

test('nothing waits for longer, or happened later, than it should once a clock is right that was ahead', async () => {
  await using clock = await openTurnedClock()
  const { db } = clock
  for (const table of new Set(TIMES.map(({ table: name }) => name))) await insertAnyRow(db, table)
  await insertAnyRow(db, 'outbox')
  await clock.turn('30 days')
  for (const times of TIMES) await setTimes(db, times)
  await sql`update outbox set send_at = due_at, is_scheduled = id = (select id from outbox limit 1)`.execute(
    db,
  )
  await clock.turn('0')
  expect(await listAhead(db)).toEqual(TIMES.flatMap(boundsOf).map(({ name }) => name))

  const lines: string[] = []
  const log = openLog({
    level: 'warn',
    format: 'json',
    destination: { write: line => void lines.push(line) },
  })
  await using pulse = new Pulse(db, log)
  await using _ = await startVoidingTimes({ db, pulse, log, times: TIMES })
  expect(await listAhead(db)).toEqual([])
  const { rows } = await sql`select send_at = due_at as "isKept" from outbox where is_scheduled`.execute(db)
  expect(rows).toEqual([{ isKept: true }])
  expect(lines.join()).toContain('The clock of the database was ahead')
})

test('finds what a transaction commits that began while the clock was ahead', async () => {
  await using clock = await openTurnedClock()
  const { db } = clock
  for (const table of ['job', 'outbox']) await insertAnyRow(db, table)
  const log = openLog({ level: 'silent', format: 'json' })
  await using pulse = new Pulse(db, log)
  await clock.turn('30 days')
  const shown = Promise.withResolvers<void>()
  using _asking = pulse.ask({ isDue: () => sql`true`, onDue: shown.resolve })
  await shown.promise
  const [ofJob, ofOutbox] = ['job', 'outbox'].map(table => TIMES.find(times => times.table === table)!)
  await setTimes(db, ofJob!)
  await using _ = await startVoidingTimes({ db, pulse, log, times: TIMES })
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const committed = db.transaction().execute(async tx => {
    await setTimes(tx, ofOutbox!)
    begun.resolve()
    await ended.promise
  })
  await begun.promise
  await clock.turn('0')
  await waitUntil('the first look', async () => !(await listAhead(db)).some(name => name.startsWith('job.')))
  ended.resolve()
  await committed
  await waitUntil('the second look', async () => (await listAhead(db)).length === 0)
})

test('finds a time that a transaction read before the clock was set back, and stores afterwards', async () => {
  await using clock = await openTurnedClock()
  const { db } = clock
  await insertAnyRow(db, 'webhook_delivery')
  await clock.turn('2 hours')
  await db.transaction().execute(async tx => {
    const { rows } = await sql<{ time: string }>`select clock_timestamp()::text as time`.execute(tx)
    await clock.turn('0')
    await sql`update webhook_delivery set due_at = ${rows[0]!.time}::timestamptz + interval '1 minute'`.execute(
      tx,
    )
  })
  expect(await listAhead(db)).toContain('webhook_delivery.due_at')
  const log = openLog({ level: 'silent', format: 'json' })
  await using pulse = new Pulse(db, log)
  await using _ = await startVoidingTimes({ db, pulse, log, times: TIMES })
  expect(await listAhead(db)).toEqual([])
})

/** Columns by which something waits for the row of a table. */
const PENDING: Record<string, Record<string, RawBuilder<unknown>>> = {
  outbox: { task: sql`'look_up'`, phase: sql`'pre'`, filed_copy: sql`'{}'`, held_since: sql`now()` },
  message: { missing_look: sql`0` },
}
/** Columns with the moment at which a time was set that no trigger writes. */
const SET_BESIDE = ['webhook_delivery.held_at', 'oauth_grant.issued_at']
const WAIT_SECONDS = 60

/** Inserts a row with any values, whatever it should refer to. */
async function insertAnyRow(db: Db, table: string): Promise<void> {
  const { rows: checks } = await sql<{ conname: string }>`
    select conname from pg_constraint where conrelid = ${table}::regclass and contype = 'c'`.execute(db)
  for (const { conname } of checks)
    await sql`alter table ${sql.table(table)} drop constraint ${sql.ref(conname)}`.execute(db)
  const { rows: columns } = await sql<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${table}::regclass and attnum > 0 and not attisdropped and attnotnull and not atthasdef
  `.execute(db)
  const values = new Map<string, RawBuilder<unknown>>(columns.map(({ name, type }) => [name, anyOf(type)]))
  for (const [name, value] of Object.entries(PENDING[table] ?? {})) values.set(name, value)
  await db.transaction().execute(async tx => {
    // Neither foreign keys nor triggers.
    await sql`set local session_replication_role = replica`.execute(tx)
    await sql`
      insert into ${sql.table(table)} (${sql.join([...values.keys()].map(name => sql.ref(name)))})
      values (${sql.join([...values.values()])})
    `.execute(tx)
  })
}

function anyOf(type: string): RawBuilder<unknown> {
  if (type === 'uuid') return sql`gen_random_uuid()`
  if (type.startsWith('timestamp')) return sql`clock_timestamp()`
  if (type.endsWith('[]') || type.startsWith('json')) return sql`'{}'`
  return type === 'boolean' ? sql`false` : type === 'text' || type === 'bytea' ? sql`'x'` : sql`1`
}

/** Sets all times of a table as the service would now. */
async function setTimes(db: Db, { table, waits = {}, past = [], since = {} }: StoredTimes): Promise<void> {
  const waiting = Object.entries(waits).map(([column, wait]) => {
    const seconds = 'seconds' in wait ? wait.seconds : WAIT_SECONDS
    return sql`${sql.ref(column)} = clock_timestamp() + make_interval(secs => ${seconds})`
  })
  const beside = SET_BESIDE.filter(name => name.startsWith(`${table}.`)).map(name => name.split('.')[1]!)
  const happened = [...past, ...Object.keys(since), ...beside].map(
    column => sql`${sql.ref(column)} = clock_timestamp()`,
  )
  await sql`update ${sql.table(table)} set ${sql.join([...waiting, ...happened])}`.execute(db)
}

/** How many seconds each of its times may lie ahead. */
function boundsOf({ table, waits = {}, past = [], since = {} }: StoredTimes) {
  const waiting = Object.entries(waits).flatMap(([column, wait]) =>
    'seconds' in wait
      ? [{ column, seconds: wait.seconds }]
      : [
          { column, seconds: WAIT_SECONDS },
          { column: wait.setAt, seconds: 0 },
        ],
  )
  const bounds = [...waiting, ...[...past, ...Object.keys(since)].map(column => ({ column, seconds: 0 }))]
  return bounds.map(({ column, seconds }) => ({ name: `${table}.${column}`, table, column, seconds }))
}

/** Columns with times that are further ahead than they may be. */
async function listAhead(db: Db): Promise<string[]> {
  const found: string[] = []
  for (const { name, table, column, seconds } of TIMES.flatMap(boundsOf)) {
    const isFree = name === 'outbox.due_at' ? sql`not is_scheduled` : sql`true`
    const { rows } = await sql`
      select from ${sql.table(table)} where ${isFree}
        and ${sql.ref(column)} > clock_timestamp() + make_interval(secs => ${seconds})
    `.execute(db)
    if (rows.length > 0) found.push(name)
  }
  return found
}
