import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import { listMissing } from './source-store.ts'

test('missing messages are listed by their lasting ids, without messages that have none', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const account = await sampleAccount(db, tenant.id)
  const mailbox = await sampleMailbox(db, account)
  for (const remoteId of [null, 'one', 'two']) {
    const id = await sampleMessageIn(db, account, mailbox.id)
    await sql`update message set missing_look = 1, remote_id = ${remoteId} where id = ${id}`.execute(db)
  }

  expect(await listMissing(db, account.id, [], 10)).toEqual(['one', 'two'])
  expect(await listMissing(db, account.id, ['one'], 10)).toEqual(['two'])
  expect(await listMissing(db, account.id, ['one', 'two'], 10)).toEqual([])
})
