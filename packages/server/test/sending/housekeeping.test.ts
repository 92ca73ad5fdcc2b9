import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { recordRestore } from '../../src/database/feed-epoch.ts'
import type { Db } from '../../src/database/pool.ts'
import { purgeDueAccounts } from '../../src/features/accounts/accounts/purge.ts'
import { purgeMail } from '../../src/features/mail/purge.ts'
import { listDueAccounts, recoverClaims } from '../../src/features/sending/outbox/claims.ts'
import { sweepContent } from '../../src/features/sending/outbox/content.ts'
import { claimTasks } from '../../src/features/sending/outbox/record-task.ts'
import { failOftenLost, settleByCopies, sweepEntries } from '../../src/features/sending/outbox/sweep.ts'
import { purgeSending } from '../../src/features/sending/purge.ts'
import { setSuspended } from '../../src/features/tenancy/tenants/store.ts'
import { openBlobStore } from '../../src/kit/blobs/blob-store.ts'
import { openFolderObjects } from '../../src/kit/blobs/folder-objects.ts'
import { Instance } from '../../src/processes/instance.ts'
import { newId } from '../../src/kit/ids.ts'
import { silentLog } from '../../src/kit/log.ts'
import { openTestApp } from '../open-app.ts'
import { sampleMailbox, sampleMessageIn } from '../sample-rows.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp, readEntry, send, sendEvents, waitForStatus } from './open-sending.ts'
import { SOAK } from '../soak.ts'

const never = new AbortController().signal
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()

async function countRows(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{
    count: number
  }>`select count(*)::int as count from ${sql.table(table)}`.execute(db)
  return rows[0]!.count
}

test('messages that are accepted after a restore are sent, although no process with the role jobs has seen the restore', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const due = await send(app, accountId)
  await recordRestore(app.db)
  const { database, keyRing } = app
  const shared = { egressAllow: ['127.0.0.1/32'], allowPlaintext: true, database, keyRing }
  await using restarted = await openTestApp({ roles: ['api'], ...shared })
  const fresh = await send(restarted, accountId)

  await using _jobs = await openTestApp({ roles: ['jobs'], ...shared })

  await waitForStatus(restarted, fresh, 'sent')
  expect(await readEntry(app, due)).toMatchObject({ status: 'sending' })
})

test('the scheduled sends of a deleted account are cancelled at once', async () => {
  await using opened = await openSendingApp()
  const { app } = opened
  const accountId = await connectSender(app, opened)
  await send(app, accountId, { sendAt: inAnHour() })

  await app.delete(`/v1/accounts/${accountId}`)

  await waitUntil('the send to be cancelled', async () => {
    const { status } = await app.db.selectFrom('outbox').select('status').executeTakeFirstOrThrow()
    return status === 'cancelled'
  })
})

test('a message whose process dies each time before it is handed over is given up', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const [deadly, other] = [await send(app, accountId), await send(app, accountId)]
  const facts = { roles: ['jobs'], host: 'test', version: '0.0.0' }
  const { address } = app.database
  await using instance = await Instance.start({ address, log: silentLog, facts, isAlone: false })
  const lease = instance.lease!
  const die = async (count: number) => {
    for (let times = 0; times < count; times += 1) {
      await sql`
        update outbox set status = 'sending', phase = 'pre', claim = gen_random_uuid(), claimed_by = ${lease.id},
          due_at = null, dated_at = clock_timestamp()
        where id = ${deadly.id}
      `.execute(app.db)
      await recoverClaims(app.db, lease, [])
    }
  }

  await die(9)
  await failOftenLost(app.db, never)
  expect(await readEntry(app, deadly)).toMatchObject({ status: 'queued' })
  await die(1)
  await failOftenLost(app.db, never)

  expect(await readEntry(app, deadly)).toMatchObject({
    status: 'failed',
    lastError: { reason: 'provider_unavailable', message: expect.stringContaining('10 times') },
  })
  expect(await readEntry(app, other)).toMatchObject({ status: 'queued' })
  expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.failed'])
})

test('a send whose outcome was unknown is sent once its copy is indexed', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const entry = await send(app, accountId)
  await sql`
    update outbox set status = 'failed', error_reason = 'outcome_unknown', error_message = 'lost', due_at = null,
      ended_at = clock_timestamp(), handed_over_at = clock_timestamp()
  `.execute(app.db)
  await settleByCopies(app.db, never)
  expect(await readEntry(app, entry)).toMatchObject({ status: 'failed', messageId: null })

  const account = { id: accountId, tenantId: app.tenantId }
  const mailbox = await sampleMailbox(app.db, account, { role: 'sent', name: 'Sent' })
  const messageId = await sampleMessageIn(app.db, account, mailbox.id)
  await sql`update message set outbox_id = ${entry.id} where id = ${messageId}`.execute(app.db)
  await settleByCopies(app.db, never)
  expect(await readEntry(app, entry)).toMatchObject({ status: 'sent', lastError: null, messageId })
  expect((await sendEvents(app)).map(({ type }) => type)).toEqual(['send.sent'])
  await settleByCopies(app.db, never)
  expect(await sendEvents(app)).toHaveLength(1)
})

