import { randomBytes } from 'node:crypto'
import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openLosingDatabase } from '../losing-database.ts'
import { openTestApp } from '../open-app.ts'
import { openTestDatabase } from '../open-database.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp } from './open-sending.ts'
import { SOAK } from '../soak.ts'

const TO_LOOPBACK = { egressAllow: ['127.0.0.1/32'], allowPlaintext: true }
const LINKS_URL = 'https://links.example.org'

/** Entries that a merge may have. */
const ENTRIES_MAX = 1_000
/** Messages that are written for this long leave many turns to others. */
const LONG_MILLISECONDS = 1_000
/** Without a turn in between, there would be none. */
const ANSWERED_MIN = 2
/** Messages of the merge that keeps a pace: enough for each process to hand over some. */
const PACED = 4

const entriesOf = (count: number) =>
  Array.from({ length: count }, (_, nth) => ({ to: { address: `reader-${nth}@example.org` } }))

test('a merge whose commit is answered by nobody is sent once, and its key has the answer', async () => {
  await using opened = new AsyncDisposableStack()
  const real = opened.use(await openTestDatabase())
  const losing = opened.use(await openLosingDatabase(real))
  let isArmed = false
  const { app, imap, sink } = opened.use(
    await openSendingApp({
      app: {
        database: losing.database,
        reachPoint: (point, mergeId) => {
          // Its row of the audit log names it.
          if (point === 'accept_commit' && isArmed) losing.loseNextCommit(mergeId)
        },
      },
    }),
  )
  const accountId = await connectSender(app, { imap, sink })
  const attached = randomBytes(300_000).toString('base64')
  const ask = () =>
    fetch(`${app.address}/v1/accounts/${accountId}/mail-merges`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${app.key}`,
        'content-type': 'application/json',
        'idempotency-key': 'lost',
      },
      body: JSON.stringify({
        subject: 'News',
        text: 'There is news.',
        attachments: [{ filename: 'a.bin', content: attached }],
        entries: entriesOf(30),
      }),
    })
  isArmed = true
  const first = await ask()
  isArmed = false
  // Whether it was accepted is unknown.
  expect([first.status, losing.lost()]).toEqual([500, 1])
  const second = await ask()
  const { items } = (await second.json()) as { items: MergeItem[] }
  expect({ status: second.status, failed: items.filter(({ error }) => error !== null) }).toEqual({
    status: 200,
    failed: [],
  })
  await waitUntil('all to be sent', async () => {
    const { rows } = await sql`select from outbox where status <> 'sent'`.execute(real.db)
    return rows.length === 0
  })
  const accepted = await sink.accepted()
  expect(accepted.flatMap(({ to }) => to).toSorted()).toEqual(
    entriesOf(30)
      .map(({ to }) => to.address)
      .toSorted(),
  )
  expect(accepted.filter(message => message.content.length < 300_000)).toEqual([])
})

test('a merge with more links than are kept in memory is refused, and leaves nothing behind', async () => {
  await using sending = await openSendingApp({ app: { config: { linksUrl: LINKS_URL } } })
  const { app } = sending
  const accountId = await connectSender(app, sending)
  // Random text cannot be compressed: 90 KB for each message.
  const links = Array.from({ length: 30 }, () => {
    const path = randomBytes(3_000).toString('base64url')
    return `<a href="https://example.org/${path}">x</a>`
  })
  const answer = await app.post(`/v1/accounts/${accountId}/mail-merges`, {
    subject: 'News',
    html: links.join('\n'),
    text: 'News',
    trackClicks: true,
    entries: entriesOf(600),
  })
  expect(answer).toMatchObject({
    status: 413,
    body: { code: 'payload_too_large', message: expect.stringContaining('fewer recipients') },
  })
  const { rows } = await sql`
    select (select count(*) from outbox)::int as entries, (select count(*) from outbox_content)::int as contents,
      (select count(*) from outbox_piece)::int as pieces, (select count(*) from sent_message)::int as known,
      (select count(*) from tracked_send)::int as tracked`.execute(app.db)
  expect(rows).toEqual([{ entries: 0, contents: 0, pieces: 0, known: 0, tracked: 0 }])
})

test('other calls are answered while the messages of a large merge are written', SOAK, async () => {
  const writing = { isUnderWay: false, begunAt: 0, milliseconds: 0 }
  await using sending = await openSendingApp({
    app: {
      reachPoint: point => {
        if (point === 'content_write')
          Object.assign(writing, { isUnderWay: true, begunAt: performance.now() })
        if (point !== 'content_written') return
        writing.isUnderWay = false
        writing.milliseconds = performance.now() - writing.begunAt
      },
    },
  })
  const { app } = sending
  const accountId = await connectSender(app, sending)
  const merge = (count: number) =>
    app.post<{ items: MergeItem[] }>(`/v1/accounts/${accountId}/mail-merges`, {
      subject: 'News',
      html: `<p>${'There is news. '.repeat(10_000)}</p>`,
      text: 'News',
      sendAt: new Date(Date.now() + 3_600_000).toISOString(),
      entries: entriesOf(count),
    })

  // Nothing else is waited for while messages are written, so the calls have only the turns that are left to them. A call
  // takes some turns, however fast the machine is, so a fast one writes more messages.
  let answered = 0
  for (let count = 125; count <= ENTRIES_MAX && writing.milliseconds < LONG_MILLISECONDS; count *= 2) {
    answered = 0
    const merging = { isOver: false }
    const over = merge(count).finally(() => (merging.isOver = true))
    while (!merging.isOver) {
      const begun = writing.isUnderWay
      expect((await fetch(`${app.address}/health/live`)).status).toBe(200)
      if (begun && writing.isUnderWay) answered += 1
    }
    expect((await over).status).toBe(200)
  }
  expect(answered).toBeGreaterThanOrEqual(ANSWERED_MIN)
})

test('two processes keep the order and the pace of one merge, and send nothing twice', async () => {
  await using sending = await openSendingApp()
  const { app, imap, sink } = sending
  await using other = await openTestApp({
    roles: ['jobs'],
    database: app.database,
    keyRing: app.keyRing,
    ...TO_LOOPBACK,
  })
  const user = await imap.addUser()
  const accountId = await connectSender(app, { imap, sink }, { user })
  const { body } = await app.post<{ items: MergeItem[] }>(`/v1/accounts/${accountId}/mail-merges`, {
    subject: 'News',
    text: 'There is news.',
    intervalSeconds: 1,
    entries: entriesOf(PACED),
  })
  const ids = body.items.map(({ outboxId }) => outboxId)
  const gaps = await waitUntil('all to be handed over', async () => {
    const { rows } = await sql<{ gap: number | null }>`
      select extract(epoch from handed_over_at - lag(handed_over_at) over (order by handed_over_at))::float8 as gap
      from outbox where id = any(${ids}::uuid[]) and status = 'sent' order by handed_over_at`.execute(
      other.db,
    )
    return rows.length === ids.length ? rows.slice(1).map(({ gap }) => gap ?? 0) : null
  })
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(1)
  expect((await sink.accepted()).flatMap(({ to }) => to)).toEqual(
    entriesOf(PACED).map(({ to }) => to.address),
  )
})
