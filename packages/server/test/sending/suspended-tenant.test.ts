import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { failHeldBack } from '../../src/features/sending/outbox/sweep.ts'
import { setPastDue, setSuspended } from '../../src/features/tenancy/tenants/store.ts'
import type { Caller } from '../caller.ts'
import { openWorld, type World } from '../servers/world.ts'
import { QUICK_PACE, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  GRACE,
  openSendingApp,
  readEntry,
  send,
  type SendingApp,
  waitForStatus,
} from './open-sending.ts'

const NEVER = new AbortController().signal
const PARALLEL = 60
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString()
const NEWS =
  'From: Grace <grace@example.org>\r\nSubject: News\r\nMessage-ID: <news@example.org>\r\n\r\nNews.\r\n'

let sending: SendingApp
const worlds = new AsyncDisposableStack()
beforeAll(async () => {
  sending = await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE } })
})
afterAll(async () => {
  await worlds.disposeAsync()
  await sending[Symbol.asyncDispose]()
})

interface Sender {
  caller: Caller
  tenantId: string
  accountId: string
  world: World
}

/** A tenant with an account that was synced. */
async function openSender(name: string): Promise<Sender> {
  const { app, imap } = sending
  const { tenantId, ...caller } = await app.createTenant(name)
  const user = await imap.addUser()
  const world = worlds.use(await openWorld(imap, user))
  const accountId = await connectSender(caller, sending, { user })
  await waitForFirstSync(caller, accountId)
  return { caller, tenantId, accountId, world }
}

/** Makes everything due that an account has queued. */
async function makeDue(...accountIds: string[]): Promise<void> {
  await sql`update outbox set due_at = clock_timestamp(), send_at = clock_timestamp()
    where account_id = any(${accountIds}::uuid[]) and due_at is not null`.execute(sending.app.db)
  await sql`update sending_account set due_at = clock_timestamp() where account_id = any(${accountIds}::uuid[])`.execute(
    sending.app.db,
  )
}

async function find<T>(statement: ReturnType<typeof sql>): Promise<T> {
  return (await statement.execute(sending.app.db)).rows[0] as T
}

const findMessages = async ({ accountId }: Pick<Sender, 'accountId'>) =>
  (
    await find<{ count: number }>(
      sql`select count(*)::int as count from message where account_id = ${accountId}`,
    )
  ).count

const isOwned = async ({ accountId }: Sender) =>
  (
    await find<{ is: boolean }>(
      sql`select owner_instance is not null as is from account where id = ${accountId}`,
    )
  ).is

describe('a suspended tenant', () => {
  test('is locked out and everything of it waits; resumed, it goes on', async () => {
    const { db } = sending.app
    const [held, other] = [await openSender('held'), await openSender('other')]
    const waiting = await send(held.caller, held.accountId, { subject: 'Held', sendAt: inAnHour() })
    const control = await send(other.caller, other.accountId, { sendAt: inAnHour() })

    await setSuspended(db, held.tenantId, true)
    await waitUntil(
      'its key to be refused',
      async () => (await held.caller.get('/v1/accounts')).status === 401,
    )
    await waitUntil('its account to be let go', async () => !(await isOwned(held)))
    await makeDue(held.accountId, other.accountId)
    for (const { world } of [held, other]) await world.deliver([{ raw: NEWS }])
    await waitForStatus(other.caller, control, 'sent')
    await waitUntil('the other account to be synced', async () => (await findMessages(other)) === 1)
    const isPutOff = sql`select due_at > clock_timestamp() as is from sending_account where account_id = ${held.accountId}`
    await waitUntil('its sends to be put off', async () => (await find<{ is: boolean }>(isPutOff)).is)
    expect(await findMessages(held)).toBe(0)
    await sql`update outbox set send_at = clock_timestamp() - interval '49 hours' where id = ${waiting.id}`.execute(
      db,
    )
    await sql`update account set status = 'paused' where id = ${held.accountId}`.execute(db)
    await failHeldBack(db, NEVER)
    await sql`update account set status = 'active' where id = ${held.accountId}`.execute(db)
    expect(await find(sql`select status, attempts from outbox where id = ${waiting.id}`)).toEqual({
      status: 'queued',
      attempts: 0,
    })
    const accepted = await sending.sink.accepted()
    expect(accepted.map(({ messageId }) => messageId)).toEqual([control.internetMessageId])

    await setSuspended(db, held.tenantId, false)
    await makeDue(held.accountId)
    await waitUntil(
      'its key to be accepted',
      async () => (await held.caller.get('/v1/accounts')).status === 200,
    )
    await waitForStatus(held.caller, waiting, 'sent')
    await waitUntil('its account to be synced', async () => (await findMessages(held)) === 1)
  })
})

