import type { ChangeEvent } from '@waxwing/contract/events.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStream, type TestStream } from '../../../../test/event-stream.ts'
import { openTestApp, type TestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { recordRestore } from '../../../database/feed-epoch.ts'
import { openDatabase } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type Announcement } from '../../../events/announcement.ts'
import { revokeApiKey } from '../../tenancy/credentials/store.ts'

interface Page {
  items: ChangeEvent[]
  nextCursor: string
}

const noted = (note: number, accountId: string | null = null): Announcement => ({
  type: 'webhook.test',
  accountId,
  data: { message: String(note) },
})
const purged = (accountId: string): Announcement => ({
  type: 'account.purged',
  accountId: null,
  data: { accountId, externalRef: null },
})
const notesOf = (items: readonly unknown[]) =>
  (items as ChangeEvent[]).map(({ data }) => Number(data['message']))

let app: TestApp
beforeAll(async () => {
  app = await openTestApp()
  return () => app[Symbol.asyncDispose]()
})

/** A tenant of its own for one test, with a cursor at the end of its feed. */
async function openTenant(name: string) {
  const tenant = await app.createTenant(name)
  const { body } = await tenant.get<Page>('/v1/changes?start=now')
  return {
    ...tenant,
    cursor: body.nextCursor,
    announce: (...announcements: Announcement[]) =>
      inTransaction(app.db, tenant.tenantId, async unit => unit.announce(...announcements)),
  }
}

