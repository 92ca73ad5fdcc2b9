import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { Command } from 'commander'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { register as registerDatabase } from '../../src/cli/database.ts'
import { register as registerOutbox } from '../../src/cli/outbox.ts'
import type { Config } from '../../src/config.ts'
import { recordRestore } from '../../src/database/feed-epoch.ts'
import { assignPlan } from '../../src/features/accounts/plans/assign.ts'
import { settleByCopies } from '../../src/features/sending/outbox/sweep.ts'
import { NO_LIMITS } from '../../src/features/tenancy/plans/plan.ts'
import { createPlan } from '../../src/features/tenancy/plans/store.ts'
import { newId } from '../../src/kit/ids.ts'
import { openTestApp, type TestApp } from '../open-app.ts'
import { sampleMailbox, sampleMessageIn } from '../sample-rows.ts'
import { openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import { invitation, invite } from './inviting.ts'
import {
  connectSender,
  openSendingApp,
  readEntry,
  send,
  sendEvents,
  type SendingApp,
  waitForStatus,
} from './open-sending.ts'

const never = new AbortController().signal
const MESSAGE =
  'The database was restored to an earlier state. Whether this message was sent before is not known.'
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

/** The API only: what is accepted waits until `withJobs` sends it. */
let opened: SendingApp
let app: TestApp
beforeAll(async () => {
  opened = await openSendingApp({ app: { roles: ['api'] } })
  app = opened.app
  // Sends are counted for tenants whose plan limits them.
  await assignPlan(
    app.db,
    app.tenantId,
    await createPlan(app.db, 'small', { ...NO_LIMITS, sendsPerDay: 100 }),
  )
})
afterAll(() => opened[Symbol.asyncDispose]())

/** Runs another process, which does what is due, while `work` runs. */
async function withJobs<T>(work: () => Promise<T>): Promise<T> {
  const { database, keyRing } = app
  const shared = { egressAllow: ['127.0.0.1/32'], allowPlaintext: true, database, keyRing }
  await using _jobs = await openTestApp({ roles: ['jobs'], ...shared })
  return await work()
}

/** Waits until each has ended, without the half hour in which it is looked for. */
function waitForEnd(entries: readonly OutboxEntry[]): Promise<OutboxEntry[]> {
  return waitUntil('the end of the look-ups', async () => {
    await sql`
      update outbox set task_at = clock_timestamp() where task is not null and task_by is null
    `.execute(app.db)
    const now = await Promise.all(entries.map(entry => readEntry(app, entry)))
    return now.every(({ status }) => status === 'failed' || status === 'sent') ? now : null
  })
}

/** Sends a message that was due when the database was restored, and was not found. */
async function holdOne(accountId: string): Promise<OutboxEntry> {
  const entry = await send(app, accountId)
  await recordRestore(app.db)
  const [held] = await withJobs(() => waitForEnd([entry]))
  return held!
}

const release = ({ accountId, id }: OutboxEntry) =>
  app.post<OutboxEntry & { code?: string }>(`/v1/accounts/${accountId}/outbox/${id}/release`)

async function sentTo({ internetMessageId }: OutboxEntry): Promise<number> {
  const accepted = await opened.sink.accepted()
  return accepted.filter(({ messageId }) => messageId === internetMessageId).length
}

test('after a restore, what was due is held; what falls due or is accepted later is sent', async () => {
  const accountId = await connectSender(app, opened)
  const due = await send(app, accountId)
  const scheduled = await send(app, accountId, { sendAt: inAnHour() })
  await recordRestore(app.db)
  // No process with the role jobs has seen the restore yet.
  const fresh = await send(app, accountId)
  const [held] = await withJobs(async () => {
    await waitForStatus(app, fresh, 'sent')
    expect(await readEntry(app, scheduled)).toMatchObject({ status: 'queued' })
    await app.patch(`/v1/accounts/${accountId}/outbox/${scheduled.id}`, { sendAt: null })
    await waitForStatus(app, scheduled, 'sent')
    return waitForEnd([due])
  })
  expect(held).toMatchObject({
    status: 'failed',
    attempts: 0,
    lastError: { reason: 'outcome_unknown', message: MESSAGE },
    sentAt: null,
  })
  expect(await sentTo(due)).toBe(0)
  const events = (await sendEvents(app)).filter(({ data }) => data.outbox.id === due.id)
  expect(events).toMatchObject([{ type: 'send.failed', data: { error: { message: MESSAGE } } }])
  // Nothing is released of an account that is deleted.
  await app.delete(`/v1/accounts/${accountId}`)
})

test('a held message is sent when it is released, is audited, and is counted once', async () => {
  const accountId = await connectSender(app, opened)
  const held = await holdOne(accountId)
  const counted = await countedSends()
  expect(counted).toMatchObject([{ count: expect.any(Number) }])

  const { status, body } = await release(held)

  expect(status).toBe(200)
  expect(body).toMatchObject({ id: held.id, status: 'queued', lastError: null })
  expect(Date.parse(body.sendAt)).toBeGreaterThan(Date.parse(held.sendAt))
  expect((await release(held)).body).toMatchObject({ code: 'send_not_reschedulable' })
  await withJobs(() => waitForStatus(app, held, 'sent'))
  expect(await sentTo(held)).toBe(1)
  expect(await countedSends()).toEqual(counted)
  const events = (await sendEvents(app)).filter(({ data }) => data.outbox.id === held.id)
  expect(events.map(({ type }) => type)).toEqual(['send.failed', 'send.rescheduled', 'send.sent'])
  expect(await releases('outboxId', held.id)).toBe(1)
})

/** Rows of the audit log, whether they are in the chain already or not. */
async function releases(target: 'outboxId' | 'accountId', id: string): Promise<number> {
  const { rows } = await sql`
    select action, status, targets from (
      select action, status, targets from audit_open union all select action, status, targets from audit_entry
    ) as row
    where action = 'outbox.release' and status = 200 and targets ->> ${target} = ${id}
  `.execute(app.db)
  return rows.length
}

/** Messages that the tenant has queued today. */
async function countedSends(): Promise<unknown> {
  return (await sql`select day, count from tenant_sends order by day`.execute(app.db)).rows
}

test('a held message becomes sent if its copy is found, at once or later', async () => {
  const user = await opened.imap.addUser()
  const accountId = await connectSender(app, opened, { user })
  await using world = await openWorld(opened.imap, user)
  await world.createMailbox('Sent').catch(() => {})
  const account = { id: accountId, tenantId: app.tenantId }
  const mailbox = await sampleMailbox(app.db, account, { role: 'sent', name: 'Sent', provider_key: 'Sent' })
  const entries: OutboxEntry[] = []
  for (let count = 0; count < 3; count += 1) entries.push(await send(app, accountId))
  const [found, indexed, released] = entries as [OutboxEntry, OutboxEntry, OutboxEntry]
  await world.deliver({ raw: `Message-ID: ${found.internetMessageId}\r\n\r\n` }, 'Sent')
  await recordRestore(app.db)

  const ended = await withJobs(() => waitForEnd(entries))

  expect(ended.map(({ status }) => status)).toEqual(['sent', 'failed', 'failed'])
  for (const { id } of [indexed, released]) {
    const messageId = await sampleMessageIn(app.db, account, mailbox.id)
    await sql`update message set outbox_id = ${id} where id = ${messageId}`.execute(app.db)
  }
  // Before the copy of the other one was noticed.
  expect((await release(released)).body).toMatchObject({ status: 'sent' })
  await settleByCopies(app.db, never)
  expect(await readEntry(app, indexed)).toMatchObject({ status: 'sent' })
  expect((await release(indexed)).body).toMatchObject({ code: 'send_not_reschedulable' })
  const { rows } = await sql`
    select from outbox_content join outbox on outbox.id = outbox_id where outbox.account_id = ${accountId}
  `.execute(app.db)
  expect(rows).toEqual([])
  for (const entry of entries) expect(await sentTo(entry)).toBe(0)
})

test('only what was held can be released', async () => {
  const accountId = await connectSender(app, opened)
  const scheduled = await send(app, accountId, { sendAt: inAnHour() })
  const handedOver = await send(app, accountId, { sendAt: inAnHour() })
  const cancelled = await send(app, accountId, { sendAt: inAnHour() })
  await app.delete(`/v1/accounts/${accountId}/outbox/${cancelled.id}`)
  await sql`
    update outbox set status = 'sending', phase = 'handed_over', claim = gen_random_uuid(), due_at = null,
      handed_over_at = clock_timestamp(), dated_at = clock_timestamp()
    where id = ${handedOver.id}
  `.execute(app.db)
  await recordRestore(app.db)

  const [lost] = await withJobs(() => waitForEnd([handedOver]))

  expect(lost?.lastError?.message).toContain('after the message was handed over')
  for (const entry of [scheduled, handedOver, cancelled])
    expect(await release(entry)).toMatchObject({ status: 409, body: { code: 'send_not_reschedulable' } })
  expect(await release({ ...scheduled, id: newId() })).toMatchObject({
    status: 404,
    body: { code: 'send_not_found' },
  })
})

test.each([
  ['the hand-over', sql`phase = 'pre', handed_over_at = null`, true],
  [
    'the claim, too',
    sql`status = 'queued', phase = null, claim = null, claimed_by = null, handed_over_at = null, due_at = send_at`,
    false,
  ],
])(
  'a process that survived brings the outcome of a send, although the history lost %s',
  async (_, before, isHeldFirst) => {
    const accountId = await connectSender(app, opened)
    const entry = await send(app, accountId)
    const atDot = Promise.withResolvers<void>()
    const answer = Promise.withResolvers<null>()
    opened.sink.behave = ({ step }) => {
      if (step !== 'dot') return null
      atDot.resolve()
      return answer.promise
    }
    await withJobs(async () => {
      await atDot.promise
      await app.db.transaction().execute(async tx => {
        await sql`update outbox set ${before} where id = ${entry.id}`.execute(tx)
        await recordRestore(tx)
      })
      if (isHeldFirst)
        await waitUntil('it to be held', async () => {
          const { rows } =
            await sql`select from outbox where id = ${entry.id} and held_since is not null`.execute(app.db)
          return rows.length > 0
        })
      answer.resolve(null)
      await waitForStatus(app, entry, 'sent')
    })
    opened.sink.behave = () => null
    expect(await sentTo(entry)).toBe(1)
    expect((await release(entry)).status).toBe(409)
  },
)

async function runCommand(...words: string[]): Promise<string> {
  const program = new Command().exitOverride()
  const { db, keyRing } = app
  const connect = () =>
    Promise.resolve({ db, keyRing, config: {} as Config, [Symbol.asyncDispose]: () => Promise.resolve() })
  registerOutbox(program, connect)
  registerDatabase(program, connect)
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
  try {
    await program.parseAsync(words, { from: 'user' })
    return printed.mock.calls.map(([line]) => String(line)).join('\n')
  } finally {
    printed.mockRestore()
  }
}

test('an invitation that was due is held as well, and released by the command without an event', async () => {
  const accountId = await connectSender(app, opened)
  const mail = invitation()
  await invite(app, accountId, [mail])
  await recordRestore(app.db)
  const statusOf = async () =>
    (await sql<{ status: string }>`select status from outbox where id = ${mail.id}`.execute(app.db)).rows[0]
      ?.status
  const deliveries = async () =>
    (await opened.sink.accepted()).filter(({ content }) => content.includes(`X-Waxwing-Outbox: ${mail.id}`))
  await withJobs(() =>
    waitUntil('the end of the look-ups', async () => {
      await sql`
        update outbox set task_at = clock_timestamp() where task is not null and task_by is null
      `.execute(app.db)
      return (await statusOf()) === 'failed'
    }),
  )
  expect(await deliveries()).toEqual([])
  const counted = await countedSends()
  expect(await release({ accountId, id: mail.id } as OutboxEntry)).toMatchObject({ status: 404 })

  const counting = await runCommand('outbox', 'release', '--account', accountId, '--dry-run')
  expect(counting).toBe('1 message of 1 account would be released.')
  expect(await runCommand('outbox', 'release', '--account', accountId)).toBe(
    'Released 1 message of 1 account.',
  )
  await withJobs(() => waitUntil('the invitation', async () => (await statusOf()) === 'sent'))
  expect(await deliveries()).toHaveLength(1)
  expect(await countedSends()).toEqual(counted)
  expect((await sendEvents(app)).filter(({ data }) => data.outbox.id === mail.id)).toEqual([])
})

test('the command line counts what is held, and releases it by account or by tenant', async () => {
  const accounts = [await connectSender(app, opened), await connectSender(app, opened)] as const
  const entries: OutboxEntry[] = []
  for (const accountId of [...accounts, accounts[0]]) entries.push(await send(app, accountId))
  const [first, other, second] = entries as [OutboxEntry, OutboxEntry, OutboxEntry]
  expect(await runCommand('database', 'restored', '--dry-run')).toContain('3 messages are due. They may')
  await recordRestore(app.db)
  await withJobs(() => waitForEnd(entries))

  const [account, otherAccount] = accounts
  const tenant = (await app.db.selectFrom('tenant').select('name').executeTakeFirstOrThrow()).name
  const counted = await runCommand('outbox', 'release', '--tenant', tenant, '--dry-run')
  expect(counted).toBe('3 messages of 2 accounts would be released.')
  expect((await readEntry(app, first)).status).toBe('failed')
  const released = await runCommand('outbox', 'release', '--account', account)
  expect(released).toBe('Released 2 messages of 1 account.')
  expect((await readEntry(app, other)).status).toBe('failed')
  expect(await runCommand('outbox', 'release', '--tenant', tenant)).toBe('Released 1 message of 1 account.')
  expect(await runCommand('outbox', 'release', '--tenant', tenant)).toBe('Released 0 messages of 0 accounts.')
  expect(await runCommand('database', 'restored', '--dry-run')).toContain('3 messages are due')
  await expect(runCommand('outbox', 'release')).rejects.toThrow('Give either --tenant or --account.')
  await expect(runCommand('outbox', 'release', '--account', newId())).rejects.toThrow('There is no account')

  await withJobs(async () => {
    for (const entry of [first, other, second]) await waitForStatus(app, entry, 'sent')
  })
  for (const entry of entries) expect(await sentTo(entry)).toBe(1)
  // One row for each batch of an account.
  for (const id of [account, otherAccount]) expect(await releases('accountId', id)).toBe(1)
})
