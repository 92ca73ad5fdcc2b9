import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { newId } from '../kit/ids.ts'
import { claimAccounts } from './ownership.ts'
import { RuntimeReport } from './report.ts'

test('an account that brings messages in is not failing any more, however long its first sync takes', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  await sampleAccount(db, tenant.id)
  const id = newId()
  await db
    .insertInto('instance')
    .values({ id, heartbeat_until: new Date(Date.now() + 60_000) })
    .execute()
  const [owned] = await claimAccounts(db, id, 1)
  if (!owned) throw new Error('nothing to claim')
  const report = new RuntimeReport(db, owned)
  const read = async () => {
    const account = await db
      .selectFrom('account')
      .select(['failing_since', 'behind_since'])
      .executeTakeFirstOrThrow()
    return { isFailing: account.failing_since !== null, isBehind: account.behind_since !== null }
  }
  await report.tell('backoff', 'the server is away')
  expect(await read()).toEqual({ isFailing: true, isBehind: true })
  await report.tell('connecting')
  await report.tell('syncing', 'reading the mailboxes')
  expect(await read()).toEqual({ isFailing: true, isBehind: true })
  // At once, although progress is written only now and then.
  await report.tell('syncing', '900 are still to come', { hasBrought: true })
  expect(await read()).toEqual({ isFailing: false, isBehind: true })
})
