import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import type { Answer } from '../caller.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, GRACE, openSendingApp, readEntry, type SendingApp } from './open-sending.ts'
import { waitForDay } from '../wait-for-day.ts'

beforeEach(waitForDay)

/** More calls than the slow groups that may run at once. */
const MANY_WAITING = 5
/** A send that is inserted later than its own time by more than this gets a new time. */
const LATE_MILLISECONDS = 1_000

let opened: SendingApp
/** Calls that have written the content of their message, and wait until they are released. */
let arrived = 0
let released = Promise.resolve()

beforeAll(async () => {
  const reachPoint = async (point: string) => {
    if (point !== 'content_written') return
    arrived++
    await released
  }
  opened = await openSendingApp({
    app: { roles: ['api'], reachPoint, config: { linksUrl: 'https://links.example.com' } },
  })
})
afterAll(() => opened[Symbol.asyncDispose]())

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

const TABLES_OF_SENDS = ['outbox', 'outbox_content', 'outbox_piece', 'sent_message', 'tracked_send']

type SendAnswer = Answer<OutboxEntry & { code?: string }>

/** Posts messages that are all recorded at the same time, after what `meanwhile` does. */
async function postTogether(
  posts: ReadonlyArray<{ accountId: string; body?: object; key: string }>,
  meanwhile: () => Promise<unknown>,
): Promise<{ answers: SendAnswer[]; repeat(): Promise<SendAnswer[]> }> {
  arrived = 0
  const gate = Promise.withResolvers<void>()
  released = gate.promise
  const sendAt = inAnHour()
  const postAll = () =>
    Promise.all(
      posts.map(({ accountId, body = {}, key }) =>
        opened.app.post<SendAnswer['body']>(
          `/v1/accounts/${accountId}/outbox`,
          { to: [GRACE], subject: key, text: 'Hello.\n', sendAt, ...body },
          { 'idempotency-key': key },
        ),
      ),
    )
  const answers = postAll()
  await waitUntil('all calls', () => Promise.resolve(arrived === posts.length))
  await meanwhile()
  gate.resolve()
  return { answers: await answers, repeat: postAll }
}

