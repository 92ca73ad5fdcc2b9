import type { Identity } from '@waxwing/contract/mail/identities.ts'
import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestApp, type TestTenant } from '../../../../test/open-app.ts'
import { sampleAccount, sampleMailbox, sampleMessages } from '../../../../test/sample-rows.ts'
import { readFeed, readMessages } from '../../../../test/sync/followed-account.ts'
import { foldFeed } from '../../../../test/sync/fold-feed.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { enqueueUnlessDue } from '../../../jobs/enqueue.ts'
import { newId } from '../../../kit/ids.ts'
import { directionsHandler } from '../messages/directions-job.ts'
import { lockMailAccount } from '../messages/record-account.ts'
import { directionsJob } from '../messages/record-directions.ts'
import { insertIdentity } from './store.ts'

// This service does every job of its database. A test that plays the worker has a database of its own.
const { newTenant } = useTestApp(() => ({ roles: ['api', 'jobs'] }))

const ALIAS = 'sales@example.com'

const allJobsDone = (app: TestTenant) =>
  waitUntil('all jobs to be done', async () => {
    const { rows } = await sql`select from job`.execute(app.db)
    return rows.length === 0
  })

const outboundOf = (messages: readonly MessageSummary[]) =>
  messages.flatMap(({ direction, subject }) => (direction === 'outbound' ? [subject] : [])).toSorted()

/** An account with a message from each of these addresses in its inbox, and one from `grace@example.com` in Sent. */
async function openMailbox(app: TestTenant, senders: Array<string | null>, values = {}) {
  const account = await sampleAccount(app.db, app.tenantId, { email: 'ada@example.com', ...values })
  const inbox = await sampleMailbox(app.db, account, { role: 'inbox' })
  const sent = await sampleMailbox(app.db, account, { role: 'sent' })
  const person = (address: string | null) => (address === null ? null : { name: 'A', address })
  await sampleMessages(app.db, account, [
    ...senders.map(address => ({
      mailboxIds: [inbox.id],
      from: person(address),
      subject: String(address),
      // Many of a time, so that pages end between equal ones.
      receivedAt: new Date('2026-11-21T08:00:00Z'),
    })),
    { mailboxIds: [sent.id], from: person('grace@example.com'), subject: 'in Sent' },
  ])
  const path = `/v1/accounts/${account.id}/identities`
  return {
    id: account.id,
    create: async (address: string) => (await app.post<Identity>(path, { address })).body,
    delete: (identityId: string) => app.delete(`${path}/${identityId}`),
    read: () => readMessages(app, account.id),
  }
}

