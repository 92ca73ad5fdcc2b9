/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import type { Database } from '../../../database/pool.ts'
import { Instance } from '../../../processes/instance.ts'
import { silentLog } from '../../../kit/log.ts'
import { setSuspended } from '../../tenancy/tenants/store.ts'
import { planRetrySeconds } from './limits.ts'
import { type ClaimedAnswer, claimAnswers, hurryAnswers } from './pending.ts'

let database: Database
beforeAll(async () => void (database = await openTestDatabase()), 120_000)
afterAll(() => database[Symbol.asyncDispose]())

/** A message that waits since an attempt that ended some time ago. */
async function sampleAnswer(attempts: number, endedAt: Date, tenantId: string | null = null) {
  const { db } = database
  const account = await sampleAccount(db, tenantId ?? (await sampleTenant(db)).id)
  const mailbox = await sampleMailbox(db, account)
  const messageId = await sampleMessageIn(db, account, mailbox.id)
  await sql`
    insert into pending_answer (message_id, tenant_id, account_id, attempts, due_at)
    values (${messageId}, ${account.tenantId}, ${account.id}, ${attempts},
      ${endedAt}::timestamptz + make_interval(secs => ${planRetrySeconds(attempts)}))
  `.execute(db)
  return { account, messageId }
}

/** The time at which a message is due whose last attempt ended some time ago, once its account has changed twice. */
async function hurry(attempts: number, secondsAgo: number): Promise<{ waits: number; isDue: boolean }> {
  const { db } = database
  const endedAt = new Date(Date.now() - secondsAgo * 1_000)
  const { account, messageId } = await sampleAnswer(attempts, endedAt)
  await hurryAnswers(db, [account.id])
  await hurryAnswers(db, [account.id])
  const { rows } = await sql<{ waits: number; isDue: boolean }>`
    select extract(epoch from due_at - ${endedAt}::timestamptz)::float8 as waits, due_at <= clock_timestamp() as "isDue"
    from pending_answer where message_id = ${messageId}
  `.execute(db)
  return rows[0]!
}

test.each([
  { attempts: 1, waits: 10 },
  { attempts: 3, waits: 60 },
  { attempts: 9, waits: 60 },
])(
  'after $attempts attempts a message whose account changes waits $waits seconds, however often it does',
  async ({ attempts, waits }) => {
    expect((await hurry(attempts, 0)).waits).toBeCloseTo(waits, 0)
  },
)

test('a message that has waited for a minute is due once its account changes', async () => {
  expect((await hurry(9, 3_600)).isDue).toBe(true)
})

test('a message of a suspended tenant waits until that is resumed', async () => {
  const { db, address } = database
  const { account, messageId } = await sampleAnswer(0, new Date(0))
  const facts = { roles: ['jobs'], host: 'test', version: '0' }
  await using instance = await Instance.start({ address, log: silentLog, facts, isAlone: false })
  const lease = await instance.awaitLease(new AbortController().signal)
  let claimed: ClaimedAnswer[] = []
  const claim = async () => {
    claimed = await claimAnswers(db, lease, { limit: 100, running: [] })
    return claimed.map(answer => answer.messageId)
  }
  await sql`update pending_answer set created_at = now() - interval '15 days' where message_id = ${messageId}`.execute(
    db,
  )
  await setSuspended(db, account.tenantId, true)
  expect(await claim()).not.toContain(messageId)
  await setSuspended(db, account.tenantId, false)
  expect(await claim()).toContain(messageId)
  const isLast = () => claimed.find(answer => answer.messageId === messageId)?.isLast
  // Its time begins again at the end of the suspension.
  expect(isLast()).toBe(false)
  await setSuspended(db, account.tenantId, false)
  await sql`update tenant set resumed_at = resumed_at - interval '15 days' where id = ${account.tenantId}`.execute(
    db,
  )
  await claim()
  expect(isLast()).toBe(true)
})

test('messages of a tenant that has many are claimed in turn with messages of others', async () => {
  const { db, address } = database
  const facts = { roles: ['jobs'], host: 'test', version: '0' }
  await using instance = await Instance.start({ address, log: silentLog, facts, isAlone: false })
  const lease = await instance.awaitLease(new AbortController().signal)
  await sql`delete from pending_answer`.execute(db)
  const [many, few] = [(await sampleTenant(db)).id, (await sampleTenant(db)).id]
  for (let nth = 0; nth < 6; nth++) await sampleAnswer(0, new Date(nth * 1_000), many)
  for (let nth = 0; nth < 2; nth++) await sampleAnswer(0, new Date(100_000 + nth * 1_000), few)

  const claim = async (running: ClaimedAnswer[], limit: number) => {
    const claimed = await claimAnswers(db, lease, { limit, running })
    return {
      claimed,
      tenants: claimed.map(({ tenantId }) => (tenantId === many ? 'many' : 'few')).toSorted(),
    }
  }
  const first = await claim([], 2)
  expect(first.tenants).toEqual(['few', 'many'])
  const ofMany = first.claimed.filter(({ tenantId }) => tenantId === many)
  expect((await claim(ofMany, 1)).tenants).toEqual(['few'])
})