async function count(table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${sql.table(table)}`.execute(opened.app.db)
  return rows[0]!.count
}

const kinds = (answers: readonly SendAnswer[]) =>
  answers.map(({ status, body }) => `${status} ${body.code ?? 'ok'}`)

test('sends that arrive together are recorded by one commit, and each refusal is one of its own', async () => {
  const { app } = opened
  const [ada, bob, deleted, paused, small] = await Promise.all(
    Array.from({ length: 5 }, () => connectSender(app, opened)),
  )
  const other = app.as((await app.createKey()).text)
  const html = { html: '<a href="https://example.org/">Look</a>' }
  const posts = [
    { accountId: ada! },
    { accountId: deleted! },
    { accountId: ada!, body: { listId: 'news', to: [{ address: 'list@example.org' }] } },
    { accountId: bob!, body: { ...html, trackOpens: true, trackClicks: true } },
    { accountId: paused! },
    { accountId: bob!, body: { listId: 'unused', to: [{ address: 'Not@Example.org' }] } },
    { accountId: small!, body: { attachments: [{ content: Buffer.alloc(100_000).toString('base64') }] } },
    { accountId: small! },
    ...Array.from({ length: 6 }, (_, nth) => ({ accountId: nth % 2 ? ada! : bob! })),
  ].map((post, nth) => ({ ...post, key: `together-${nth}` }))
  const { answers, repeat } = await postTogether(posts, async () => {
    await other.delete(`/v1/accounts/${deleted}`)
    await other.patch(`/v1/accounts/${paused}`, { status: 'paused' })
    await other.post('/v1/suppressions/global/entries', { addresses: ['not@example.org'] })
    await sql`
      insert into sending_account (account_id, tenant_id, message_bytes_max)
      values (${small}, ${app.tenantId}, 50000)`.execute(app.db)
  })

  const refused = new Map([
    [1, '404 account_not_found'],
    [4, '409 account_paused'],
    [5, '400 suppressed'],
    [6, '400 attachments_too_large'],
  ])
  expect(kinds(answers)).toEqual(posts.map((_, nth) => refused.get(nth) ?? '200 ok'))
  const accepted = answers.flatMap(({ status, body }) => (status === 200 ? [body] : []))
  for (const entry of accepted) expect(await readEntry(app, entry)).toEqual(entry)
  const repeated = await repeat()
  expect(repeated.map(({ body }) => body)).toEqual(answers.map(({ body }) => body))
  for (const table of ['outbox', 'outbox_content', 'outbox_piece', 'sent_message'])
    expect({ table, count: await count(table) }).toEqual({ table, count: accepted.length })

  // The first one, which may be refused, is recorded at once, one that creates its list alone, and those that arrived
  // meanwhile together. Audit row and kept answer are written by the transaction of the entry, and all audit rows of it
  // by one statement.
  const { rows } = await sql<{ transaction: string; count: number; whole: number; inserts: number }>`
    select outbox.xmin::text as transaction, count(*)::int as count, count(*) filter (
      where audit.xmin = outbox.xmin and kept.xmin = outbox.xmin and content.xmin = outbox.xmin)::int as whole,
      count(distinct audit.cmin::text)::int as inserts
    from outbox
    join outbox_content as content on content.outbox_id = outbox.id
    left join audit_open as audit on audit.targets ->> 'outboxId' = outbox.id::text
    left join idempotency_key as kept on kept.key = outbox.subject and kept.status = 200
    group by outbox.xmin::text`.execute(app.db)
  expect(Math.max(...rows.map(({ count: all }) => all))).toBeGreaterThanOrEqual(accepted.length - 2)
  expect(rows.map(({ whole }) => whole)).toEqual(rows.map(({ count: all }) => all))
  expect(rows.map(({ inserts }) => inserts)).toEqual(rows.map(() => 1))
  const lists = await sql<{ id: string }>`select id from suppression_list where id <> 'global'`.execute(
    app.db,
  )
  expect(lists.rows).toEqual([{ id: 'news' }])
  const refusals = await sql<{ error_reason: string }>`
    select error_reason from audit_open where action = 'outbox.create' and status >= 400`.execute(app.db)
  expect(refusals.rows.map(({ error_reason }) => error_reason).toSorted()).toEqual(
    [...refused.values()].map(kind => kind.split(' ')[1]).toSorted(),
  )
})

test('of sends that arrive together, the plan lets as many pass as it has left', async () => {
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const before = await count('outbox')
  const posts = Array.from({ length: 12 }, (_, nth) => ({ accountId, key: `plan-${nth}` }))
  const { answers } = await postTogether(posts, async () => {
    const planId = newId()
    await sql`
      insert into plan (id, name, body_storage_allowed, sends_per_day) values (${planId}, 'small', true, ${before + 5})
    `.execute(app.db)
    await sql`update tenant set plan_id = ${planId} where id = ${app.tenantId}`.execute(app.db)
  })
  expect(kinds(answers).toSorted()).toEqual([
    ...Array.from({ length: 5 }, () => '200 ok'),
    ...Array.from({ length: 7 }, () => '403 plan_limit_sends'),
  ])
  const { rows } = await sql`select count from tenant_sends`.execute(app.db)
  expect(rows).toEqual([{ count: before + 5 }])
  for (const table of ['outbox', 'outbox_content', 'outbox_piece', 'sent_message'])
    expect({ table, count: await count(table) }).toEqual({ table, count: before + 5 })
  await sql`update tenant set plan_id = null`.execute(app.db)
})

test('a call that has lost its Idempotency-Key fails alone, and the others still share a commit', async () => {
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const before = await count('outbox')
  const posts = Array.from({ length: 6 }, (_, nth) => ({ accountId, key: `lost-${nth}` }))
  const { answers } = await postTogether(posts, () =>
    // As if another process had taken the call over.
    sql`update idempotency_key set claim = ${newId()} where key = 'lost-3'`.execute(app.db),
  )
  expect(kinds(answers)).toEqual(
    posts.map(({ key }) => (key === 'lost-3' ? '409 idempotency_key_in_progress' : '200 ok')),
  )
  expect(await count('outbox')).toBe(before + 5)
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from outbox where account_id = ${accountId} group by xmin::text`.execute(
    app.db,
  )
  expect(Math.max(...rows.map(row => row.count))).toBeGreaterThan(1)
})