const countWaiting = async () => {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from pg_stat_activity where datname = current_database() and state <> 'idle'
      and pid <> pg_backend_pid() and application_name = 'waxwing test'
  `.execute(app.db)
  return rows[0]?.count
}

describe('GET /v1/changes with waitSeconds', () => {
  test('returns existing events at once', { tags: ['postgres-16'] }, async () => {
    const tenant = await openTenant('at once')
    await tenant.announce(noted(1))
    const { body } = await tenant.get<Page>(`/v1/changes?waitSeconds=30&cursor=${tenant.cursor}`)
    expect(notesOf(body.items)).toEqual([1])
  })

  test('waits for the first event that fits, and needs no connection to the database meanwhile', async () => {
    const tenant = await openTenant('first')
    const account = await sampleAccount(app.db, tenant.tenantId)
    const url = `/v1/changes?waitSeconds=30&types=webhook.test&cursor=${tenant.cursor}`
    const waits = Array.from({ length: 10 }, () => tenant.get<Page>(url))
    await tenant.announce(purged(account.id))
    await waitUntil('idle connections', async () => (await countWaiting()) === 0)
    await tenant.announce(noted(1), noted(2))
    for (const { body } of await Promise.all(waits)) {
      expect(notesOf(body.items)).toEqual([1, 2])
      const next = await tenant.get<Page>(`/v1/changes?cursor=${body.nextCursor}`)
      expect(next.body.items).toEqual([])
    }
  })

  test('returns an event that another process commits', async () => {
    const tenant = await openTenant('other process')
    await using other = await openTestApp({
      database: openDatabase({ address: app.database.address, applicationName: 'waxwing other' }),
      keyRing: app.keyRing,
    })
    const wait = tenant.get<Page>(`/v1/changes?waitSeconds=30&cursor=${tenant.cursor}`)
    await inTransaction(other.db, tenant.tenantId, async unit => unit.announce(noted(1)))
    expect(notesOf((await wait).body.items)).toEqual([1])
    await other.database[Symbol.asyncDispose]()
  })

  test('returns an event that no process announced', async () => {
    const tenant = await openTenant('untold')
    const wait = tenant.get<Page>(`/v1/changes?waitSeconds=30&cursor=${tenant.cursor}`)
    await sql`
      insert into event (tenant_id, id, type, data)
      values (${tenant.tenantId}, nextval('event_id'), 'webhook.test', '{"message":"1"}')
    `.execute(app.db)
    expect(notesOf((await wait).body.items)).toEqual([1])
  })

  test('with start=now waits for the next events', async () => {
    const tenant = await openTenant('now')
    await tenant.announce(noted(1))
    const wait = tenant.get<Page>('/v1/changes?waitSeconds=30&start=now')
    let isAnswered = false
    void wait.then(() => (isAnswered = true))
    await waitUntil('the answer', async () => {
      await tenant.announce(noted(2))
      return isAnswered
    })
    expect(new Set(notesOf((await wait).body.items))).toEqual(new Set([2]))
  })

  test('reads on through any number of events of other types', async () => {
    const tenant = await openTenant('rare')
    await sql`
      insert into event (tenant_id, id, type, data)
      select ${tenant.tenantId}::uuid, nextval('event_id'), 'account.updated', '{}' from generate_series(1, 12000)
    `.execute(app.db)
    await tenant.announce(noted(1))
    const { body } = await tenant.get<Page>(
      `/v1/changes?waitSeconds=30&types=webhook.test&cursor=${tenant.cursor}`,
    )
    expect(notesOf(body.items)).toEqual([1])
  })

  test('answers an empty page when the time is over', async () => {
    const tenant = await openTenant('over')
    const { status, body } = await tenant.get<Page>(`/v1/changes?waitSeconds=1&cursor=${tenant.cursor}`)
    expect({ status, body }).toEqual({ status: 200, body: { items: [], nextCursor: tenant.cursor } })
  })

  test('refuses other times than 0 to 30 seconds', async () => {
    for (const seconds of ['-1', '31', '1.5', 'x'])
      expect(await app.get(`/v1/changes?waitSeconds=${seconds}`)).toMatchObject({
        status: 400,
        body: { code: 'invalid_input', data: { issues: [{ path: ['waitSeconds'] }] } },
      })
  })

  test('ends as unauthenticated, without events, when its key is revoked', async () => {
    const tenant = await openTenant('revoked wait')
    const key = await app.createKey({ tenantId: tenant.tenantId })
    const wait = app.as(key.text).get(`/v1/changes?waitSeconds=30&cursor=${tenant.cursor}`)
    // By then the wait is under way, too: requests of one process are admitted in their order.
    await app.as(key.text).get('/v1/settings')
    await revokeApiKey(app.db, key.id)
    expect(await wait).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
  })

  test('counts as one request in flight until the client has left', async () => {
    const tenant = await openTenant('in flight')
    const left = new AbortController()
    const url = `${app.address}/v1/changes?waitSeconds=30&cursor=${tenant.cursor}`
    const headers = { authorization: `Bearer ${tenant.key}` }
    const wait = async () => {
      // The request that looks whether the house is full may have taken the last place.
      for (let status = 429; status === 429;) {
        const answer = await fetch(url, { headers, signal: left.signal })
        status = answer.status
        await answer.arrayBuffer()
      }
    }
    const ended = Promise.allSettled(Array.from({ length: 16 }, wait))
    await waitUntil('a full house', async () => (await tenant.get('/v1/settings')).status === 429)
    left.abort()
    await ended
    await waitUntil('room', async () => (await tenant.get('/v1/settings')).status === 200)
  })
})

/** The events that a stream was sent, but for the positions in comments. */
const sentBy = (stream: TestStream) => stream.events().filter(({ event }) => event !== null)

describe('GET /v1/changes/stream', () => {
  test('sends each event as the feed has it, with its id and its type', async () => {
    const tenant = await openTenant('stream')
    await tenant.announce(noted(1))
    using stream = await openStream(app.address, tenant.key)
    expect(stream.status).toBe(200)
    expect(stream.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    })
    await waitUntil('the first event', async () => sentBy(stream).length === 1)
    await tenant.announce(noted(2), noted(3))
    await waitUntil('all events', async () => sentBy(stream).length === 3)
    const { body } = await tenant.get<Page>('/v1/changes')
    expect(stream.text()).toBe(
      `retry: 1000\n\n${body.items
        .map(item => `id: ${item.id}\nevent: ${item.type}\ndata: ${JSON.stringify(item)}\n\n`)
        .join('')}`,
    )
  })

  test(
    'goes on after the last event, a cursor or the end of the feed',
    { tags: ['postgres-16'] },
    async () => {
      const tenant = await openTenant('positions')
      await tenant.announce(noted(1), noted(2), noted(3))
      const { body } = await tenant.get<Page>('/v1/changes?limit=2')
      const [first] = body.items
      const openings: { from: number; query: string; headers: Record<string, string> }[] = [
        { from: 1, query: '', headers: {} },
        { from: 2, query: '', headers: { 'last-event-id': first!.id } },
        { from: 3, query: `?cursor=${body.nextCursor}`, headers: {} },
        { from: 2, query: `?cursor=${body.nextCursor}&start=now`, headers: { 'last-event-id': first!.id } },
        { from: 4, query: '?start=now', headers: {} },
        { from: 4, query: '?types=account.purged', headers: {} },
      ]
      for (const { from, ...opening } of openings) {
        using stream = await openStream(app.address, tenant.key, opening)
        if (from < 4) await waitUntil('the rest', async () => sentBy(stream).length === 4 - from)
        expect(notesOf(sentBy(stream).map(({ data }) => data))).toEqual([1, 2, 3].slice(from - 1))
      }
    },
  )

  test(
    'sends only events that the types and the accounts of the key let through',
    { tags: ['postgres-16'] },
    async () => {
      const tenant = await openTenant('filters')
      const [mine, other] = [
        await sampleAccount(app.db, tenant.tenantId),
        await sampleAccount(app.db, tenant.tenantId),
      ]
      const bound = await app.createKey({ tenantId: tenant.tenantId, accountIds: [mine.id] })
      using stream = await openStream(app.address, bound.text, { query: '?types=webhook.test' })
      await tenant.announce(noted(1, mine.id), noted(2, other.id), noted(3), purged(mine.id))
      await tenant.announce(noted(4, mine.id))
      await waitUntil('both', async () => sentBy(stream).length === 2)
      expect(notesOf(sentBy(stream).map(({ data }) => data))).toEqual([1, 4])
    },
  )

  test('refuses an invalid position', async () => {
    const tenant = await openTenant('refused')
    const ahead = String(10n ** 15n)
    for (const opening of [
      ...['x', '-1', '', '1e3', '9'.repeat(20), '9'.repeat(19), ahead].map(id => ({
        headers: { 'last-event-id': id },
      })),
      { query: '?cursor=AAAA' },
    ]) {
      const answer = await fetch(
        `${app.address}/v1/changes/stream${'query' in opening ? opening.query : ''}`,
        {
          headers: {
            authorization: `Bearer ${tenant.key}`,
            ...('headers' in opening ? opening.headers : {}),
          },
        },
      )
      expect({ status: answer.status, body: await answer.json() }).toMatchObject({
        status: 400,
        body: { code: 'invalid_cursor' },
      })
    }
    expect((await tenant.get('/v1/changes/stream?limit=5')).status).toBe(400)
    expect((await app.as(null).get('/v1/changes/stream')).status).toBe(401)
    // An id that no event has yet is a mistake of the client, and no sign of a restore.
    expect((await tenant.get(`/v1/changes?cursor=${tenant.cursor}`)).status).toBe(200)
  })

  test('ends within seconds of its key', async () => {
    const tenant = await openTenant('revoked')
    const key = await app.createKey({ tenantId: tenant.tenantId })
    using stream = await openStream(app.address, key.text)
    using kept = await openStream(app.address, tenant.key)
    await revokeApiKey(app.db, key.id)
    expect(await stream.ended).toBe(true)
    await tenant.announce(noted(1))
    await waitUntil('the event', async () => sentBy(kept).length === 1)
    expect(sentBy(stream)).toEqual([])
  })

  test('ends with the tenant and with the expiry of its key, too', async () => {
    const [expiring, suspended] = [await openTenant('expiring'), await openTenant('suspended')]
    const key = await app.createKey({ tenantId: expiring.tenantId })
    using first = await openStream(app.address, key.text)
    using second = await openStream(app.address, suspended.key)
    await sql`update api_key set expires_at = clock_timestamp() where id = ${key.id}`.execute(app.db)
    await sql`update tenant set suspended_at = clock_timestamp() where id = ${suspended.tenantId}`.execute(
      app.db,
    )
    expect(await Promise.all([first.ended, second.ended])).toEqual([true, true])
  })

  test('is one request in flight until its client has left, and holds nothing after', async () => {
    const tenant = await openTenant('streams')
    const streams = await Promise.all(Array.from({ length: 16 }, () => openStream(app.address, tenant.key)))
    expect((await tenant.get('/v1/settings')).status).toBe(429)
    await tenant.announce(noted(1))
    await waitUntil('the event', async () => streams.every(stream => sentBy(stream).length === 1))
    for (const stream of streams) stream[Symbol.dispose]()
    await waitUntil('room', async () => (await tenant.get('/v1/settings')).status === 200)
  })

  test('answers HEAD without a stream', async () => {
    const answer = await fetch(`${app.address}/v1/changes/stream`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${app.key}` },
    })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  })
})

