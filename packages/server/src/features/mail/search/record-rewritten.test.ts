/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import { rewriteDocuments } from './record-rewritten.ts'

test('rewrites a document with the current snippet, not with the one from when the message was read', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const account = await sampleAccount(db, (await sampleTenant(db)).id)
  const mailbox = await sampleMailbox(db, account)
  const id = await sampleMessageIn(db, account, mailbox.id, { subject: 'heron', snippet: 'corrected' })
  const read = { subject: 'heron', from: null, to: [], cc: [], bcc: [], snippet: 'outdated' }
  const message = { id, received_at: new Date(), ...read, blobId: null, words: null, keepsWords: false }

  expect(await db.transaction().execute(tx => rewriteDocuments({ sql: tx }, [message]))).toBe(1)
  const { rows } = await sql<{ words: string[] }>`
    select tsvector_to_array(document) as words from message_search where message_id = ${id}
  `.execute(db)
  expect(rows[0]?.words).toEqual(expect.arrayContaining(['heron', 'corrected']))
  expect(rows[0]?.words).not.toContain('outdated')
})