test('a send whose account is held by another transaction does not keep the others waiting', async () => {
  const { app } = opened
  const [held, free] = await Promise.all([connectSender(app, opened), connectSender(app, opened)])
  const posts = Array.from({ length: 8 }, (_, nth) => ({
    accountId: nth === 5 ? held : free,
    key: `held-${nth}`,
  }))
  const posted = await app.db.transaction().execute(async holder => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(holder)
    await sql`select from account where id = ${held} for update`.execute(holder)
    const all = postTogether(posts, () => Promise.resolve())
    await waitUntil('the others', async () => {
      const { rows } = await sql`select from outbox where account_id = ${free}`.execute(app.db)
      return rows.length === posts.length - 1
    })
    return { all }
  })
  const { answers } = await posted.all
  expect(kinds(answers)).toEqual(posts.map(() => '200 ok'))
})

test('calls that wait for an account, one after the other, keep no other account waiting', async () => {
  const { app } = opened
  const [held, free] = await Promise.all([connectSender(app, opened), connectSender(app, opened)])
  released = Promise.resolve()
  const post = (accountId: string, key: string) =>
    app.post<SendAnswer['body']>(
      `/v1/accounts/${accountId}/outbox`,
      { to: [GRACE], subject: key, text: 'Hello.\n', sendAt: inAnHour() },
      { 'idempotency-key': key },
    )
  const waiting: Array<Promise<SendAnswer>> = []
  await app.db.transaction().execute(async holder => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(holder)
    await sql`select from account where id = ${held} for update`.execute(holder)
    for (let nth = 0; nth < MANY_WAITING; nth++) {
      waiting.push(post(held, `waiting-${nth}`))
      await waitUntil('the call to wait for the account', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
          app.db,
        )
        return rows.length === waiting.length
      })
    }
    const answer = await post(free, 'not-waiting')
    expect(kinds([answer])).toEqual(['200 ok'])
  })
  expect(kinds(await Promise.all(waiting))).toEqual(waiting.map(() => '200 ok'))
})

test('a send that comes alone is recorded by one transaction, as it is answered', async () => {
  const { app } = opened
  const accountId = await connectSender(app, opened)
  released = Promise.resolve()
  const accepted: OutboxEntry[] = []
  // The first is due earlier than the account is looked at, and the last again.
  for (const when of [{ sendAt: inAnHour() }, { sendAt: inAnHour() }, { undoSendSeconds: 30 }, {}]) {
    const body = { to: [GRACE], subject: 'alone', text: 'Hello.\n', ...when }
    const answer = await app.post<OutboxEntry>(`/v1/accounts/${accountId}/outbox`, body)
    expect(answer.status).toBe(200)
    accepted.push(answer.body)
    const { rows } = await sql<{ due_at: Date }>`
      select due_at from sending_account where account_id = ${accountId}`.execute(app.db)
    const earliest = accepted.map(({ sendAt }) => sendAt).toSorted()[0]
    expect(rows.map(row => row.due_at.toISOString())).toEqual([earliest])
  }
  for (const entry of accepted) expect(await readEntry(app, entry)).toEqual(entry)
  const { rows } = await sql<{ is_whole: boolean }>`
    select audit.xmin = outbox.xmin and content.xmin = outbox.xmin and sent.xmin = outbox.xmin as is_whole from outbox
    join outbox_content as content on content.outbox_id = outbox.id
    join sent_message as sent on sent.outbox_id = outbox.id
    join audit_open as audit on audit.targets ->> 'outboxId' = outbox.id::text
    where outbox.account_id = ${accountId}`.execute(app.db)
  expect(rows).toEqual(accepted.map(() => ({ is_whole: true })))
})

