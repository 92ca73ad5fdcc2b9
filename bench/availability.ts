import { findAccountViews } from '../packages/server/src/accounts/store.ts'
import { findBusyTimes, findCalendars } from '../packages/server/src/features/calendars/availability/store.ts'
import { DAY_MS } from '../packages/server/src/kit/wall-clock.ts'
import { short } from './figures.ts'
import { openPost } from './http.ts'
import { compareLoad } from './load.ts'
import type { Benchmark } from './row.ts'
import { openItsDatabase, sameStatements } from './same-sql.ts'
import { startBenchService } from './service.ts'

const ACCOUNTS = 50
const DAYS = 62
/** Events of a day that the account is busy in, and others. */
const EVENTS = { busy: 6, free: 2 }

export const availability: Benchmark = {
  name: 'availability',
  about: `Availability of ${ACCOUNTS} accounts over ${DAYS} days, with and without its explanation, compared with its SQL.`,
  async run(report) {
    // Nothing follows the accounts, whose servers are nowhere.
    await using service = await startBenchService({ env: { WAXWING_ROLES: 'api' } })
    await using database = await openItsDatabase(service.folder.path)
    const { pool } = database
    const start = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS
    const range = { start, end: start + DAYS * DAY_MS }
    const { rows } = await pool.query<{ id: string; tenant_id: string; calendar_id: string }>(FILL, [
      new Date(start),
      ACCOUNTS,
      DAYS,
      EVENTS.busy,
      EVENTS.free,
    ])
    await pool.query('vacuum analyze')
    const accountIds = rows.map(({ id }) => id)
    const calendarIds = rows.map(row => row.calendar_id)
    const sql = await sameStatements(pool, async db => {
      await findAccountViews(
        db,
        rows.map(({ id, tenant_id: tenantId }) => ({ id, tenantId })),
      )
      await findCalendars(db, accountIds)
      await findBusyTimes(db, { accountIds, calendarIds }, range)
    })
    using client = openPost(service)
    const question = {
      accountIds,
      start: new Date(range.start).toISOString(),
      end: new Date(range.end).toISOString(),
      timeZone: 'Europe/Berlin',
      hours: Object.fromEntries(WORKDAYS.map(day => [day, [{ start: '09:00', end: '17:00' }]])),
      mode: 'any',
    }
    const find = (explain: boolean) => () => client.post('/v1/availability/find', { ...question, explain })
    const figures = await compareLoad(1, { sql, plain: find(false), explained: find(true) })
    for (const [name, measure, target] of [
      ['plain', 'p50 in ms', '≤ 2 (1.5)'],
      ['explained', 'with explain, p50 in ms', '≤ 3'],
    ] as const)
      report({
        measure: `${ACCOUNTS} accounts, ${DAYS} days, ${measure}`,
        result: short(figures[name].p50Ms),
        yardstick: `SQL ${short(figures.sql.p50Ms)}`,
        ratio: figures[name].p50Ms / figures.sql.p50Ms,
        target,
        cpu: figures[name].cpu,
      })
  },
}

const WORKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri']

/** Accounts with a calendar each, whose events of half an hour are spread over the days. */
const FILL = `
  with tenant as materialized (select id from tenant limit 1), account as (
    insert into account (id, tenant_id, provider, email, auth_method, settings_override, imap)
    select gen_random_uuid(), tenant.id, 'imap', 'bench-' || nth || '@example.com', 'password', '{"calendarEnabled": true}',
      '{"imap": {"host": "imap.example.com", "port": 993, "security": "tls", "user": "bench"}, "smtp": null, "auth": "password",
        "appendSent": true, "dav": {"calendarUrl": "https://dav.example.com/", "contactsUrl": null, "user": "bench", "auth": "imap_password"}}'
    from tenant, generate_series(1, $2::int) as nth
    returning id, tenant_id
  ), half as (
    insert into account_half (account_id, tenant_id, kind, initialized_at)
    select id, tenant_id, kind, clock_timestamp() from account, unnest('{mail,calendar}'::text[]) as kind
  ), calendar as (
    insert into calendar (id, tenant_id, account_id, provider_key, name, is_primary, access, can_edit, is_hidden, position, basis)
    select gen_random_uuid(), tenant_id, id, '/work', 'Work', true, 'owner', true, false, 0, '' from account
    returning id, tenant_id, account_id
  ), event as (
    insert into calendar_event (id, tenant_id, account_id, calendar_id, kind, provider_key, version, shown, start_at, end_at, ends_at,
      zone_release, updated_at)
    select gen_random_uuid(), tenant_id, account_id, id, 'single', '/work/' || day || '-' || nth, '1', '{}', at,
      at + interval '30 minutes', at + interval '30 minutes', '2026a', clock_timestamp()
    from calendar, generate_series(0, $3::int - 1) as day, generate_series(1, $4::int + $5::int) as nth,
      lateral (select $1::timestamptz + make_interval(days => day, mins => (7 * 60 + nth * 67 + abs(hashtext(calendar.id::text || day)) % 60)) as at) as time
    returning id, account_id, calendar_id, start_at, end_at, provider_key
  ), span as (
    insert into calendar_span (id, account_id, calendar_id, root_id, event_id, start_at, end_at, start_wall, end_wall, is_busy, is_long)
    select id, account_id, calendar_id, id, id, start_at, end_at, '', '', split_part(provider_key, '-', 2)::int <= $4::int, false
    from event
  )
  select account_id as id, tenant_id, id as calendar_id from calendar`
