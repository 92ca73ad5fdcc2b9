import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { MergeItem } from '@waxwing/contract/sending/mail-merges.ts'
import { createEndpoint } from './notifications/open-webhooks.ts'
import { answering, startReceiver } from './notifications/receiver.ts'
import { openTestApp } from './open-app.ts'
import { connectSender, readEntry, send, waitForEntry, waitForStatus } from './sending/open-sending.ts'
import { startDovecot } from './servers/dovecot.ts'
import { startSmtpSink } from './servers/smtp-sink.ts'
import { openTurnedClock, type TurnedClock } from './turned-clock.ts'
import { waitUntil } from './wait-until.ts'
import { casesFor } from './soak.ts'

/** Longer than the first pauses, so that what waits is due when the clock is turned by it. */
const PAUSE_MINUTES = 10
/** Later than the clock ever shows. */
const SCHEDULED_MS = 40 * 86_400_000

// A process that starts later looks as well: `stored-times.test.ts`.
test.each(casesFor(['2 hours', '30 days'], ahead => ahead === '30 days'))(
  'everything goes on after a clock was %s ahead, without a restart',
  async ahead => {
    await using clock = await openTurnedClock()
    await using imap = await startDovecot()
    await using sink = await startSmtpSink()
    await using calm = await startSmtpSink()
    await using receiver = await startReceiver()
    await using app = await openTestApp({
      roles: ['api', 'jobs'],
      egressAllow: ['127.0.0.1/32'],
      allowPlaintext: true,
      database: clock.database,
      config: { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true },
    })
    const troubled = await connectSender(app, { imap, sink })
    const merging = await connectSender(app, { imap, sink: calm })
    await createEndpoint(app, `${receiver.url}/hook`)
    const scheduled = await send(app, troubled, { sendAt: new Date(Date.now() + SCHEDULED_MS) })

    await clock.turn(ahead)
    sink.behave = ({ step }) => (step === 'mail' ? '421 4.3.2 shutting down' : null)
    receiver.tempers['/hook'] = answering(503)
    const entry = await send(app, troubled)
    await waitForEntry(app, entry, 'an attempt to fail', ({ attempts }) => attempts === 1)
    const waiting = await send(app, troubled)
    const merge = await app.post<{ items: MergeItem[] }>(`/v1/accounts/${merging}/mail-merges`, {
      subject: 'News',
      text: 'There is news.\n',
      intervalSeconds: 60,
      entries: ['one', 'two'].map(name => ({ to: { address: `${name}@example.org` } })),
    })
    expect(merge.status).toBe(200)
    await waitUntil('the first of the merge', async () => (await calm.accepted()).length === 1)
    await waitUntil('a webhook to fail', async () => receiver.received.length > 0)
    await waitUntil(
      'its pause',
      async () => (await listAhead(clock, 'webhook_delivery', 'due_at', '0')).length > 0,
    )
    sink.behave = () => null
    delete receiver.tempers['/hook']

    await clock.turn('0')
    let tooFar: unknown[] = []
    await waitUntil('all to wait as long as their rules say', async () => {
      const found = await Promise.all([
        listAhead(clock, 'outbox', 'due_at', `${PAUSE_MINUTES} minutes`, sql`id <> ${scheduled.id}`),
        listAhead(clock, 'sending_account', 'paused_until', `${PAUSE_MINUTES} minutes`),
        listAhead(clock, 'mail_merge_pace', 'due_at', `${PAUSE_MINUTES} minutes`),
        listAhead(clock, 'webhook_delivery', 'due_at', `${PAUSE_MINUTES} minutes`),
      ])
      tooFar = found.flat()
      return tooFar.length === 0
    }).catch((error: unknown) => {
      expect(tooFar).toEqual([])
      throw error
    })
    await clock.turn(`${PAUSE_MINUTES} minutes`)

    for (const each of [entry, waiting]) await waitForStatus(app, each, 'sent')
    await waitUntil('the second of the merge', async () => (await calm.accepted()).length === 2)
    await waitUntil('the webhooks', async () => {
      const ids = receiver.received.flatMap(({ event }) => (event.type === 'send.sent' ? [event.id] : []))
      return new Set(ids).size === 4
    })
    expect(await sink.accepted()).toHaveLength(2)
    expect(await readEntry(app, scheduled)).toMatchObject({
      status: 'queued',
      sendAt: scheduled.sendAt,
    })
    expect(app.logLines.filter(line => line.includes('The clock of the database was ahead'))).toHaveLength(1)
  },
)

test('a message is sent at once if the clock is put right while it is accepted', async () => {
  await using clock = await openTurnedClock()
  await using imap = await startDovecot()
  await using sink = await startSmtpSink()
  await using app = await openTestApp({
    roles: ['api', 'jobs'],
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
    database: clock.database,
    // The time was read before.
    reachPoint: async point => void (point === 'content_written' && (await clock.turn('0'))),
  })
  const accountId = await connectSender(app, { imap, sink })
  await clock.turn('30 days')
  const { createdAt } = await waitForStatus(app, await send(app, accountId), 'sent')
  expect(Date.parse(createdAt)).toBeLessThan(Date.now() + 86_400_000)
})

/** Rows of a table whose time is further ahead than this. */
async function listAhead(
  { db }: TurnedClock,
  table: string,
  column: string,
  interval: string,
  among = sql`true`,
): Promise<unknown[]> {
  const { rows } = await sql`
    select * from ${sql.table(table)} where ${among} and ${sql.ref(column)} > clock_timestamp() + ${interval}::interval
  `.execute(db)
  return rows
}
