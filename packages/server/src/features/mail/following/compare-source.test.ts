import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openSession, ownAccount } from '../../../../test/memory-account.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleMailbox, sampleMessageIn } from '../../../../test/sample-rows.ts'
import { waitForLock } from '../../../../test/wait-for-lock.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { lockMailAccount } from '../messages/record-account.ts'
import { recordChangedKeys } from '../messages/record-changed-keys.ts'
import type { MailProvider, SourceStep } from '../../../providers/mail.ts'
import { compareSource } from './compare-source.ts'

test('a message that the interface changed meanwhile does not go missing by a comparison', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownAccount(db)
  const account = { id: owned.id, tenantId: owned.tenantId }
  const inbox = await sampleMailbox(db, account, { name: 'INBOX', role: 'inbox' })
  for (const uid of [1, 2, 3]) {
    const id = await sampleMessageIn(db, account, inbox.id, { subject: `message ${uid}` })
    await sql`update message_mailbox set uid = ${uid} where message_id = ${id}`.execute(db)
  }
  const change = (unit: UnitOfWork, key: number) =>
    recordChangedKeys(unit, account.id, [{ source: 'INBOX', key }])

  const compared = Promise.withResolvers<void>()
  const changed = Promise.withResolvers<void>()
  const provider: Partial<MailProvider> = {
    async *compare(): AsyncGenerator<SourceStep> {
      yield { type: 'gone', keys: [1, 2, 3], certainty: 'hint', cursor: {} }
      // Changed after the listing, and committed before anything of it is recorded.
      await inTransaction(db, account.tenantId, unit => change(unit, 1))
      compared.resolve()
      await changed.promise
    },
  }
  const session = await openSession(db, owned, provider as MailProvider)
  const mailboxes = [{ id: inbox.id, key: 'INBOX', role: 'inbox' as const }]
  const comparing = compareSource(session, { source: 'INBOX', mailboxes })
  await compared.promise
  // A change that is committed when the comparison begins to record.
  await inTransaction(db, account.tenantId, async unit => {
    await lockMailAccount(unit, account.id)
    await change(unit, 2)
    changed.resolve()
    await waitForLock(db)
  })
  await comparing

  const { rows } = await sql<{ subject: string }>`
    select subject from message where missing_look is not null order by subject`.execute(db)
  expect(rows.map(({ subject }) => subject)).toEqual(['message 3'])
})
