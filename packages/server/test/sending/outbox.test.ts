/** @module-tag postgres-16-in-soak */
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  GRACE,
  openSendingApp,
  openSendingTenant,
  readEntry,
  send,
  sendEvents,
  waitForStatus,
} from './open-sending.ts'
import { waitForDay } from '../wait-for-day.ts'

beforeEach(waitForDay)

const running = useServer(() => openSendingApp())

const HOUR_MS = 3_600_000
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()

describe('a send', () => {
  test('is accepted, handed over once, and announced', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink, imap } = opened
    const user = await imap.addUser()
    const accountId = await connectSender(app, opened, { user })
    const entry = await send(app, accountId, {
      cc: [{ name: 'Max', address: 'max@example.org' }],
      bcc: [{ address: 'hidden@example.org' }],
      reference: 'ticket-1',
    })
    expect(entry).toMatchObject({
      accountId,
      status: 'queued',
      from: { name: 'Ada Lovelace', address: user.email },
      to: [{ name: null, ...GRACE }],
      bcc: [{ name: null, address: 'hidden@example.org' }],
      subject: 'Hello',
      snippet: 'Hello, Grace.',
      reference: 'ticket-1',
      attempts: 0,
      lastError: null,
    })

    const sent = await waitUntil('the send', async () => {
      const askedAt = performance.now()
      const { body } = await app.get<OutboxEntry>(
        `/v1/accounts/${accountId}/outbox/${entry.id}?waitSeconds=30`,
      )
      if (body.status === 'sent') return body
      // On a slow machine the wait may be over first.
      expect(performance.now() - askedAt).toBeGreaterThan(29_000)
      return null
    })
    expect(sent).toMatchObject({ id: entry.id, attempts: 1, nextAttemptAt: null })
    const [message, ...others] = await sink.accepted()
    expect(others).toEqual([])
    expect(message).toMatchObject({
      from: user.email,
      to: ['grace@example.org', 'max@example.org', 'hidden@example.org'],
      messageId: entry.internetMessageId,
    })
    expect(message!.content).toContain(`X-Waxwing-Outbox: ${entry.id}\r\n`)
    expect(message!.content).not.toContain('hidden@example.org')
    expect(await sendEvents(app)).toMatchObject([{ type: 'send.sent', data: { outbox: sent } }])
    const { rows } = await sql`select from outbox_content where account_id = ${accountId}`.execute(app.db)
    expect(rows).toEqual([])
  })

  test('with the same Idempotency-Key is accepted once', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    const ask = async () => {
      const answer = await fetch(`${app.address}/v1/accounts/${accountId}/outbox`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${app.key}`,
          'content-type': 'application/json',
          'idempotency-key': 'once',
        },
        body: JSON.stringify({ to: [GRACE], text: 'once' }),
      })
      return (await answer.json()) as OutboxEntry
    }
    const first = await ask()
    expect(await ask()).toEqual(first)
    await waitForStatus(app, first, 'sent')
    expect(await sink.accepted()).toHaveLength(1)
  })

  test('of a large attachment arrives whole', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    const bytes = Buffer.alloc(6 * 1024 * 1024)
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at)
    const content = bytes.toString('base64')
    const entry = await send(app, accountId, { attachments: [{ filename: 'a.bin', content }] })
    expect(entry).toMatchObject({ hasAttachments: true })
    await waitForStatus(app, entry, 'sent')
    const [message] = await sink.accepted()
    expect(message!.content.replaceAll('\r\n', '')).toContain(content)
  })
})

describe('a refused send', () => {
  test('is answered with its reason, and leaves nothing behind', async () => {
    await using opened = await openSendingTenant(running())
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const outbox = `/v1/accounts/${accountId}/outbox`
    const large = Buffer.alloc(26 * 1024 * 1024).toString('base64')
    const refusals: Array<[object, number, string]> = [
      [{ text: 'to nobody' }, 400, 'no_recipients'],
      [{ to: [GRACE], from: { address: 'other@example.org' } }, 400, 'from_not_allowed'],
      [{ to: [GRACE], inReplyTo: newId() }, 422, 'unknown_reply_target'],
      [{ to: [GRACE], forwardOf: newId() }, 422, 'unknown_message'],
      [{ to: [GRACE], attachments: [{ messageId: newId(), attachmentId: '2' }] }, 422, 'unknown_message'],
      [{ to: [GRACE], attachments: [{ content: large }] }, 400, 'attachments_too_large'],
      [{ to: [GRACE], sendAt: inHours(366 * 24) }, 400, 'invalid_input'],
      [{ to: [GRACE], sendAt: inHours(-1) }, 400, 'invalid_input'],
      [{ to: [{ address: 'a\r\nb@example.org' }] }, 400, 'invalid_input'],
    ]
    for (const [body, status, code] of refusals)
      expect(await app.post(outbox, body)).toMatchObject({ status, body: { code } })
    const { body } = await app.post<{ data: { issues: unknown } }>(outbox, {
      to: [GRACE],
      sendAt: inHours(-1),
    })
    expect(body.data.issues).toEqual([
      { path: ['sendAt'], message: 'must be at most 60 seconds in the past' },
    ])

    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    expect(await app.post(outbox, { to: [GRACE] })).toMatchObject({
      status: 409,
      body: { code: 'account_paused' },
    })
    for (const table of ['outbox', 'outbox_content', 'sent_message']) {
      const { rows } = await sql`
        select from ${sql.table(table)} where account_id = ${accountId}`.execute(app.db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
    const { rows } = await sql`select from tenant_sends where tenant_id = ${app.tenantId}`.execute(app.db)
    expect(rows).toEqual([])
  })

  test('is what the tenant may not pay for, or the plan has none left for', async () => {
    await using opened = await openSendingTenant(running())
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const outbox = `/v1/accounts/${accountId}/outbox`
    const planId = newId()
    await sql`
      insert into plan (id, name, body_storage_allowed, sends_per_day) values (${planId}, 'small', true, 3)
    `.execute(app.db)
    await sql`update tenant set plan_id = ${planId} where id = ${app.tenantId}`.execute(app.db)
    const many = await Promise.all(
      Array.from({ length: 12 }, () => app.post(outbox, { to: [GRACE], sendAt: inHours(1) })),
    )
    const codes = many.map(({ status, body }) => `${status} ${String(body['code'] ?? 'ok')}`).toSorted()
    expect(codes).toEqual([
      ...Array.from({ length: 3 }, () => '200 ok'),
      ...Array.from({ length: 9 }, () => '403 plan_limit_sends'),
    ])
    await sql`update plan set sends_per_day = null where id = ${planId}`.execute(app.db)
    await sql`update tenant set past_due_at = now() where id = ${app.tenantId}`.execute(app.db)
    expect(await app.post(outbox, { to: [GRACE] })).toMatchObject({
      status: 402,
      body: { code: 'billing_past_due' },
    })
    await expect(connectSender(app, opened)).rejects.toThrow('billing_past_due')
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from outbox where tenant_id = ${app.tenantId}`.execute(app.db)
    expect(rows[0]?.count).toBe(3)
  })
})

