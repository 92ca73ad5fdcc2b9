import { describe, expect, test } from 'vitest'
import { purgeSending } from '../../src/features/sending/purge.ts'
import { JUDGE_AFTER_SECONDS } from '../../src/features/sending/tracking/judge.ts'
import { waitUntil } from '../wait-until.ts'
import { BROWSER, CHROMIUM, useTracking } from './open-tracking.ts'

const tracking = useTracking()

describe('opens and clicks', () => {
  test('of a person are counted and announced', async () => {
    const { entry, links, pixel } = await tracking.sendTracked({ reference: 'ticket-9' })
    const askedAt = performance.now()
    await tracking.ask(pixel)
    await tracking.ask(links[1] ?? '')
    const early = await tracking.trackingOf(entry)
    // A slow machine may need longer than they wait to be judged.
    if (performance.now() - askedAt < JUDGE_AFTER_SECONDS * 1_000)
      expect(early).toMatchObject({ opens: { count: 0 }, items: [] })
    await tracking.judge(entry)
    const facts = {
      outboxId: entry.id,
      messageId: null,
      reference: 'ticket-9',
      recipient: 'grace@example.org',
      ip: null,
      userAgent: BROWSER,
    }
    const person = { isMachine: false, machineReason: null }
    expect((await tracking.eventsOf(entry)).map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'message.opened', data: { ...facts, ...person } },
      { type: 'message.clicked', data: { ...facts, ...person, url: 'http://example.org/two' } },
    ])
    expect(await tracking.trackingOf(entry)).toMatchObject({
      trackOpens: true,
      trackClicks: true,
      opens: { count: 1, machineCount: 0 },
      clicks: {
        count: 1,
        machineCount: 0,
        links: [
          { url: 'http://example.org/two', count: 1 },
          { url: 'https://example.org/one?a=1&b=2', count: 0 },
          { url: 'https://example.org/three', count: 0 },
        ],
      },
      items: [
        { type: 'click', url: 'http://example.org/two', isMachine: false, ip: null, userAgent: BROWSER },
        { type: 'open', url: null, isMachine: false },
      ],
    })
  })

  test('by HEAD or another method change nothing', async () => {
    const { entry, links, pixel } = await tracking.sendTracked()
    expect(await tracking.ask(pixel, { method: 'HEAD' })).toMatchObject({ status: 200, body: '' })
    expect(await tracking.ask(links[0] ?? '', { method: 'HEAD' })).toMatchObject({ status: 302 })
    for (const method of ['POST', 'PUT', 'OPTIONS', 'DELETE'])
      expect(await tracking.ask(links[0] ?? '', { method })).toMatchObject({ status: 405 })
    await tracking.judge(entry)
    expect(await tracking.eventsOf(entry)).toEqual([])
    expect(await tracking.trackingOf(entry)).toMatchObject({ items: [], opens: { machineCount: 0 } })
  })

  test('that a client repeats count once, and later again', async () => {
    const { entry, links } = await tracking.sendTracked()
    const [link = ''] = links
    await Promise.all(Array.from({ length: 8 }, () => tracking.ask(link)))
    await tracking.ask(link, { from: '198.51.100.200' })
    await tracking.ask(link, { from: '203.0.113.9' })
    await tracking.judge(entry, 40)
    expect((await tracking.trackingOf(entry)).clicks.count).toBe(2)
    expect(await tracking.eventsOf(entry)).toHaveLength(2)
  })

  test('of a scanner mark everything that came with them', async () => {
    const { entry, links, pixel, trap } = await tracking.sendTracked()
    await tracking.ask(pixel)
    expect(await tracking.ask(trap, { userAgent: CHROMIUM, from: '203.0.113.1' })).toMatchObject({
      status: 204,
    })
    await tracking.ask(links[0] ?? '', { userAgent: CHROMIUM, from: '203.0.113.1' })
    await tracking.judge(entry)
    const marks = (await tracking.eventsOf(entry)).map(({ type, data }) => [
      type,
      data['isMachine'],
      data['machineReason'],
    ])
    expect(marks).toEqual([
      ['message.opened', true, 'honeypot'],
      ['message.clicked', true, 'honeypot'],
    ])
    expect(await tracking.trackingOf(entry)).toMatchObject({
      opens: { count: 0, machineCount: 1, firstAt: null },
      clicks: { count: 0, machineCount: 1 },
    })
    await tracking.ask(links[0] ?? '')
    await tracking.judge(entry)
    expect(await tracking.trackingOf(entry)).toMatchObject({ clicks: { count: 1, machineCount: 1 } })
  })

  test('beyond the limit are counted, and neither kept nor announced', async () => {
    const { entry, links } = await tracking.sendTracked()
    await tracking.app.database.pool.query('update tracked_send set items = 999 where outbox_id = $1', [
      entry.id,
    ])
    for (const octet of [1, 2, 3]) await tracking.ask(links[0] ?? '', { from: `203.0.${octet}.1` })
    await tracking.judge(entry)
    expect((await tracking.trackingOf(entry)).clicks.count).toBe(3)
    expect(await tracking.eventsOf(entry)).toHaveLength(1)
    expect((await tracking.trackingOf(entry)).items).toHaveLength(1)
  })

  test('of a crowd within seconds are judged, and those of others beside them', async () => {
    const { entry, pixel } = await tracking.sendTracked()
    const other = await tracking.sendTracked()
    const hosts = Array.from({ length: 1500 }, (_, index) => `2001:db8:${index.toString(16)}::1`)
    await Promise.all(hosts.map(from => tracking.ask(pixel, { from })))
    await tracking.ask(other.links[0] ?? '')
    await Promise.all([tracking.judge(entry), tracking.judge(other.entry)])
    expect((await tracking.trackingOf(entry)).opens.count).toBe(1500)
    expect(await tracking.eventsOf(entry)).toHaveLength(1000)
    expect((await tracking.trackingOf(other.entry)).clicks.count).toBe(1)
  })

  test('beyond ten thousand that wait are answered and not noted', async () => {
    const { entry, pixel } = await tracking.sendTracked()
    const { pool } = tracking.app.database
    await pool.query(
      `insert into tracking_item (id, outbox_id, account_id, tenant_id, kind, client, user_agent, occurred_at)
       select gen_random_uuid(), $1, account.id, account.tenant_id, 'open', int8send(n), '', clock_timestamp()
       from account, generate_series(1, 9999) as n where account.id = $2`,
      [entry.id, tracking.accountId],
    )
    expect((await tracking.ask(pixel)).status).toBe(200)
    expect((await tracking.ask(pixel, { from: '203.0.113.9' })).status).toBe(200)
    await tracking.judge(entry)
    expect((await tracking.trackingOf(entry)).opens.count).toBe(10_000)
  })

  test('name no recipient if there are several', async () => {
    const { entry, pixel } = await tracking.sendTracked({ cc: [{ address: 'ada@example.org' }] })
    await tracking.ask(pixel)
    await tracking.judge(entry)
    expect((await tracking.eventsOf(entry))[0]?.data['recipient']).toBeNull()
  })

  test('of which nothing is kept in the clear: neither links nor addresses', async () => {
    const { entry, links } = await tracking.sendTracked()
    await tracking.ask(links[0] ?? '', { from: '198.51.100.77' })
    const { rows } = await tracking.app.database.pool.query(
      `select (select row_to_json(sent)::text from tracked_send as sent where outbox_id = $1) ||
        (select string_agg(row_to_json(item)::text, '') from tracking_item as item where outbox_id = $1) as text`,
      [entry.id],
    )
    expect(rows[0].text).toContain(BROWSER)
    expect(rows[0].text).not.toMatch(/example\.org|198\.51/)
  })
})

