import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { failHeldBack } from '../../src/features/sending/outbox/sweep.ts'
import type { TestApp } from '../open-app.ts'
import { whileTaskRests } from '../resting-task.ts'
import { sampleMailbox } from '../sample-rows.ts'
import { useServer } from '../servers/shared-server.ts'
import { GOOD_EXTENSIONS } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  GRACE,
  openSendingApp,
  openSendingTenant,
  readEntry,
  send,
  sendEvents,
  waitForEntry,
  waitForStatus,
} from './open-sending.ts'

const HOUR_MS = 3_600_000
const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString()

/** Entries whose look-ups fail by an error of the service itself, and the number of these failures. */
const failing = new Map<string, number>()

const running = useServer(() =>
  openSendingApp({
    app: {
      async reachPoint(point, id) {
        const count = failing.get(id)
        if (point !== 'copy_search' || count === undefined) return
        failing.set(id, count + 1)
        throw new Error('A fault of the service')
      },
    },
  }),
)

/** Makes all of an account that waits due, in the order in which it was accepted. */
const makeDue = async ({ db }: TestApp, accountId: string) => {
  await sql`
    update outbox set due_at = statement_timestamp()
    where account_id = ${accountId} and due_at is not null`.execute(db)
  await sql`
    update sending_account set due_at = clock_timestamp(), paused_until = null
    where account_id = ${accountId}`.execute(db)
}

describe('a server', () => {
  test('that puts the message off is asked again, and then takes it', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step, times }) => (step === 'rcpt' && times === 1 ? '450 4.2.0 greylisted' : null)
    const entry = await send(app, accountId)
    const retrying = await waitForEntry(app, entry, 'a retry', ({ attempts }) => attempts === 1)
    expect(retrying).toMatchObject({
      status: 'queued',
      lastError: { reason: 'provider_unavailable', message: expect.stringContaining('greylisted') },
    })
    // A minute after the attempt, which was made between these times.
    const attemptedAt = Date.parse(retrying.nextAttemptAt!) - 60_000
    expect(attemptedAt).toBeGreaterThanOrEqual(Date.parse(entry.createdAt))
    expect(attemptedAt).toBeLessThanOrEqual(Date.parse(retrying.updatedAt))
    await makeDue(app, accountId)
    expect(await waitForStatus(app, entry, 'sent')).toMatchObject({ attempts: 2, lastError: null })
    expect(await sink.accepted()).toHaveLength(1)
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.retrying', 'send.sent'])
  })

  test('that refuses a recipient for good and puts another off sends to each once', async () => {
    await using opened = await openSendingTenant(running())
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
    await makeDue(app, accountId)
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
    await using opened = await openSendingTenant(running(), { extensions })
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
    await using opened = await openSendingTenant(running())
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
    await using opened = await openSendingTenant(running())
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
      where account_id = ${accountId}
    `.execute(app.db)
    expect(rows[0]!.seconds).toBeGreaterThan(30)

    await makeDue(app, accountId)
    await waitForEntry(app, first, 'the next try', ({ attempts }) => attempts === 2)
    expect(mails()).toBe(before + 1)
    for (const other of others)
      expect(await readEntry(app, other)).toMatchObject({ status: 'queued', attempts: 0 })

    sink.behave = () => null
    await makeDue(app, accountId)
    for (const entry of [first, ...others]) await waitForStatus(app, entry, 'sent')
    expect(await sink.accepted()).toHaveLength(3)
  })

  test('that loses its answer leaves the outcome unknown: it is never sent again, and fails in the end', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    sink.behave = ({ step }) => (step === 'dot' ? { does: 'accept_and_drop' } : null)
    const entry = await send(app, accountId)
    await waitUntil('the look-up', async () => {
      const { rows } = await sql`select from outbox where id = ${entry.id} and phase = 'unknown'`.execute(
        app.db,
      )
      return rows.length > 0
    })
    expect(await readEntry(app, entry)).toMatchObject({ status: 'sending' })
    await waitUntil('the end', async () => {
      await sql`
        update outbox set task_at = clock_timestamp()
        where id = ${entry.id} and task is not null and task_by is null`.execute(app.db)
      return (await readEntry(app, entry)).status === 'failed'
    })
    expect(await readEntry(app, entry)).toMatchObject({ lastError: { reason: 'outcome_unknown' } })
    expect(await sink.accepted()).toHaveLength(1)
    expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.failed'])
  })

  test('that loses its answer is asked until a look-up ends, however often the service itself fails', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    await sampleMailbox(app.db, { id: accountId, tenantId: app.tenantId }, { role: 'sent' })
    sink.behave = ({ step }) => (step === 'dot' ? { does: 'accept_and_drop' } : null)
    const entry = await send(app, accountId)
    failing.set(entry.id, 0)
    const hurry = () =>
      sql`
        update outbox set task_at = clock_timestamp()
        where id = ${entry.id} and task is not null and task_by is null`.execute(app.db)
    await waitUntil('failures', async () => {
      await hurry()
      return failing.get(entry.id)! > 6
    })
    const { pause, tries } = await waitUntil('the pause', async () => {
      const { rows } = await sql<{ pause: number; tries: number }>`
        select extract(epoch from task_at - clock_timestamp())::float8 as pause, task_tries as tries
        from outbox where id = ${entry.id} and task = 'look_up' and task_by is null
          and task_at > clock_timestamp() + interval '1 minute'`.execute(app.db)
      return rows[0]
    })
    expect({ minutes: Math.ceil(pause / 60), tries }).toEqual({ minutes: 10, tries: 0 })
    failing.delete(entry.id)
    await waitUntil('the end', async () => {
      await hurry()
      return (await readEntry(app, entry)).status === 'failed'
    })
    expect(await readEntry(app, entry)).toMatchObject({ lastError: { reason: 'outcome_unknown' } })
  })
})

describe('an account', () => {
  test('that is paused lets its messages wait, and fails them 48 hours after they were due', async () => {
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    const waiting = await send(app, accountId, { sendAt: inHours(1) })
    const old = await send(app, accountId, { sendAt: inHours(1) })
    await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
    await sql`
      update outbox set send_at = clock_timestamp() - interval '49 hours', due_at = clock_timestamp()
      where id = ${old.id}`.execute(app.db)
    await sql`update outbox set due_at = clock_timestamp() where id = ${waiting.id}`.execute(app.db)
    await sql`
      update sending_account set due_at = clock_timestamp() where account_id = ${accountId}`.execute(app.db)
    await whileTaskRests(app.db, 'fail_sends', () => failHeldBack(app.db, new AbortController().signal))
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
    await using opened = await openSendingTenant(running())
    const { app, sink } = opened
    const accountId = await connectSender(app, opened)
    await send(app, accountId, { sendAt: inHours(1) })
    await app.delete(`/v1/accounts/${accountId}`)
    await sql`
      update sending_account set due_at = clock_timestamp() where account_id = ${accountId}`.execute(app.db)
    await waitUntil('the cancellation', async () => {
      const { rows } =
        await sql`select from outbox where account_id = ${accountId} and status = 'cancelled'`.execute(app.db)
      return rows.length === 1
    })
    const { rows } = await sql`select from outbox_content where account_id = ${accountId}`.execute(app.db)
    expect(rows).toEqual([])
    expect(await sink.accepted()).toEqual([])
  })
})
