/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { sweepThreadLinks } from './sweep.ts'

test('sweepThreadLinks deletes links of threads without a message, and no others', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const kept: string[] = []
  for (let at = 0; at < 3; at += 1) {
    const account = await sampleAccount(db, tenant.id)
    const mailbox = await sampleMailbox(db, account)
    const threadId = newId()
    await sampleMessageIn(db, account, mailbox.id, { threadId })
    const links = [threadId, threadId, ...Array.from({ length: 900 }, newId)].map(thread_id => ({
      account_id: account.id,
      reference: newId(),
      thread_id,
    }))
    await db.insertInto('thread_link').values(links).execute()
    kept.push(...links.slice(0, 2).map(({ reference }) => reference))
  }

  await sweepThreadLinks(db, new AbortController().signal)

  const rows = await db.selectFrom('thread_link').select('reference').execute()
  expect(rows.map(({ reference }) => reference).toSorted()).toEqual(kept.toSorted())
})
