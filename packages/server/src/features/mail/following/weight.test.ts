/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleTenant } from '../../../../test/sample-rows.ts'
import { weighAccounts } from '../../../accounts/weigh-accounts.ts'
import { mailWeight } from './weight.ts'

test.each([
  ['an account without mailboxes', [], 1],
  ['an empty account', [0], 1],
  ['10,000 messages', [4_000, 6_000], 2],
  ['a million messages', [1_000_000], 7.66],
])('weighs %s', async (_, counts, weight) => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const account = await sampleAccount(db, tenant.id)
  for (const [nth, count] of counts.entries())
    await sampleMailbox(db, account, { name: `mailbox ${nth}`, total_count: count })
  const weights = await weighAccounts(db, [account.id], mailWeight)
  expect(weights.get(account.id)).toBeCloseTo(weight, 2)
})