describe('a request that cannot be judged', () => {
  test('keeps nothing else waiting, and is judged once that is possible', async () => {
    const { app } = tracking
    const { pool } = app.database
    const broken = await tracking.sendTracked()
    const others = [await tracking.sendTracked(), await tracking.sendTracked()]
    const { rows } = await pool.query('select links from tracked_send where outbox_id = $1', [
      broken.entry.id,
    ])
    await pool.query(`update tracked_send set links = '\\x00' where outbox_id = $1`, [broken.entry.id])
    // In one transaction, so that one look judges all.
    await pool.query(
      `insert into tracking_item (id, outbox_id, account_id, tenant_id, kind, client, user_agent, occurred_at)
       select gen_random_uuid(), id, account_id, tenant_id, 'open', '\\x01', '', clock_timestamp() - interval '1 minute'
       from outbox where id = any($1)`,
      [[broken, ...others].map(({ entry }) => entry.id)],
    )
    for (const { entry } of others) {
      await tracking.judge(entry)
      expect((await tracking.trackingOf(entry)).opens.count).toBe(1)
    }
    const failures = await waitUntil('the failure to be noted', async () => {
      const found = await pool.query<{ failures: number; pause: number }>(
        `select judge_failures as failures, extract(epoch from judge_due_at - clock_timestamp())::float8 as pause
         from tracked_send where outbox_id = $1 and judge_failures > 0`,
        [broken.entry.id],
      )
      return found.rows[0]
    })
    // On a slow machine it may have been tried again, after twice the time.
    expect(failures.pause).toBeLessThanOrEqual(10 * 2 ** (failures.failures - 1))
    expect(await tracking.eventsOf(broken.entry)).toEqual([])
    await pool.query(
      'update tracked_send set links = $2, judge_due_at = clock_timestamp() where outbox_id = $1',
      [broken.entry.id, rows[0].links],
    )
    await tracking.judge(broken.entry)
    expect((await tracking.trackingOf(broken.entry)).opens.count).toBe(1)
    const after = await pool.query(
      'select judge_failures as failures, judge_due_at as due from tracked_send where outbox_id = $1',
      [broken.entry.id],
    )
    expect(after.rows).toEqual([{ failures: 0, due: null }])
  })
})

describe('once the entry is gone', () => {
  test('links lead on, nothing is noted, and the purge of the account ends them', async () => {
    const { entry, links, pixel } = await tracking.sendTracked()
    await tracking.ask(pixel)
    const { db, database } = tracking.app
    await database.pool.query('delete from outbox where id = $1', [entry.id])
    expect(await tracking.ask(links[2] ?? '', { from: '203.0.113.50' })).toMatchObject({ status: 302 })
    await tracking.judge(entry)
    const kept = () => db.selectFrom('tracking_item').select('id').where('outbox_id', '=', entry.id).execute()
    await waitUntil('what was kept to be deleted', async () => (await kept()).length === 0)
    await purgeSending(db, tracking.accountId, new AbortController().signal)
    expect(await tracking.ask(links[2] ?? '')).toMatchObject({ status: 404 })
    expect(await tracking.ask(pixel)).toMatchObject({ status: 404 })
    expect(
      await db
        .selectFrom('tracked_send')
        .select('outbox_id')
        .where('account_id', '=', tracking.accountId)
        .execute(),
    ).toEqual([])
  })
})
