/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessages, sampleTenant } from '../../../../test/sample-rows.ts'
import { BATCH_BYTES_MAX, cutBatch, listUnstored, type UnstoredMessage } from './unstored.ts'

const MIB = BATCH_BYTES_MAX

function messages(...sizes: number[]): UnstoredMessage[] {
  return sizes.map((size, nth) => ({
    id: String(nth),
    size,
    is_draft: false,
    is_renumbered: false,
    is_kept: false,
    received_at: new Date(nth),
    source: 'INBOX',
    cursor: null,
    key: nth,
  }))
}

describe('a batch', () => {
  test.each([
    ['contains what fits into its size', [10, 20, MIB - 30], Infinity, 3],
    ['ends before a message that does not fit', [10, 20, MIB - 29], Infinity, 2],
    ['is a single message if that is larger', [20 * MIB, 10], Infinity, 1],
    ['ends before a larger one', [10, 20 * MIB, 10], Infinity, 1],
    ['does not exceed the room in the plan', [10, 20, 30], 35, 2],
    ['uses all of the room', [10, 20, 30], 60, 3],
    ['is empty if there is no room for the first', [10, 5], 9, 0],
    ['is empty if there is no message', [], Infinity, 0],
  ])('%s', (_, sizes, room, count) => {
    const all = messages(...sizes)
    expect(cutBatch(all, room)).toEqual(all.slice(0, count))
  })
})

test('a walk skips no message while newer ones are deleted', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const account = await sampleAccount(db, (await sampleTenant(db)).id)
  const mailbox = await sampleMailbox(db, account)
  // More messages than one statement reads.
  const rows = Array.from({ length: 5010 }, (_, nth) => ({
    mailboxIds: [mailbox.id],
    receivedAt: new Date(Date.UTC(2026, 0, 1) - nth * 1000),
  }))
  const ids = await sampleMessages(db, account, rows)
  // The only message that can be stored.
  await sql`update message_mailbox set uid = 1 where message_id = ${ids[5004]}`.execute(db)

  const first = await listUnstored(db, account.id, null)
  expect(first.found).toEqual([])
  await sql`delete from message where id = any(${ids.slice(0, 10)}::uuid[])`.execute(db)
  const second = await listUnstored(db, account.id, first.end)
  expect(second).toMatchObject({ found: [{ id: ids[5004] }], end: null })
})
