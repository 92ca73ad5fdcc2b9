import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { failHeldBack } from '../../src/features/sending/outbox/sweep.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { whileTaskRests } from '../resting-task.ts'
import { useServer } from '../servers/shared-server.ts'
import { type SinkMoment, type SmtpSink, startSmtpSink } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  openSendingApp,
  openSendingTenant,
  readEntry,
  send,
  sendEvents,
  waitForEntry,
  waitForStatus,
} from './open-sending.ts'
import { casesFor } from '../soak.ts'

const HOUR_MS = 3_600_000
/** A send that finds every connection in use waits this long, and is claimed again then. */
const CONNECTION_WAIT_MS = 20_000
const SHORT_WAIT_MS = 100
const never = new AbortController().signal

const running = useServer(() => openSendingApp())

/** As if everything so far had happened that much earlier to the account. */
async function moveBack(db: Db, accountId: string, interval: string): Promise<void> {
  await sql`
    update outbox set send_at = send_at - ${interval}::interval, due_at = due_at - ${interval}::interval,
      dated_at = dated_at - ${interval}::interval where account_id = ${accountId}`.execute(db)
  await sql`
    update sending_account set due_at = due_at - ${interval}::interval, paused_until = paused_until - ${interval}::interval,
      troubled_since = troubled_since - ${interval}::interval where account_id = ${accountId}`.execute(db)
}

/** Ends the pause of an account, and makes all that waits due; that entry is the first. */
async function endPause(db: Db, { id, accountId }: OutboxEntry): Promise<void> {
  await sql`
    update outbox set due_at = clock_timestamp() - make_interval(hours => case when id = ${id} then 1 else 0 end)
    where account_id = ${accountId} and due_at is not null`.execute(db)
  await sql`
    update sending_account set due_at = clock_timestamp(), paused_until = null where account_id = ${accountId}
  `.execute(db)
}

async function readPause(db: Db, accountId: string): Promise<{ pauses: number; minutes: number }> {
  const { rows } = await sql<{ pauses: number; minutes: number }>`
    select pauses, round(extract(epoch from paused_until - clock_timestamp()) / 60)::int as minutes
    from sending_account where account_id = ${accountId}
  `.execute(db)
  return rows[0]!
}

/** Does what the service does each minute. */
const giveUpHeldBack = ({ db }: TestApp) => whileTaskRests(db, 'fail_sends', () => failHeldBack(db, never))

const waitForAttempts = (app: TestApp, entry: OutboxEntry, count: number) =>
  waitForEntry(
    app,
    entry,
    `attempt ${count}`,
    ({ attempts, status }) => attempts === count && status !== 'sending',
  )

test('a server that is dead for two days fails what was due, with its events', async () => {
  await using opened = await openSendingTenant(running())
  const { app, sink } = opened
  const accountId = await connectSender(app, opened)
  await sink[Symbol.asyncDispose]()
  const tried = await send(app, accountId)
  expect(await waitForAttempts(app, tried, 1)).toMatchObject({
    status: 'queued',
    lastError: { reason: 'provider_unavailable' },
  })
  const waiting = await send(app, accountId)

  await app.db.transaction().execute(async tx => {
    await moveBack(tx, accountId, '47 hours 58 minutes')
    // Until it is the first, the other one may be.
    await endPause(tx, tried)
  })
  const late = await waitForAttempts(app, tried, 2)
  expect(late.status).toBe('queued')
  const hoursAfterDue = (Date.parse(late.nextAttemptAt!) - Date.parse(late.sendAt)) / HOUR_MS
  expect(hoursAfterDue).toBeCloseTo(48, 2)
  await giveUpHeldBack(app)
  expect(await readEntry(app, waiting)).toMatchObject({ status: 'queued', attempts: 0 })

  await app.db.transaction().execute(async tx => {
    await moveBack(tx, accountId, '2 minutes')
    await sql`
      update sending_account set paused_until = clock_timestamp() + interval '1 hour'
      where account_id = ${accountId}`.execute(tx)
  })
  await giveUpHeldBack(app)
  const error = { reason: 'provider_unavailable', message: expect.stringMatching(/./) }
  expect(await readEntry(app, waiting)).toMatchObject({ status: 'failed', attempts: 0, lastError: error })
  expect(await readEntry(app, tried)).toMatchObject({ status: 'failed', attempts: 2, lastError: error })
  const events = (await sendEvents(app)).map(({ type, data }) => [type, data.outbox.id, data.error?.reason])
  expect(events.slice(0, 2)).toEqual(
    Array.from({ length: 2 }, () => ['send.retrying', tried.id, 'provider_unavailable']),
  )
  expect(events.slice(2).toSorted()).toEqual(
    [tried, waiting].map(({ id }) => ['send.failed', id, 'provider_unavailable']).toSorted(),
  )
  const { rows } = await sql`select from outbox_content where account_id = ${accountId}`.execute(app.db)
  expect(rows).toEqual([])
})

test('the last attempt at a server that is dead fails the send', async () => {
  await using opened = await openSendingTenant(running())
  const { app, sink } = opened
  const accountId = await connectSender(app, opened)
  await sink[Symbol.asyncDispose]()
  const entry = await send(app, accountId)
  await waitForAttempts(app, entry, 1)
  await app.db.transaction().execute(async tx => {
    await moveBack(tx, accountId, '48 hours')
    await endPause(tx, entry)
  })
  expect(await waitForStatus(app, entry, 'failed')).toMatchObject({ attempts: 2, nextAttemptAt: null })
  expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.retrying', 'send.failed'])
})

