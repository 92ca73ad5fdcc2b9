import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import {
  type SampleAccount,
  sampleAccount,
  sampleMailbox,
  sampleMessageIn,
  sampleTenant,
} from '../../../../test/sample-rows.ts'
import { isUnmet } from '../../../database/precondition.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { findChangeable } from './access.ts'
import type { LocatedMessage } from './change.ts'
import { planFlags, recordChangedFlags } from './record-changed-flags.ts'

let database: Awaited<ReturnType<typeof openTestDatabase>>
let account: SampleAccount
let mailbox: Awaited<ReturnType<typeof sampleMailbox>>
let located: LocatedMessage

beforeAll(async () => {
  database = await openTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  const { db } = database
  account = await sampleAccount(db, (await sampleTenant(db)).id)
  mailbox = await sampleMailbox(db, account, { name: 'Old', role: 'inbox' })
  const id = await sampleMessageIn(db, account, mailbox.id, { subject: 'marked' })
  await sql`update message_mailbox set uid = 7 where message_id = ${id}`.execute(db)
  const found = await findChangeable(db, account, id)
  located = found!.located!
})

const FLAGS = { isRead: true, isFlagged: false, isDraft: false, categories: ['work'] }

/** Records the flags of the message as it was read before. */
async function record({ mayAssume }: { mayAssume: boolean }) {
  const { id, location, asRead } = located
  const change = { messageId: id, at: location, flags: FLAGS, asRead }
  return inTransaction(database.db, account.tenantId, async unit => {
    const recorded = await recordChangedFlags({ ...unit, mayAssume }, account.id, [change])
    return recorded.get(id)
  })
}

async function read() {
  const { db } = database
  const messages = await sql`
    select is_read, categories from message where account_id = ${account.id}
  `.execute(db)
  const events = await sql<{ data: Record<string, unknown> }>`
    select data from event where account_id = ${account.id} order by id
  `.execute(db)
  const keys = await sql<{ uid: string }>`
    select uid, is_added, is_removed from changed_key where account_id = ${account.id}
  `.execute(db)
  return { message: messages.rows[0], events: events.rows.map(({ data }) => data), keys: keys.rows }
}

const RECORDED = {
  message: { is_read: true, categories: ['work'] },
  keys: [{ uid: '7', is_added: false, is_removed: false }],
}

describe('flags of a message that is as it was read', () => {
  test('are recorded and announced as if it had been read again', async () => {
    expect(await record({ mayAssume: true })).toMatchObject({ subject: 'marked', ...RECORDED.message })
    const assumed = await read()
    const { db } = database
    await sql`update message set is_read = false, categories = '{}'`.execute(db)
    await sql`delete from event`.execute(db)
    await sql`delete from changed_key`.execute(db)
    expect(await record({ mayAssume: false })).toMatchObject({ subject: 'marked', ...RECORDED.message })
    expect(assumed).toEqual(await read())
    expect(assumed).toMatchObject({
      ...RECORDED,
      events: [
        {
          message: {
            id: located.id,
            subject: 'marked',
            isRead: true,
            isFlagged: false,
            categories: ['work'],
          },
          mailboxes: [{ id: mailbox.id, name: 'Old', path: 'Old', role: 'inbox', kind: 'folder' }],
          changes: ['isRead', 'categories'],
        },
      ],
    })
  })
})

describe('flags of a message that is not as it was read, since', () => {
  test.each([
    [
      'it was changed',
      sql`update message set is_flagged = true`,
      { changes: ['isRead', 'isFlagged', 'categories'] },
    ],
    ['it is written again as it was', sql`update message set subject = subject`, {}],
    ['its mailbox was renamed', sql`update mailbox set name = 'New'`, { mailboxes: [{ name: 'New' }] }],
  ])('%s, are recorded by reading it', async (_, meanwhile, event) => {
    await meanwhile.execute(database.db)
    const failure = await record({ mayAssume: true }).catch((error: unknown) => error)
    expect(isUnmet(failure)).toBe(true)
    expect(await read()).toMatchObject({ message: { is_read: false }, events: [], keys: [] })

    await record({ mayAssume: false })
    expect(await read()).toMatchObject({ ...RECORDED, events: [event] })
  })

  test.each([
    ['it was deleted', sql`delete from message`],
    ['the account was deleted', sql`update account set deleted_at = now()`],
    ['the account is read from the start', sql`update account_half set initialized_at = null`],
  ])('%s, are not recorded, and nothing is announced', async (_, meanwhile) => {
    await meanwhile.execute(database.db)
    const failure = await record({ mayAssume: true }).catch((error: unknown) => error)
    expect(isUnmet(failure)).toBe(true)
    expect(await read()).toMatchObject({ events: [], keys: [] })
  })
})

describe('a message is read with its location, and not to be assumed later,', () => {
  test.each([
    ['if the first sync goes on', sql`update account_half set initialized_at = null`],
    [
      'if it has several labels',
      sql`update message set mailbox_ids = mailbox_ids || '{0190d9a4-7c1e-7000-8000-000000000001}'::uuid[]`,
    ],
  ])('%s', async (_, before) => {
    await before.execute(database.db)
    const found = await findChangeable(database.db, account, located.id)
    expect(found!.located).toEqual({ ...located, asRead: null })
  })
})

describe('planFlags', () => {
  const row = { is_read: false, is_flagged: true, is_draft: true, categories: ['a', 'b'] }
  const same = { isRead: false, isFlagged: true, isDraft: true, categories: ['b', 'a'] }
  test.each([
    ['nothing', null, {}, []],
    ['the same', same, {}, []],
    ['that it is read', { ...same, isRead: true }, { is_read: true }, ['isRead']],
    ['that it is not flagged', { ...same, isFlagged: false }, { is_flagged: false }, ['isFlagged']],
    ['that it is no draft', { ...same, isDraft: false }, {}, []],
    ['other categories', { ...same, categories: ['c'] }, { categories: ['c'] }, ['categories']],
  ] as const)('of a provider that tells %s', (_, told, differing, changes) => {
    const flags = told && { ...told, categories: [...told.categories] }
    expect(planFlags(row, flags)).toEqual({ next: { ...row, ...differing }, changes })
  })

  test('makes a message a draft that the provider takes for one', () => {
    expect(planFlags({ ...row, is_draft: false }, { ...same, categories: ['a', 'b'] })).toEqual({
      next: row,
      changes: ['isDraft'],
    })
  })
})