describe('a tenant whose payment is overdue', () => {
  test('queues and connects nothing new; all else goes on', async () => {
    const { app } = sending
    const { caller, tenantId, accountId, world } = await openSender('overdue')
    const path = `/v1/accounts/${accountId}`
    const queued = await send(caller, accountId, { sendAt: inAnHour() })
    const kept = { subject: 'Once', to: [GRACE], text: 'Once.', sendAt: inAnHour() }
    const first = await caller.post(`${path}/outbox`, kept, { 'idempotency-key': 'once' })
    const { body: draft } = await caller.post<{ id: string }>(`${path}/drafts`, {
      to: [GRACE],
      subject: 'Draft',
    })

    await setPastDue(app.db, tenantId, true)

    const merge = { subject: 'Hello', text: 'Hello', entries: [{ to: GRACE }] }
    const refused = { status: 402, body: { defined: true, code: 'billing_past_due' } }
    expect(await caller.post(`${path}/outbox`, { to: [GRACE] })).toMatchObject(refused)
    expect(await caller.post(`${path}/drafts/${draft.id}/send`, {})).toMatchObject(refused)
    expect(await caller.post(`${path}/mail-merges`, merge)).toMatchObject(refused)
    await expect(connectSender(caller, sending)).rejects.toThrow('billing_past_due')
    // Input is checked before the payment, and the payment before the resource.
    expect(await caller.post(`${path}/outbox`, { to: 'Grace' })).toMatchObject({ status: 400 })
    expect(await caller.post('/v1/accounts/unknown/outbox', { to: [GRACE] })).toMatchObject(refused)
    expect(await caller.post(`${path}/outbox`, kept, { 'idempotency-key': 'once' })).toMatchObject({
      status: 200,
      body: { id: first.body['id'] },
    })

    await makeDue(accountId)
    await waitForStatus(caller, queued, 'sent')
    await world.deliver([{ raw: NEWS }])
    await waitUntil('the sync', async () => (await findMessages({ accountId })) === 1)
    expect((await caller.patch('/v1/settings', { undoSendSeconds: 1 })).status).toBe(200)
    await setPastDue(app.db, tenantId, false)
    await send(caller, accountId, { sendAt: inAnHour() })
  })

  test('accepts nothing that begins after it was marked, and what it accepted is sent', async () => {
    const { app } = sending
    const { caller, tenantId, accountId } = await openSender('racing')
    const post = () =>
      caller.post<{ id: string; code?: string }>(`/v1/accounts/${accountId}/outbox`, { to: [GRACE] })
    const codes: Array<string | undefined> = []
    const accepted: string[] = []
    const callUntilRefused = async () => {
      for (let calls = 0; calls < PARALLEL; calls += 1) {
        const { status, body } = await post()
        if (status === 200) accepted.push(body.id)
        else return void codes.push(body.code)
      }
    }
    const callers = Array.from({ length: 8 }, callUntilRefused)
    await waitUntil('some sends', () => Promise.resolve(accepted.length > 4))
    await setPastDue(app.db, tenantId, true)
    const late = await Promise.all(Array.from({ length: 8 }, post))
    await Promise.all(callers)

    expect(new Set([...codes, ...late.map(({ body }) => body.code)])).toEqual(new Set(['billing_past_due']))
    const { rows } = await sql<{ id: string }>`select id from outbox where account_id = ${accountId}`.execute(
      app.db,
    )
    expect(rows.map(({ id }) => id).toSorted()).toEqual(accepted.toSorted())
    const isSent = async (id: string) =>
      (await readEntry(caller, { id, accountId } as Parameters<typeof readEntry>[1])).status === 'sent'
    await waitUntil('all to be sent', async () =>
      (await Promise.all(accepted.slice(0, 16).map(isSent))).every(Boolean),
    )
  })
})