test('a message that was due while the service was down gets all its attempts, however late it is', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app, sink } = opened
  const accountId = await connectSender(app, opened)
  const [first, second] = [await send(app, accountId), await send(app, accountId)]
  await moveBack(app.db, accountId, '3 days')
  sink.behave = ({ step }) => (step === 'mail' ? '421 4.3.2 shutting down' : null)
  const { database, keyRing } = app
  await using _jobs = await openTestApp({
    roles: ['jobs'],
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
    database,
    keyRing,
  })
  await waitUntil('a pause', async () => (await readPause(app.db, accountId)).pauses === 1)
  await giveUpHeldBack(app)
  for (const entry of [first, second]) {
    const now = await waitForEntry(app, entry, 'the attempt to end', ({ status }) => status !== 'sending')
    expect(now).toMatchObject({ status: 'queued', nextAttemptAt: expect.any(String) })
  }
  sink.behave = () => null
  await endPause(app.db, first)
  for (const entry of [first, second]) await waitForStatus(app, entry, 'sent')
  expect(await sink.accepted()).toHaveLength(2)
})

describe('a storm', () => {
  const at = (step: SinkMoment['step'], reply: string) => (moment: SinkMoment) =>
    moment.step === step ? reply : null

  const storms = [
    ['of 421 at the greeting', at('connect', '421 4.3.2 too busy')],
    ['of 421 to MAIL', at('mail', '421 4.7.0 too many connections')],
    ['of 4.7.x to MAIL', at('mail', '451 4.7.1 too much mail')],
  ] as const
  test.each(casesFor(storms, (_, index) => index === 1))(
    '%s holds back the account by one growing pause, and no other account',
    async (_, behave) => {
      await using opened = await openSendingTenant(running())
      await using calm = await startSmtpSink()
      const { app, sink } = opened
      const stormy = await connectSender(app, opened)
      const other = await connectSender(app, { imap: opened.imap, sink: calm })
      sink.behave = behave
      const first = await send(app, stormy)
      await waitForAttempts(app, first, 1)
      const others: OutboxEntry[] = []
      for (let count = 0; count < 4; count++) others.push(await send(app, stormy))
      const tries = triesOf(sink)

      for (const [pauses, minutes] of [
        [1, 1],
        [2, 5],
        [3, 15],
      ] as const) {
        expect(await readPause(app.db, stormy)).toEqual({ pauses, minutes })
        const before = tries()
        await waitForStatus(app, await send(app, other), 'sent')
        expect(tries()).toBe(before)
        if (pauses === 3) break
        await endPause(app.db, first)
        await waitForAttempts(app, first, pauses + 1)
        expect(tries()).toBe(before + 1)
      }
      for (const entry of others)
        expect(await readEntry(app, entry)).toMatchObject({ status: 'queued', attempts: 0 })

      sink.behave = () => null
      await endPause(app.db, first)
      for (const entry of [first, ...others]) await waitForStatus(app, entry, 'sent')
      expect(await sink.accepted()).toHaveLength(5)
      const types = (await sendEvents(app)).map(({ type }) => type)
      expect(types.filter(type => type === 'send.retrying')).toHaveLength(3)
      expect(types.filter(type => type === 'send.sent')).toHaveLength(8)
    },
  )

  /** Times that the server was asked to take a message, or refused to be asked. */
  const triesOf = (sink: SmtpSink) => () => {
    const mails = sink.commands.filter(line => line.startsWith('MAIL')).length
    return Math.max(mails, sink.connections)
  }
})

test('a message that finds every connection in use waits, without an attempt or a pause', async () => {
  await using opened = await openSendingApp({ app: { config: { connectionsPerHost: 1 } } })
  const { app, sink } = opened
  const [slow, other] = [await connectSender(app, opened), await connectSender(app, opened)]
  const held = Promise.withResolvers<null>()
  const atDot = Promise.withResolvers<void>()
  sink.behave = ({ step }) => {
    if (step !== 'dot') return null
    atDot.resolve()
    return held.promise
  }
  const first = await send(app, slow)
  await atDot.promise
  // In place of waiting.
  const { timeout } = AbortSignal
  const shortened = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation(milliseconds =>
      timeout.call(AbortSignal, milliseconds === CONNECTION_WAIT_MS ? SHORT_WAIT_MS : milliseconds),
    )
  onTestFinished(() => shortened.mockRestore())
  const second = await send(app, other)
  const claimOf = async () => {
    const { rows } = await sql<{
      claim: string | null
    }>`select claim from outbox where id = ${second.id}`.execute(app.db)
    return rows[0]!.claim
  }
  const claim = await waitUntil('the claim', claimOf)
  await waitUntil('the next claim', async () => ![claim, null].includes(await claimOf()))
  expect(await readEntry(app, second)).toMatchObject({ attempts: 0, lastError: null })
  expect(await readPause(app.db, other)).toMatchObject({ pauses: 0 })
  held.resolve(null)
  for (const entry of [first, second]) await waitForStatus(app, entry, 'sent')
  expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.sent', 'send.sent'])
})
