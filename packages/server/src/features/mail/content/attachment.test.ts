import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../../../test/sample-rows.ts'
import { findAccountView } from '../../../accounts/store.ts'
import type { ParsedAttachment } from '../../../kit/mime/message-part.ts'
import { findMessage } from '../messages/store.ts'
import { openAttachment } from './attachment.ts'
import type { ReadContext } from './body.ts'

const HEADER = Buffer.from('Content-Type: text/plain\r\n\r\n')
const LISTED: ParsedAttachment = {
  id: '2',
  filename: null,
  contentType: 'text/plain',
  size: 5,
  isInline: false,
  contentId: null,
  encoding: '7bit',
  start: 0,
  end: 5,
}

test.each([
  ['an attachment', '2'],
  ['a part that is not listed', '3'],
])('%s holds no request to the provider before it is read', async (_, id) => {
  await using database = await openTestDatabase()
  const { db } = database
  const account = await sampleAccount(db, (await sampleTenant(db)).id)
  const mailbox = await sampleMailbox(db, account)
  const messageId = await sampleMessageIn(db, account, mailbox.id, { isDraft: true })
  await sql`update message_mailbox set uid = 1 where message_id = ${messageId}`.execute(db)
  let open = 0
  async function* pieces() {
    open += 1
    try {
      yield HEADER
      yield Buffer.from('more')
    } finally {
      open -= 1
    }
  }
  const context = {
    db,
    partPlaces: { find: () => [LISTED], keep: () => {} },
    connections: { stream: pieces },
  } as unknown as ReadContext
  const view = (await findAccountView(db, account.tenantId, account.id))!
  const message = (await findMessage(db, account.id, messageId))!
  const { content } = await openAttachment(context, view, message, id)
  expect(open).toBe(0)
  let length = 0
  for await (const bytes of content) length += bytes.length
  expect(length).toBeGreaterThan(0)
  expect(open).toBe(0)
})
