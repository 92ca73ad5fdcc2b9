/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import type { Database } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { silentLog } from '../../../kit/log.ts'
import { Instance } from '../../../processes/instance.ts'
import { type InvitationsMode, invitationsFollowing } from './following.ts'
import {
  type ClaimedInvitation,
  claimInvitations,
  countInvitations,
  mayBeEarly,
  settleInvitation,
} from './pending.ts'

let database: Database
beforeAll(async () => void (database = await openTestDatabase()), 120_000)
afterAll(() => database[Symbol.asyncDispose]())

/** An account with a calendar server of its own, and messages that may be invitations. */
async function openAccount(messages: number) {
  const { db } = database
  const account = await sampleAccount(db, (await sampleTenant(db)).id)
  await sql`
    update account set imap = jsonb_set(imap, '{dav}', '{"calendarUrl": "https://dav.example.com/"}') where id = ${account.id}
  `.execute(db)
  const mailbox = await sampleMailbox(db, account)
  const ids: string[] = []
  for (let nth = 0; nth < messages; nth++) ids.push(await sampleMessageIn(db, account, mailbox.id))
  await sql`update message set may_be_invitation = true where account_id = ${account.id}`.execute(db)
  return { ...account, ids }
}

/** Hands messages to the follower as their events do. */
async function note(
  { tenantId, ids }: Awaited<ReturnType<typeof openAccount>>,
  { direction = 'inbound', mode = 'known' }: { direction?: string; mode?: InvitationsMode } = {},
) {
  const events = ids.map(id => ({ data: { message: { id, direction, isDraft: false } } }))
  const following = invitationsFollowing(mode)
  await inTransaction(database.db, tenantId, unit =>
    following.handle(unit, events as unknown as Parameters<typeof following.handle>[1]),
  )
}

const isWanted = async (tenantId: string, mode: InvitationsMode) => {
  const wanted = invitationsFollowing(mode).isWanted!(tenantId)
  const { rows } = await sql<{ is: boolean }>`select ${wanted} as is`.execute(database.db)
  return rows[0]!.is
}

test('a flood of invitations to one account keeps no others waiting, and each is claimed once', async () => {
  const { db, address } = database
  const [flooded, other] = [await openAccount(60), await openAccount(1)]
  for (const account of [flooded, other]) {
    await note(account)
    await note(account)
  }
  expect(await countInvitations(db)).toBe(61)
  const facts = { roles: ['jobs'], host: 'test', version: '0' }
  await using instance = await Instance.start({ address, log: silentLog, facts, isAlone: false })
  const lease = await instance.awaitLease(new AbortController().signal)
  const claim = (running: ClaimedInvitation[]) => claimInvitations(db, lease, { limit: 4, running })
  const first = await claim([])
  expect(first.map(({ accountId }) => accountId).toSorted()).toEqual([flooded.id, other.id].toSorted())
  expect(await claim(first)).toEqual([])
  const seen = new Set(first.map(({ messageId }) => messageId))
  for (let claimed = first; claimed.length > 0; claimed = await claim([])) {
    for (const one of claimed) {
      seen.add(one.messageId)
      expect(await settleInvitation(db, one)).toBe(true)
      expect(await settleInvitation(db, one)).toBe(false)
    }
  }
  expect(seen.size).toBe(61)
})

test('two processes never read two messages of one account at once', async () => {
  const { db, address } = database
  const account = await openAccount(5)
  await note(account)
  const facts = { roles: ['jobs'], host: 'test', version: '0' }
  const start = () => Instance.start({ address, log: silentLog, facts, isAlone: false })
  await using stack = new AsyncDisposableStack()
  const instances = [stack.use(await start()), stack.use(await start()), stack.use(await start())]
  const leases = await Promise.all(instances.map(one => one.awaitLease(new AbortController().signal)))
  const order: string[] = []
  for (let round = 0; round < account.ids.length; round++) {
    const claimed = await Promise.all(
      leases.map(lease => claimInvitations(db, lease, { limit: 4, running: [] })),
    )
    const [one, ...others] = claimed.flat()
    expect(others).toEqual([])
    const another = leases.find(({ id }) => id !== one!.claimedBy)!
    expect(await claimInvitations(db, another, { limit: 4, running: [] })).toEqual([])
    order.push(one!.messageId)
    await settleInvitation(db, one!)
  }
  expect(new Set(order).size).toBe(5)
})

test('a message that something may still come for is early', async () => {
  const { db } = database
  const account = await openAccount(2)
  await note(account)
  const [first, second] = account.ids.map(
    messageId => ({ messageId, accountId: account.id }) as ClaimedInvitation,
  )
  const backdate = (messageId: string, seconds: number) =>
    sql`
      update pending_invitation set created_at = clock_timestamp() - make_interval(secs => ${seconds})
      where message_id = ${messageId}
    `.execute(db)
  expect(await mayBeEarly(db, first!)).toBe(true)
  await backdate(first!.messageId, 3_600)
  expect(await mayBeEarly(db, first!)).toBe(false)
  await backdate(second!.messageId, 1_800)
  expect(await mayBeEarly(db, second!)).toBe(true)
  await sql`delete from pending_invitation where message_id = ${first!.messageId}`.execute(db)
  expect(await mayBeEarly(db, second!)).toBe(false)
})

test('only messages that come in, with a sign, and for calendars of a server are noted', async () => {
  const { db } = database
  const [unsigned, sent, elsewhere] = [await openAccount(1), await openAccount(1), await openAccount(1)]
  await sql`update message set may_be_invitation = null where account_id = ${unsigned.id}`.execute(db)
  await sql`update account set imap = imap - 'dav' where id = ${elsewhere.id}`.execute(db)
  const waiting = await countInvitations(db)
  await note(unsigned)
  await note(sent, { direction: 'outbound' })
  await note(elsewhere)
  const old = await openAccount(1)
  await sql`update message set received_at = now() - interval '31 days' where account_id = ${old.id}`.execute(
    db,
  )
  await note(old)
  expect(await countInvitations(db)).toBe(waiting)
  expect(await isWanted(sent.tenantId, 'all')).toBe(true)
  expect(await isWanted(sent.tenantId, 'off')).toBe(false)
  expect(await isWanted(elsewhere.tenantId, 'all')).toBe(false)
})