describe('a scheduled send', () => {
  test('waits, is moved, and is sent when it is due', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    const sendAt = inHours(1)
    const entry = await send(app, accountId, { sendAt })
    expect(entry).toMatchObject({ status: 'queued', sendAt, nextAttemptAt: sendAt })
    const path = `/v1/accounts/${accountId}/outbox/${entry.id}`
    const later = inHours(2)
    expect(await app.patch(path, { sendAt: later })).toMatchObject({ status: 200, body: { sendAt: later } })
    expect(await app.patch(path, { sendAt: inHours(-1) })).toMatchObject({ status: 400 })
    expect(await app.patch(path, {})).toMatchObject({ status: 400, body: { code: 'invalid_input' } })
    expect(await sink.accepted()).toEqual([])
    expect(await app.patch(path, { sendAt: null })).toMatchObject({ status: 200 })
    await waitForStatus(app, entry, 'sent')
    expect(await app.patch(path, { sendAt: null })).toMatchObject({
      status: 409,
      body: { code: 'send_not_reschedulable' },
    })
    expect(await app.delete(path)).toMatchObject({ status: 409, body: { code: 'send_not_cancellable' } })
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual([
      'send.rescheduled',
      'send.rescheduled',
      'send.sent',
    ])
  })

  test('is looked at in time although its account was served before its acceptance was committed', async () => {
    await using opened = await openSendingTenant(running())
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const [earlier, sendAt] = [await send(app, accountId, { sendAt: inHours(1) }), inHours(2)]
    const { accepting } = await app.db.transaction().execute(async holder => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(holder)
      // The row of the audit log is the last that is written before the commit. Others may still read the table.
      await sql`lock table audit_open in share mode`.execute(holder)
      const posted = send(app, accountId, { sendAt })
      await waitUntil('the send to be inserted', async () => {
        const { rows } = await sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
            and query like 'insert into audit_open%'`.execute(app.db)
        return rows.length === 1
      })
      // The earlier one becomes due now. A call that moves it would wait for its row of the audit log, too.
      await sql`update outbox set due_at = clock_timestamp() where id = ${earlier.id}`.execute(app.db)
      await sql`
        update sending_account set due_at = clock_timestamp() where account_id = ${accountId}`.execute(app.db)
      await waitForStatus(app, earlier, 'sent')
      return { accepting: posted }
    })
    expect(await accepting).toMatchObject({ sendAt })
    const { rows } = await sql`
      select due_at <= ${sendAt} as is_in_time from sending_account where account_id = ${accountId}`.execute(
      app.db,
    )
    expect(rows).toEqual([{ is_in_time: true }])
  })

  test('can be undone in its first seconds, without an event', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened, { settings: { undoSendSeconds: 60 } })
    const entry = await send(app, accountId)
    expect(Date.parse(entry.sendAt) - Date.parse(entry.createdAt)).toBeGreaterThan(59_000)
    const path = `/v1/accounts/${accountId}/outbox/${entry.id}`
    expect(await app.delete(path)).toMatchObject({ status: 200, body: null })
    expect(await readEntry(app, entry)).toMatchObject({ status: 'cancelled', nextAttemptAt: null })
    expect(await app.delete(path)).toMatchObject({ status: 409, body: { code: 'send_not_cancellable' } })
    const other = await send(app, accountId, { undoSendSeconds: 0 })
    await waitForStatus(app, other, 'sent')
    expect((await sink.accepted()).map(({ messageId }) => messageId)).toEqual([other.internetMessageId])
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.sent'])
  })
})

describe('the list', () => {
  test('shows entries newest first, by page, and narrowed by filters', async () => {
    await using opened = await openSendingApp({ app: { roles: ['api'] } })
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const entries: OutboxEntry[] = []
    for (const reference of ['a', 'b', 'a', 'c']) entries.push(await send(app, accountId, { reference }))
    await app.delete(`/v1/accounts/${accountId}/outbox/${entries[3]!.id}`)
    const list = async (query: string) => {
      const { body } = await app.get<{ items: OutboxEntry[]; nextCursor: string | null }>(
        `/v1/accounts/${accountId}/outbox?${query}`,
      )
      return body
    }
    const ids = (indexes: number[]) => indexes.map(index => entries[index]!.id)
    const first = await list('limit=3')
    expect(first.items.map(({ id }) => id)).toEqual(ids([3, 2, 1]))
    const rest = await list(`limit=3&cursor=${first.nextCursor}`)
    expect(rest).toMatchObject({ items: [{ id: entries[0]!.id }], nextCursor: null })
    expect((await list('reference=a')).items.map(({ id }) => id)).toEqual(ids([2, 0]))
    expect((await list('status=cancelled,sent')).items.map(({ id }) => id)).toEqual(ids([3]))
    expect((await list(`since=${entries[2]!.createdAt}`)).items.map(({ id }) => id)).toEqual(ids([3, 2]))
    expect((await list(`until=${entries[1]!.createdAt}`)).items.map(({ id }) => id)).toEqual(ids([0]))
    expect(
      await app.get(`/v1/accounts/${accountId}/outbox?since=${inHours(1)}&until=${inHours(0)}`),
    ).toMatchObject({ status: 400, body: { code: 'invalid_range' } })
    expect(await app.get(`/v1/accounts/${accountId}/outbox/${newId()}`)).toMatchObject({
      status: 404,
      body: { code: 'send_not_found' },
    })
  })
})
