/** @module-tag postgres-16-in-soak */
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordRestore } from '../../src/database/feed-epoch.ts'
import { failHeldBack } from '../../src/features/sending/outbox/sweep.ts'
import { whileTaskRests } from '../resting-task.ts'
import { dataOf } from './answers/open-answers.ts'
import { connectSender, openSendingApp, send, type SendingApp, waitForEntry } from './open-sending.ts'

/* A message that reached somebody, and others who were still to be tried when it ended. */

let opened: SendingApp
beforeAll(async () => {
  opened = await openSendingApp()
  opened.sink.behave = ({ step, argument }) =>
    step === 'rcpt' && argument.includes('late') ? '450 4.2.1 Try again later' : null
})
afterAll(() => opened[Symbol.asyncDispose]())

async function sendToLate(): Promise<OutboxEntry> {
  const accountId = await connectSender(opened.app, opened)
  const to = [{ address: 'grace@example.org' }, { address: 'late@example.org' }]
  const entry = await send(opened.app, accountId, { to })
  return waitForEntry(
    opened.app,
    entry,
    'one recipient to wait',
    ({ status, nextAttemptAt }) => status === 'sent' && nextAttemptAt !== null,
  )
}

async function expectRejected(entry: OutboxEntry, message: RegExp): Promise<void> {
  const { rejectedRecipients } = await waitForEntry(
    opened.app,
    entry,
    'the end of the attempts',
    now => now.rejectedRecipients.length > 0,
  )
  expect(rejectedRecipients).toEqual([
    { address: 'late@example.org', status: '4.0.0', message: expect.stringMatching(message) },
  ])
  const bounced = (await dataOf(opened.app, 'message.bounced')).filter(data => data.outboxId === entry.id)
  expect(bounced).toMatchObject([
    { bounceType: 'soft', recipients: [{ address: 'late@example.org', status: '4.0.0' }] },
  ])
}

test('recipients who wait for too long are announced as bounced', async () => {
  const entry = await sendToLate()
  await opened.app.patch(`/v1/accounts/${entry.accountId}`, { status: 'paused' })
  const { db } = opened.app
  const { counts } = await whileTaskRests(db, 'fail_sends', async () => {
    await sql`
      update outbox set send_at = clock_timestamp() - interval '49 hours' where id = ${entry.id}
    `.execute(db)
    return failHeldBack(db, new AbortController().signal)
  })
  await expectRejected(entry, /paused/)
  expect(counts).toEqual({ hard: 0, soft: 1 })
})

test('recipients to whom a process that died was sending are announced as bounced', async () => {
  const entry = await sendToLate()
  await sql`
    update outbox set phase = 'handed_over', claim = gen_random_uuid(), claimed_by = null, due_at = null
    where id = ${entry.id}
  `.execute(opened.app.db)
  await expectRejected(entry, /not known/)
})

test('recipients who were due at a restore are announced as bounced', async () => {
  const entry = await sendToLate()
  await opened.app.db.transaction().execute(async tx => {
    await sql`update outbox set due_at = clock_timestamp() where id = ${entry.id}`.execute(tx)
    await recordRestore(tx)
  })
  await expectRejected(entry, /restored to an earlier state/)
})