test('entries are kept for 30 days after their end, and their copies are known longer', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const accountId = await connectSender(app, opened)
  const entries: OutboxEntry[] = []
  for (let count = 0; count < 3; count++) entries.push(await send(app, accountId, { sendAt: inAnHour() }))
  const [old, recent, queued] = entries.map(({ id }) => id)
  for (const id of [old, recent]) await app.delete(`/v1/accounts/${accountId}/outbox/${id}`)
  await sql`
    update outbox set ended_at = clock_timestamp() - interval '30 days 1 minute' where id = ${old}`.execute(
    app.db,
  )
  await sql`
    update outbox set ended_at = clock_timestamp() - interval '29 days' where id = ${recent}`.execute(app.db)
  await sweepEntries(app.db, never)
  const { body } = await app.get<{ items: OutboxEntry[] }>(`/v1/accounts/${accountId}/outbox`)
  expect(body.items.map(({ id }) => id).toSorted()).toEqual([recent, queued].toSorted())
  expect(await countRows(app.db, 'sent_message')).toBe(3)
  expect(await countRows(app.db, 'outbox_content')).toBe(1)
})

test('content that no entry was made of goes after some hours, and content of an entry never does', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const accountId = await connectSender(app, opened)
  await send(app, accountId, { sendAt: inAnHour() })
  const insert = (hours: number) =>
    sql`
    insert into outbox_content (id, account_id, layout, bytes, created_at)
    values (${newId()}, ${accountId}, '{}', 0, clock_timestamp() - make_interval(hours => ${hours}))
  `.execute(app.db)
  await insert(1)
  await insert(7)
  await sql`update outbox_content set created_at = '2020-01-01' where outbox_id is not null`.execute(app.db)
  await sweepContent(app.db, never)
  const { rows } = await sql<{ is_bound: boolean }>`
    select outbox_id is not null as is_bound from outbox_content order by 1`.execute(app.db)
  expect(rows).toEqual([{ is_bound: false }, { is_bound: true }])
})

test('a purge leaves nothing of what was sent', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const accountId = await connectSender(app, opened)
  await send(app, accountId, { sendAt: inAnHour() })
  await app.delete(`/v1/accounts/${accountId}?purge=true`)
  const steps = [
    (id: string, signal: AbortSignal) => purgeSending(app.db, id, signal),
    (id: string, signal: AbortSignal) =>
      purgeMail(app.db, openBlobStore(openFolderObjects('/nonexistent')), id, signal),
  ]
  await purgeDueAccounts({ db: app.db, steps, log: silentLog }, never)
  for (const table of ['outbox', 'outbox_content', 'outbox_piece', 'sending_account', 'sent_message'])
    expect({ table, count: await countRows(app.db, table) }).toEqual({ table, count: 0 })
})

test('a service that stops waits for the answer to what it handed over, and gives back what it did not', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app, sink } = opened
  const { database, keyRing } = app
  const [waiting, other] = [await connectSender(app, opened), await connectSender(app, opened)]
  const atDot = Promise.withResolvers<void>()
  const atMail = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const handedOver = await send(app, waiting)
  sink.behave = async ({ step, argument }) => {
    if (step === 'dot') {
      atDot.resolve()
      await answer.promise
    }
    if (step === 'rcpt' && argument === 'slow@example.org') {
      atMail.resolve()
      return { does: 'silence' }
    }
    return null
  }
  const jobs = await openTestApp({
    roles: ['jobs'],
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
    database,
    keyRing,
  })
  await atDot.promise
  const early = await send(app, other, { to: [{ address: 'slow@example.org' }] })
  await atMail.promise
  const stopped = jobs[Symbol.asyncDispose]()
  await waitUntil('the entry to be given back', async () => (await readEntry(app, early)).status === 'queued')
  expect(await readEntry(app, handedOver)).toMatchObject({ status: 'sending' })
  answer.resolve()
  await stopped
  expect(await readEntry(app, handedOver)).toMatchObject({ status: 'sent' })
  expect(await readEntry(app, early)).toMatchObject({ status: 'queued', attempts: 0 })
})