describe('when the database is restored', () => {
  let restored: TestApp
  beforeAll(async () => {
    restored = await openTestApp()
  })
  afterAll(() => restored[Symbol.asyncDispose]())

  test(
    'streams and waits end, and the ids of lost events are refused',
    { tags: ['postgres-16'] },
    async () => {
      const { db, tenantId, address, key } = restored
      const announce = (note: number) => inTransaction(db, tenantId, async unit => unit.announce(noted(note)))
      await announce(1)
      await announce(2)
      const { body } = await restored.get<Page>('/v1/changes')
      const [kept, lost] = body.items.map(({ id }) => id)
      using stream = await openStream(address, key, { query: `?cursor=${body.nextCursor}` })
      const wait = restored.get<{ code: string }>(`/v1/changes?waitSeconds=30&cursor=${body.nextCursor}`)
      await waitUntil('both', async () => stream.text() !== '')
      await sql`delete from event where id = ${lost}`.execute(db)
      await recordRestore(db)
      await announce(3)

      expect((await wait).body.code).toBe('invalid_cursor')
      expect(await stream.ended).toBe(true)
      expect(sentBy(stream)).toEqual([])
      const answer = await fetch(`${address}/v1/changes/stream`, {
        headers: { authorization: `Bearer ${key}`, 'last-event-id': lost! },
      })
      expect(await answer.json()).toMatchObject({
        code: 'invalid_cursor',
        message: expect.stringContaining('compare what you hold'),
      })
      using again = await openStream(address, key, { headers: { 'last-event-id': kept! } })
      await waitUntil('the event', async () => sentBy(again).length === 1)
    },
  )
})

test('waits and streams end at once when the service stops, in order', async () => {
  await using stopping = await openTestApp({ database: app.database, keyRing: app.keyRing })
  const { body } = await stopping.get<Page>('/v1/changes?start=now')
  using stream = await openStream(stopping.address, stopping.key, { query: '?start=now' })
  await waitUntil('the stream', async () => stream.text() !== '')
  let isAnswered = false
  const wait = stopping.get<Page>(`/v1/changes?waitSeconds=30&cursor=${body.nextCursor}`)
  void wait.then(() => (isAnswered = true))
  // By then the wait is under way, too: requests of one process are admitted in their order.
  await stopping.get('/v1/settings')
  expect(isAnswered).toBe(false)
  await stopping.stop({ drain: { requestSeconds: 300, downloadSeconds: 300, handedOverSeconds: 300 } })
  expect(await stream.ended).toBe(true)
  expect(await wait).toMatchObject({ status: 200, body: { items: [], nextCursor: body.nextCursor } })
})