describe('the direction of indexed messages', () => {
  test(
    'follows the identities of the account, with one event for each message that turns',
    { tags: ['postgres-16'] },
    async () => {
      const app = await newTenant()
      const senders = [ALIAS, 'SALES@Example.com', 'sales+x@example.com', 'eve@evil.test', null]
      const mailbox = await openMailbox(app, ['Ada@example.com', ...senders, 'info@bücher.example'])
      // The sync would have written these directions from the start.
      await sql`
      update message set direction = 'outbound'
      where account_id = ${mailbox.id} and subject in ('Ada@example.com', 'in Sent')`.execute(app.db)
      const before = await mailbox.read()
      const { cursor } = await readFeed(app)

      const { id } = await mailbox.create(ALIAS)
      await mailbox.create('Info@xn--bcher-kva.example')
      await allJobsDone(app)
      expect(outboundOf(await mailbox.read())).toEqual(
        ['Ada@example.com', 'in Sent', 'info@bücher.example', ALIAS, 'SALES@Example.com'].toSorted(),
      )

      await mailbox.delete(id)
      await allJobsDone(app)
      const after = await mailbox.read()
      expect(outboundOf(after)).toEqual(['Ada@example.com', 'in Sent', 'info@bücher.example'].toSorted())

      const { events } = await readFeed(app, cursor)
      expect(events.map(({ type, data }) => [type, data.changes])).toEqual(
        Array.from({ length: 5 }, () => ['message.updated', ['direction']]),
      )
      const byId = (messages: MessageSummary[]) => new Map(messages.map(message => [message.id, message]))
      const folded = foldFeed({ mailboxes: new Map(), messages: byId(before) }, events)
      expect(folded.messages).toEqual(byId(after))
    },
  )

  test(
    'turns over many transactions, of a paused account too, and leaves others alone',
    { tags: ['postgres-16'] },
    async () => {
      const app = await newTenant()
      const senders = Array.from({ length: 1200 }, (_, n) => (n % 2 ? ALIAS : 'eve@evil.test'))
      const mailbox = await openMailbox(app, senders, { status: 'paused' })
      const beside = await openMailbox(app, [ALIAS], { email: 'grace@example.com' })
      await mailbox.create(ALIAS)
      await allJobsDone(app)
      expect(outboundOf(await mailbox.read())).toHaveLength(601)
      expect(outboundOf(await beside.read())).toEqual([])
      expect((await readFeed(app)).events).toHaveLength(601)
    },
  )

  test('turns without events before the first sync is complete', async () => {
    const app = await newTenant()
    const mailbox = await openMailbox(app, [ALIAS], { initialized_at: null })
    await mailbox.create(ALIAS)
    await allJobsDone(app)
    expect(outboundOf(await mailbox.read())).toEqual(['in Sent', ALIAS].toSorted())
    expect((await readFeed(app)).events).toEqual([])
  })

  test('is right after a run that was interrupted, with no event twice', async () => {
    await using app = await openTestApp()
    const mailbox = await openMailbox(app, Array<string>(1200).fill(ALIAS))
    await mailbox.create(ALIAS)
    const { run } = directionsHandler(app.db)
    const stored = { accountId: mailbox.id }
    const job = (signal: AbortSignal) => ({ tenantId: app.tenantId, signal })

    await expect(run(stored, job(abortedAfter(2)))).rejects.toThrow('aborted')
    const { events } = await readFeed(app)
    expect(events.length).toBeGreaterThan(0)
    expect(events.length).toBeLessThan(1200)
    await run(stored, job(new AbortController().signal))
    expect((await readFeed(app)).events).toHaveLength(1201)
    expect(outboundOf(await mailbox.read())).toHaveLength(1201)
  })

  test('stays as it is where the account is gone', async () => {
    await using app = await openTestApp()
    const mailbox = await openMailbox(app, [ALIAS])
    await mailbox.create(ALIAS)
    await app.delete(`/v1/accounts/${mailbox.id}`)
    const { cursor } = await readFeed(app)
    const { run } = directionsHandler(app.db)
    await run({ accountId: mailbox.id }, { tenantId: app.tenantId, signal: new AbortController().signal })
    expect((await readFeed(app, cursor)).events).toEqual([])
  })

  test('is turned by one job, however many changes of the identities it follows', async () => {
    await using app = await openTestApp()
    const mailbox = await openMailbox(app, [ALIAS])
    const beside = await openMailbox(app, [ALIAS], { email: 'grace@example.com' })
    const { id } = await mailbox.create(ALIAS)
    await mailbox.create(ALIAS)
    await mailbox.delete(id)
    await mailbox.delete(id)
    await beside.create(ALIAS)
    const listJobs = async () => (await sql`select kind, payload from job order by id`.execute(app.db)).rows
    const jobOf = ({ id: accountId }: { id: string }) => ({
      kind: directionsJob.name,
      payload: { accountId },
    })
    expect(await listJobs()).toEqual([jobOf(mailbox), jobOf(beside)])

    // A job that runs may already have passed a message, and a failed one waits for its next attempt.
    const { rows } = await sql<{ id: string }>`select id from instance`.execute(app.db)
    await sql`update job set claimed_by = ${rows[0]!.id} where payload = ${jobOf(mailbox).payload}`.execute(
      app.db,
    )
    await sql`update job set due_at = due_at + interval '1 hour' where claimed_by is null`.execute(app.db)
    await mailbox.create(ALIAS)
    await beside.create('info@example.com')
    expect(await listJobs()).toEqual([mailbox, beside, mailbox, beside].map(jobOf))
  })

  test('follows a change that commits while the job for an earlier one waits for it', async () => {
    const app = await newTenant()
    const mailbox = await openMailbox(app, [ALIAS])
    await inTransaction(app.db, app.tenantId, async unit => {
      await sql`set local idle_in_transaction_session_timeout = 0`.execute(unit.sql)
      await lockMailAccount(unit, mailbox.id)
      await inTransaction(app.db, app.tenantId, earlier =>
        enqueueUnlessDue(earlier, directionsJob, { accountId: mailbox.id }),
      )
      await enqueueUnlessDue(unit, directionsJob, { accountId: mailbox.id })
      const name = { id: newId(), name: null, address: ALIAS, signature: null }
      await insertIdentity(unit, mailbox.id, name)
      await waitUntil('the job to wait, or to end', async () => {
        const { rows } = await sql`
          select where not exists (select from job) or exists (
            select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          )
        `.execute(app.db)
        return rows.length === 1
      })
    })
    await allJobsDone(app)
    expect(outboundOf(await mailbox.read())).toEqual(['in Sent', ALIAS].toSorted())
  })
})

/** A signal that is aborted at the look after a number of looks. */
function abortedAfter(looks: number): AbortSignal {
  const controller = new AbortController()
  let left = looks
  const signal = controller.signal
  const throwIfAborted = () => {
    left -= 1
    if (left < 0) throw new Error('aborted')
  }
  return Object.assign(signal, { throwIfAborted })
}
