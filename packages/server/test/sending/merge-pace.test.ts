import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { waitUntil } from '../wait-until.ts'
import { merging, readers } from './merging.ts'
import { connectSender, openSendingApp, send, type SendingApp, waitForStatus } from './open-sending.ts'
import { waitForDay } from '../wait-for-day.ts'

beforeEach(waitForDay)

let opened: SendingApp
beforeAll(async () => {
  opened = await openSendingApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

const { acceptedBy, listMerge, merge, untilEnded } = merging(() => opened)

describe('the plan', () => {
  test('leaves the place of an entry that cannot be rendered to the next one', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const planId = newId()
    await sql`
      insert into plan (id, name, body_storage_allowed, sends_per_day)
      select ${planId}, 'two more', true, count(*) + 2 from outbox where tenant_id = ${app.tenantId}`.execute(
      app.db,
    )
    await sql`update tenant set plan_id = ${planId} where id = ${app.tenantId}`.execute(app.db)
    try {
      const items = await merge(accountId, {
        subject: undefined,
        text: undefined,
        render: { text: '{{params.name}}' },
        entries: ['x'.repeat(270_000), 'Ada', 'Bob', 'Cleo'].map(name => ({
          to: { address: 'reader@example.org' },
          params: { name },
        })),
      })
      expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
        'params_too_large',
        null,
        null,
        'plan_limit_sends',
      ])
    } finally {
      await sql`update tenant set plan_id = null where id = ${app.tenantId}`.execute(app.db)
    }
  })

  test('lets merges and single sends have what the day has left, however many ask at once', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from outbox where tenant_id = ${app.tenantId}`.execute(app.db)
    const queuedBefore = rows[0]!.count
    const planId = newId()
    await sql`
      insert into plan (id, name, body_storage_allowed, sends_per_day)
      values (${planId}, 'small', true, ${queuedBefore + 20})`.execute(app.db)
    await sql`update tenant set plan_id = ${planId} where id = ${app.tenantId}`.execute(app.db)
    try {
      const later = new Date(Date.now() + 3_600_000).toISOString()
      const [singles, ...merges] = await Promise.all([
        Promise.all(
          Array.from({ length: 4 }, () =>
            app.post(`/v1/accounts/${accountId}/outbox`, {
              to: readers(1).map(({ to }) => to),
              sendAt: later,
            }),
          ),
        ),
        ...Array.from({ length: 3 }, () => merge(accountId, { entries: readers(8), sendAt: later })),
      ])
      const single = singles.filter(({ status }) => status === 200).length
      const queued = merges.map(items => items.filter(({ outboxId }) => outboxId !== null).length)
      expect(single + queued.reduce((sum, count) => sum + count, 0)).toBe(20)
      for (const [nth, items] of merges.entries())
        expect(items.map(({ error }) => error?.reason ?? null)).toEqual([
          ...Array.from({ length: queued[nth]! }, () => null),
          ...Array.from({ length: 8 - queued[nth]! }, () => 'plan_limit_sends'),
        ])
      // Messages that were not queued left nothing behind.
      const left = await sql<{ entries: number; known: number; contents: number }>`
        select (select count(*) from outbox where account_id = ${accountId})::int as entries,
          (select count(*) from sent_message where account_id = ${accountId})::int as known,
          (select count(*) from outbox_content where account_id = ${accountId})::int as contents`.execute(
        app.db,
      )
      expect(left.rows).toEqual([{ entries: 20, known: 20, contents: 20 }])
      const more = await merge(accountId, { entries: readers(2) })
      expect(more.map(({ error }) => error?.reason)).toEqual(['plan_limit_sends', 'plan_limit_sends'])
    } finally {
      await sql`update tenant set plan_id = null where id = ${app.tenantId}`.execute(app.db)
    }
  })
})

describe('a merge that waits', () => {
  test('is overtaken by a single send of its account', async () => {
    const { app, imap, sink } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const connections = new Set<number>()
    const handedOver: Array<{ messageId: string; answer(): void }> = []
    sink.behave = async ({ step, argument, connection }) => {
      if (step === 'mail' && argument === user.email) connections.add(connection)
      if (step === 'dot' && connections.has(connection))
        await new Promise<void>(answer => handedOver.push({ messageId: argument, answer }))
      return null
    }
    await merge(accountId, { entries: readers(40) })
    await waitUntil('three messages to be handed over', async () => handedOver.length === 3)
    const single = await send(app, accountId, { subject: 'Urgent' })
    handedOver[0]!.answer()
    await waitUntil('the next one', async () => handedOver.length === 4)
    const next = handedOver[3]!.messageId
    sink.behave = () => null
    for (const { answer } of handedOver) answer()
    expect(next).toBe(single.internetMessageId)
    await waitUntil('all messages', async () => (await acceptedBy(user.email)).length === 41)
  })

  test('keeps the time between its hand-overs, also after a pause, and other mail does not wait for it', async () => {
    const { app, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const items = await merge(accountId, { entries: readers(3), intervalSeconds: 1, sendAt: later })
    const [{ mailMergeId } = { mailMergeId: '' }] = items
    const planned = (await listMerge(accountId, mailMergeId)).toReversed()
    expect(planned.map(({ sendAt }) => Date.parse(sendAt) - Date.parse(later))).toEqual([0, 1000, 2000])
    // As if the account could not be used meanwhile: all of them are due.
    await sql`update outbox set due_at = now() where account_id = ${accountId}`.execute(app.db)
    await sql`update mail_merge_pace set due_at = clock_timestamp() where account_id = ${accountId}`.execute(
      app.db,
    )
    await sql`update sending_account set due_at = clock_timestamp() where account_id = ${accountId}`.execute(
      app.db,
    )
    const single = await send(app, accountId)
    await waitForStatus(app, single, 'sent')
    await untilEnded(accountId, mailMergeId)
    expect(await gapsOf(mailMergeId)).toHaveLength(2)
    for (const gap of await gapsOf(mailMergeId)) expect(gap).toBeGreaterThanOrEqual(1)
    const order = (await acceptedBy(user.email)).flatMap(({ to }) => (to[0]!.startsWith('reader') ? to : []))
    expect(order).toEqual(readers(3).map(({ to }) => to.address))
    await waitUntil('nobody to look at the merge any more', async () => {
      const { rows } = await sql<{ due_at: Date | null }>`
        select due_at from mail_merge_pace where id = ${mailMergeId}`.execute(app.db)
      return rows[0]?.due_at === null
    })
  })

  test('lets an entry be sent at once, however late the others are', async () => {
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const later = new Date(Date.now() + 3_600_000).toISOString()
    const items = await merge(accountId, { entries: readers(3), intervalSeconds: 3600, sendAt: later })
    const { outboxId, mailMergeId } = items[2]!
    const path = `/v1/accounts/${accountId}/outbox/${outboxId}`
    const { body: entry } = await app.patch<OutboxEntry>(path, { sendAt: null })
    await waitForStatus(app, entry, 'sent')
    const entries = await listMerge(accountId, mailMergeId)
    expect(entries.map(({ status }) => status)).toEqual(['sent', 'queued', 'queued'])
  })

  test('tries an entry again in time, however late the others are', async () => {
    const { app, imap, sink } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const later = new Date(Date.now() + 3_600_000).toISOString()
    sink.behave = ({ step, argument, times }) =>
      step === 'rcpt' && argument === 'again@example.org' && times === 1 ? '451 4.2.1 later' : null
    const items = await merge(accountId, {
      intervalSeconds: 1,
      entries: [{ to: { address: 'again@example.org' } }, { ...readers(1)[0], sendAt: later }],
    })
    const path = `/v1/accounts/${accountId}/outbox/${items[0]!.outboxId}`
    const entry = await waitUntil('the first attempt', async () => {
      const { body } = await app.get<OutboxEntry>(path)
      return body.attempts === 1 && body
    })
    // As if two minutes had passed.
    for (const table of ['outbox', 'mail_merge_pace', 'sending_account'])
      await sql`
        update ${sql.table(table)} set due_at = due_at - interval '2 minutes' where account_id = ${accountId}
      `.execute(app.db)
    await waitForStatus(app, entry, 'sent')
    sink.behave = () => null
  })

  /** Seconds between the hand-overs of a merge. */
  async function gapsOf(mailMergeId: string): Promise<number[]> {
    const { rows } = await sql<{ gap: number }>`
      select extract(epoch from handed_over_at - lag(handed_over_at) over (order by handed_over_at))::float8 as gap
      from outbox where mail_merge_id = ${mailMergeId} order by handed_over_at offset 1`.execute(
      opened.app.db,
    )
    return rows.map(({ gap }) => gap)
  }
})