test('a send that the server gives back while the service stops is sent by the next one', SOAK, async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app, sink } = opened
  const { database, keyRing } = app
  const [waiting, other] = [await connectSender(app, opened), await connectSender(app, opened)]
  const options = { roles: ['jobs' as const], egressAllow: ['127.0.0.1/32'], allowPlaintext: true }
  const atDot = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const atRcpt = Promise.withResolvers<void>()
  sink.behave = async ({ step, argument }) => {
    if (step === 'rcpt' && argument === 'slow@example.org') {
      atRcpt.resolve()
      return { does: 'silence' }
    }
    if (step !== 'dot') return null
    atDot.resolve()
    await answer.promise
    return '421 4.3.2 closing'
  }
  const jobs = await openTestApp({ ...options, database, keyRing })
  const entry = await send(app, waiting)
  await atDot.promise
  const early = await send(app, other, { to: [{ address: 'slow@example.org' }] })
  await atRcpt.promise
  const stopped = jobs[Symbol.asyncDispose]()
  await waitUntil('the service to stop', async () => (await readEntry(app, early)).status === 'queued')
  answer.resolve()
  await stopped
  expect(await readEntry(app, entry)).toMatchObject({ status: 'queued' })
  sink.behave = () => null
  await using _next = await openTestApp({ ...options, database, keyRing })
  for (const one of [entry, early]) await waitForStatus(app, one, 'sent')
  expect(await sink.accepted()).toHaveLength(2)
})

test('accounts of one tenant do not hide those of another, however many are due', SOAK, async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const other = await app.createTenant('other')
  const insert = (tenantId: string, count: number, seconds: number) =>
    sql`
      with account as (
        insert into account (id, tenant_id, provider, email, auth_method, imap, status)
        select gen_random_uuid(), ${tenantId}, 'imap', number || '@' || ${tenantId}, 'password', '{}', 'active'
        from generate_series(1, ${count}) as number returning id, tenant_id
      )
      insert into sending_account (account_id, tenant_id, due_at)
      select id, tenant_id, clock_timestamp() - make_interval(secs => ${seconds}) from account
    `.execute(app.db)
  await insert(app.tenantId, 500, 3_600)
  await insert(other.tenantId, 1, 1)
  const { usable } = await listDueAccounts(app.db, [])
  expect(usable.map(({ tenantId }) => tenantId)).toContain(other.tenantId)
})

test('tasks of one account do not hide those of another, however many are due', SOAK, async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const [busy, other] = [await connectSender(app, opened), await connectSender(app, opened)]
  const [first, last] = [await send(app, busy), await send(app, other)]
  await sql`update outbox set status = 'sent', due_at = null, task = 'file_copy', task_at = created_at`.execute(
    app.db,
  )
  const { rows } = await sql<{ columns: string }>`
    select string_agg(quote_ident(column_name), ', ') as columns from information_schema.columns
    where table_name = 'outbox' and column_name not in ('id', 'task_at')
  `.execute(app.db)
  const columns = sql.raw(rows[0]!.columns)
  await sql`
    insert into outbox (id, task_at, ${columns})
    select gen_random_uuid(), task_at - interval '1 hour', ${columns} from outbox, generate_series(1, 1500)
    where id = ${first.id}
  `.execute(app.db)
  const { database } = app
  await using instance = await Instance.start({
    address: database.address,
    log: silentLog,
    facts: { roles: ['jobs'], host: 'test', version: '0' },
    isAlone: false,
  })
  const lease = await instance.awaitLease(never)
  const claimed = await claimTasks(app.db, lease, 10, [])
  expect(claimed.map(({ accountId }) => accountId).toSorted()).toEqual([busy, other].toSorted())
  expect(claimed.map(({ id }) => id)).toContain(last.id)
  // One of an account at a time.
  expect(
    await claimTasks(
      app.db,
      lease,
      10,
      claimed.map(({ id }) => id),
    ),
  ).toEqual([])
})

test('tasks of a suspended tenant wait until it is resumed', async () => {
  await using opened = await openSendingApp({ app: { roles: ['api'] } })
  const { app } = opened
  const { id } = await send(app, await connectSender(app, opened), { sendAt: inAnHour() })
  await sql`update outbox set task = 'mark_original', task_at = clock_timestamp()`.execute(app.db)
  await using instance = await Instance.start({
    address: app.database.address,
    log: silentLog,
    facts: { roles: ['jobs'], host: 'test', version: '0' },
    isAlone: false,
  })
  const lease = await instance.awaitLease(never)
  await setSuspended(app.db, app.tenantId, true)
  expect(await claimTasks(app.db, lease, 10, [])).toEqual([])
  await setSuspended(app.db, app.tenantId, false)
  expect(await claimTasks(app.db, lease, 10, [])).toMatchObject([{ id }])
})
