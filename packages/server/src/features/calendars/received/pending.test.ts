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
import { type ClaimedInvitation, claimInvitations, countInvitations, settleInvitation } from './pending.ts'

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

test('only messages that come in, with a sign, and for calendars of a server are noted', async () => {
  const { db } = database
  const [unsigned, sent, elsewhere] = [await openAccount(1), await openAccount(1), await openAccount(1)]
  await sql`update message set may_be_invitation = null where account_id = ${unsigned.id}`.execute(db)
  await sql`update account set imap = imap - 'dav' where id = ${elsewhere.id}`.execute(db)
  await note(unsigned)
  await note(sent, { direction: 'outbound' })
  await note(elsewhere)
  expect(await countInvitations(db)).toBe(0)
  expect(await isWanted(sent.tenantId, 'all')).toBe(true)
  expect(await isWanted(sent.tenantId, 'off')).toBe(false)
  expect(await isWanted(elsewhere.tenantId, 'all')).toBe(false)
})
