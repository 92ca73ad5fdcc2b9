/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import type { Db } from '../../../database/pool.ts'
import { announceSettingsHandler } from './inherit.ts'
import { addHalf, addHalves } from '../../../../test/halves.ts'

const ACCOUNTS = 1_300

async function addAccounts(db: Db, tenantId: string): Promise<void> {
  const { id } = await sampleAccount(db, tenantId, { settings_override: '{}' })
  const { rows } = await sql<{ columns: string }>`
    select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
    where attrelid = 'account'::regclass and attnum > 0 and not attisdropped and attgenerated = ''
      and attname not in ('id', 'email')
  `.execute(db)
  const columns = sql.raw(rows[0]!.columns)
  await sql`
    insert into account (id, email, ${columns})
    select gen_random_uuid(), n || '@example.com', ${columns}
    from account, generate_series(2, ${ACCOUNTS}::int) as n where id = ${id}
  `.execute(db)
  await addHalves(db)
}

/** Numbers of accounts by how often they were announced with a change of the window. */
async function countAnnounced(db: Db, syncWindowDays: number): Promise<Record<string, number>> {
  const { rows } = await sql<{ times: number; accounts: number }>`
    select times, count(*)::int as accounts from (
      select count(*)::int as times from event
      where type = 'account.updated' and data -> 'account' -> 'settings' ->> 'syncWindowDays' = ${String(syncWindowDays)}
      group by account_id
    ) as announced group by times
  `.execute(db)
  return Object.fromEntries(rows.map(({ times, accounts }) => [String(times), accounts]))
}

const countRestarting = async (db: Db) => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from account_half where sync_wanted @> array['restart']
  `.execute(db)
  return rows[0]?.count
}

test('a change of settings is announced once for each account, however often its job is interrupted', async () => {
  await using app = await openTestApp()
  const { db, tenantId } = app
  await addAccounts(db, tenantId)
  expect((await app.patch('/v1/settings', { syncWindowDays: 30 })).status).toBe(200)
  expect(await countAnnounced(db, 30)).toEqual({ 1: 500 })
  await sampleAccount(db, tenantId, { settings_override: '{}' })

  const { rows } = await sql<{
    payload: unknown
  }>`select payload from job where kind = 'announce_settings'`.execute(db)
  expect(rows).toHaveLength(1)
  const stop = new AbortController()
  const woken: string[] = []
  const run = (onWake: () => void, signal: AbortSignal) =>
    announceSettingsHandler(db, id => {
      woken.push(id)
      onWake()
    }).run(rows[0]?.payload, { tenantId, signal })
  // It is interrupted after its first batch, and then runs twice at the same time.
  await expect(run(() => stop.abort(), stop.signal)).rejects.toThrow('abort')
  expect(await countAnnounced(db, 30)).toEqual({ 1: 1_000 })
  const { signal } = new AbortController()
  await Promise.all([run(() => {}, signal), run(() => {}, signal)])

  expect(await countAnnounced(db, 30)).toEqual({ 1: ACCOUNTS })
  expect(await countRestarting(db)).toBe(ACCOUNTS)
  expect(new Set(woken).size).toBe(ACCOUNTS - 500)
  expect((await sql`select from settings_announcement`.execute(db)).rows).toEqual([])
})

test('two changes in a row are announced for each account, in the state that they end in', async () => {
  await using app = await openTestApp({ roles: ['api', 'jobs'] })
  await addAccounts(app.db, app.tenantId)
  await app.patch('/v1/settings', { syncWindowDays: 30 })
  await app.patch('/v1/settings', { syncWindowDays: 60 })
  await waitUntil('the announcements', async () => {
    const { rows } = await sql`select from settings_announcement`.execute(app.db)
    return rows.length === 0
  })
  const { rows } = await sql<{ days: string; accounts: number }>`
    select days, count(*)::int as accounts from (
      select distinct on (account_id) data -> 'account' -> 'settings' ->> 'syncWindowDays' as days from event
      where type = 'account.updated' order by account_id, event.id desc
    ) as last group by days
  `.execute(app.db)
  expect(rows).toEqual([{ days: '60', accounts: ACCOUNTS }])
})

test('settings of two kinds restart only the halves of each account that they change', async () => {
  await using app = await openTestApp()
  const { db, tenantId } = app
  const overrides = [{}, { syncWindowDays: 90 }, { calendarEnabled: true }, { undoSendSeconds: 5 }]
  const ids: string[] = []
  for (const override of overrides) {
    const { id } = await sampleAccount(db, tenantId, {
      provider: 'gmail',
      auth_method: 'oauth',
      imap: null,
      settings_override: JSON.stringify(override),
    })
    await addHalf(db, id, 'calendar', [])
    ids.push(id)
  }
  const changed = { syncWindowDays: 30, calendarEnabled: false, undoSendSeconds: 7 }
  expect((await app.patch('/v1/settings', changed)).status).toBe(200)
  const { rows } = await sql<{ kinds: string[]; raised: string[] }>`
    select coalesce(array_agg(kind order by kind) filter (where sync_wanted @> array['restart']), '{}') as kinds,
      coalesce(array_agg(kind order by kind) filter (where stamp > 1), '{}') as raised
    from account_half where account_id = any(${ids}::uuid[])
    group by account_id order by array_position(${ids}::uuid[], account_id)
  `.execute(db)
  const both = ['calendar', 'mail']
  expect(rows.map(({ kinds }) => kinds)).toEqual([both, ['calendar'], ['mail'], both])
  expect(rows.map(({ raised }) => raised)).toEqual([both, ['calendar'], ['mail'], both])
})
