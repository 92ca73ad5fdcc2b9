import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { GOOD_EXTENSIONS } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  GRACE,
  openSendingApp,
  readEntry,
  send,
  sendEvents,
  waitForEntry,
  waitForStatus,
} from './open-sending.ts'

const HOUR_MS = 3_600_000
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()

describe('a send', () => {
  test('is accepted, handed over once, and announced', async () => {
    await using opened = await openSendingApp()
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

    const { body: sent } = await app.get<OutboxEntry>(
      `/v1/accounts/${accountId}/outbox/${entry.id}?waitSeconds=30`,
    )
    expect(sent).toMatchObject({ id: entry.id, status: 'sent', attempts: 1, nextAttemptAt: null })
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
    const { rows } = await sql`select from outbox_content`.execute(app.db)
    expect(rows).toEqual([])
  })

  test('with the same Idempotency-Key is accepted once', async () => {
    await using opened = await openSendingApp()
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
    await using opened = await openSendingApp()
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

describe('what is refused', () => {
  test('says why, and leaves nothing behind', async () => {
    await using opened = await openSendingApp()
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
    for (const table of ['outbox', 'outbox_content', 'sent_message', 'tenant_sends']) {
      const { rows } = await sql`select from ${sql.table(table)}`.execute(app.db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
  })

  test('is what the tenant may not pay for, or the plan has none left for', async () => {
    await using opened = await openSendingApp()
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
    await sql`update plan set sends_per_day = null`.execute(app.db)
    await sql`update tenant set past_due_at = now()`.execute(app.db)
    expect(await app.post(outbox, { to: [GRACE] })).toMatchObject({
      status: 402,
      body: { code: 'billing_past_due' },
    })
    await expect(connectSender(app, opened)).rejects.toThrow('billing_past_due')
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from outbox`.execute(app.db)
    expect(rows[0]?.count).toBe(3)
  })
})

describe('a scheduled send', () => {
  test('waits, is moved, and is sent when it is due', async () => {
    await using opened = await openSendingApp()
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

  test('is sent although its account was served while its acceptance was not yet committed', async () => {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    let isHeld = false
    const reachPoint = async (point: string) => {
      if (point !== 'accept_commit' || !isHeld) return
      reached.resolve()
      await released.promise
    }
    await using opened = await openSendingApp({ app: { reachPoint } })
    const { app } = opened
    const accountId = await connectSender(app, opened)
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString()
    const earlier = await send(app, accountId, { sendAt: inSeconds(3) })
    isHeld = true
    const accepting = send(app, accountId, { sendAt: inSeconds(4) })
    await reached.promise
    await waitForStatus(app, earlier, 'sent')
    released.resolve()
    await waitForStatus(app, await accepting, 'sent')
  })

  test('can be undone in its first seconds, without an event', async () => {
    await using opened = await openSendingApp()
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

const makeDue = async (app: { db: Parameters<ReturnType<typeof sql>['execute']>[0] }) => {
  await sql`update outbox set due_at = clock_timestamp() where due_at is not null`.execute(app.db)
  await sql`update sending_account set due_at = clock_timestamp(), paused_until = null`.execute(app.db)
}

describe('a server', () => {
  test('that puts the message off is asked again, and then takes it', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step, times }) => (step === 'rcpt' && times === 1 ? '450 4.2.0 greylisted' : null)
    const entry = await send(app, accountId)
    const retrying = await waitForEntry(app, entry, 'a retry', ({ attempts }) => attempts === 1)
    expect(retrying).toMatchObject({
      status: 'queued',
      lastError: { reason: 'provider_unavailable', message: expect.stringContaining('greylisted') },
    })
    const pause = Date.parse(retrying.nextAttemptAt!) - Date.parse(retrying.updatedAt)
    expect(Math.round(pause / 1_000)).toBe(60)
    await makeDue(app)
    expect(await waitForStatus(app, entry, 'sent')).toMatchObject({ attempts: 2, lastError: null })
    expect(await sink.accepted()).toHaveLength(1)
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.retrying', 'send.sent'])
  })

  test('that refuses a recipient for good and puts another off sends to each once', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step, argument, times }) => {
      if (step !== 'rcpt') return null
      if (argument === 'gone@example.org') return '550 5.1.1 no such user'
      return argument === 'later@example.org' && times === 1 ? '451 4.3.0 later' : null
    }
    const to = ['gone', 'here', 'later'].map(name => ({ address: `${name}@example.org` }))
    const entry = await send(app, accountId, { to })
    const gone = {
      address: 'gone@example.org',
      status: '5.1.1',
      message: expect.stringContaining('no such user'),
    }
    const sent = await waitForStatus(app, entry, 'sent')
    expect(sent).toMatchObject({ rejectedRecipients: [gone], nextAttemptAt: expect.any(String) })
    await makeDue(app)
    const done = await waitForEntry(app, entry, 'the rest', ({ attempts }) => attempts === 2)
    expect(done).toMatchObject({
      status: 'sent',
      rejectedRecipients: [gone],
      nextAttemptAt: null,
      sentAt: sent.sentAt,
    })
    const accepted = await sink.accepted()
    expect(accepted.map(message => message.to)).toEqual([['here@example.org'], ['later@example.org']])
    const [first, second] = accepted.map(({ content }) => content)
    expect(second).toBe(first)
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.sent'])
  })

  test('without SMTPUTF8 gets no message for an address beyond ASCII, in any spelling', async () => {
    const extensions = GOOD_EXTENSIONS.filter(name => name !== 'SMTPUTF8')
    await using opened = await openSendingApp({ sink: { extensions } })
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    const entry = await send(app, accountId, { to: [{ address: 'жук@example.org' }, GRACE] })
    expect(await waitForStatus(app, entry, 'sent')).toMatchObject({
      rejectedRecipients: [{ address: 'жук@example.org', status: '5.6.7' }],
    })
    expect((await sink.accepted()).map(({ to }) => to)).toEqual([[GRACE.address]])
    const alone = await send(app, accountId, { to: [{ address: 'жук@example.org' }] })
    expect(await waitForStatus(app, alone, 'failed')).toMatchObject({
      lastError: { reason: 'provider_rejected' },
    })
    expect(await sink.accepted()).toHaveLength(1)
  })

  test('that refuses everybody fails the send at once', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step }) => (step === 'dot' ? '554 5.7.1 spam' : null)
    const entry = await send(app, accountId)
    expect(await waitForStatus(app, entry, 'failed')).toMatchObject({
      lastError: { reason: 'provider_rejected', message: expect.stringContaining('spam') },
    })
    expect(await sendEvents(app)).toMatchObject([
      { type: 'send.failed', data: { error: { reason: 'provider_rejected' } } },
    ])
  })

  test('that is in trouble holds the whole account back, and one message tries it first', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step }) => (step === 'mail' ? '421 4.7.0 too many connections' : null)
    const first = await send(app, accountId)
    const held = await waitForEntry(app, first, 'a retry', ({ attempts }) => attempts === 1)
    expect(held).toMatchObject({ status: 'queued' })
    const others = [await send(app, accountId), await send(app, accountId)]
    const mails = () => sink.commands.filter(line => line.startsWith('MAIL')).length
    const before = mails()
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from due_at - clock_timestamp())::float8 as seconds from sending_account
    `.execute(app.db)
    expect(rows[0]!.seconds).toBeGreaterThan(30)

    await makeDue(app)
    await waitForEntry(app, first, 'the next try', ({ attempts }) => attempts === 2)
    expect(mails()).toBe(before + 1)
    for (const other of others)
      expect(await readEntry(app, other)).toMatchObject({ status: 'queued', attempts: 0 })

    sink.behave = () => null
    await makeDue(app)
    for (const entry of [first, ...others]) await waitForStatus(app, entry, 'sent')
    expect(await sink.accepted()).toHaveLength(3)
  })

  test('that loses its answer leaves the outcome unknown: it is never sent again, and fails in the end', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step }) => (step === 'dot' ? { does: 'accept_and_drop' } : null)
    const entry = await send(app, accountId)
    await waitUntil('the look-up', async () => {
      const { rows } = await sql`select from outbox where phase = 'unknown'`.execute(app.db)
      return rows.length > 0
    })
    expect(await readEntry(app, entry)).toMatchObject({ status: 'sending' })
    await waitUntil('the end', async () => {
      await sql`update outbox set task_at = clock_timestamp() where task is not null and task_by is null`.execute(
        app.db,
      )
      return (await readEntry(app, entry)).status === 'failed'
    })
    expect(await readEntry(app, entry)).toMatchObject({ lastError: { reason: 'outcome_unknown' } })
    expect(await sink.accepted()).toHaveLength(1)
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.failed'])
  })
})

describe('an account', () => {
  test('that is paused lets its messages wait, and fails them 48 hours after they were due', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    const waiting = await send(app, accountId, { sendAt: inHours(1) })
    const old = await send(app, accountId, { sendAt: inHours(1) })
    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    await sql`
      update outbox set send_at = clock_timestamp() - interval '49 hours', due_at = clock_timestamp()
      where id = ${old.id}`.execute(app.db)
    await sql`update outbox set due_at = clock_timestamp() where id = ${waiting.id}`.execute(app.db)
    await sql`update sending_account set due_at = clock_timestamp()`.execute(app.db)
    const { failHeldBack } = await import('../../src/features/sending/outbox/sweep.ts')
    await failHeldBack(app.db, new AbortController().signal)
    expect(await readEntry(app, old)).toMatchObject({
      status: 'failed',
      lastError: { reason: 'account_paused' },
    })
    expect(await readEntry(app, waiting)).toMatchObject({ status: 'queued', attempts: 0 })
    await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })
    await waitForStatus(app, waiting, 'sent')
    expect(await sink.accepted()).toHaveLength(1)
  })

  test('that is deleted sends nothing more', async () => {
    await using opened = await openSendingApp()
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    await send(app, accountId, { sendAt: inHours(1) })
    await app.delete(`/v1/accounts/${accountId}`)
    await sql`update sending_account set due_at = clock_timestamp()`.execute(app.db)
    await waitUntil('the cancellation', async () => {
      const { rows } = await sql`select from outbox where status = 'cancelled'`.execute(app.db)
      return rows.length === 1
    })
    const { rows } = await sql`select from outbox_content`.execute(app.db)
    expect(rows).toEqual([])
    expect(await sink.accepted()).toEqual([])
  })
})