test.each<[string, string, (accountId: string) => Promise<unknown>]>([
  ['account_not_found', '404', accountId => opened.app.delete(`/v1/accounts/${accountId}`)],
  ['account_paused', '409', id => opened.app.patch(`/v1/accounts/${id}`, { status: 'paused' })],
  [
    'suppressed',
    '400',
    () => opened.app.post('/v1/suppressions/global/entries', { addresses: ['suppressed@example.org'] }),
  ],
  [
    'plan_limit_sends',
    '403',
    async () => {
      const id = newId()
      await sql`
        insert into plan (id, name, body_storage_allowed, sends_per_day) values (${id}, 'none', true, 0)`.execute(
        opened.app.db,
      )
      await sql`update tenant set plan_id = ${id} where id = ${opened.app.tenantId}`.execute(opened.app.db)
    },
  ],
])('a send that comes alone is refused with %s, and leaves nothing behind', async (code, status, change) => {
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const key = `alone-${code}`
  const before = await Promise.all(TABLES_OF_SENDS.map(count))
  const body = { to: [{ address: `${code}@example.org` }] }
  const { answers, repeat } = await postTogether([{ accountId, body, key }], () => change(accountId))
  await sql`update tenant set plan_id = null`.execute(app.db)
  const expected = [`${status} ${code}`]
  expect(kinds(answers)).toEqual(expected)
  expect(kinds(await repeat())).toEqual(expected)
  expect(await Promise.all(TABLES_OF_SENDS.map(count))).toEqual(before)
})

test('a call that comes alone and has lost its Idempotency-Key leaves nothing behind', async () => {
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const before = await Promise.all(TABLES_OF_SENDS.map(count))
  const { answers } = await postTogether([{ accountId, key: 'lost-alone' }], () =>
    sql`update idempotency_key set claim = ${newId()} where key = 'lost-alone'`.execute(app.db),
  )
  expect(kinds(answers)).toEqual(['409 idempotency_key_in_progress'])
  expect(await Promise.all(TABLES_OF_SENDS.map(count))).toEqual(before)
})

test('a send that comes alone and waits for a connection can be undone for all of its time', async () => {
  const { app } = opened
  const { pool, waitMilliseconds } = app.database
  const accountId = await connectSender(app, opened)
  const held: PoolClient[] = []
  const isLate = () => waitMilliseconds() > 1.5 * LATE_MILLISECONDS
  const free = async () => {
    try {
      await waitUntil('the send to be late', () => Promise.resolve(isLate()))
      return (await held[0]!.query<{ now: Date }>('select clock_timestamp() as now')).rows[0]!.now
    } finally {
      for (const client of held) client.release()
    }
  }
  let freeing: Promise<Date> | null = null
  const body = { sendAt: null, undoSendSeconds: 30 }
  const { answers } = await postTogether([{ accountId, body, key: 'late' }], async () => {
    while (held.length < pool.options.max) held.push(await pool.connect())
    freeing = free()
  })
  expect(kinds(answers)).toEqual(['200 ok'])
  const freedAt = (await freeing!).getTime()
  expect(Date.parse(answers[0]!.body.createdAt)).toBeGreaterThanOrEqual(freedAt - LATE_MILLISECONDS)
  expect(Date.parse(answers[0]!.body.sendAt)).toBe(Date.parse(answers[0]!.body.createdAt) + 30_000)
})
