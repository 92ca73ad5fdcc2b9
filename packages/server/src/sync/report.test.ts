import { expect, test } from 'vitest'
import { ownAccount } from '../../test/memory-account.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { silentLog } from '../kit/log.ts'
import { RuntimeReport } from './report.ts'

test('an account that brings messages in is not failing any more, however long its first sync takes', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const report = new RuntimeReport(db, await ownAccount(db), 'mail', silentLog)
  const read = async () => {
    const account = await db
      .selectFrom('account_half')
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

test('an account that is known to differ from its provider is not live', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownAccount(db)
  const report = new RuntimeReport(db, owned, 'mail', silentLog)
  const read = () =>
    db.selectFrom('account_half').select(['runtime_state', 'behind_since']).executeTakeFirstOrThrow()
  await db.updateTable('account_half').set({ differs_since: new Date() }).execute()
  await report.tell('live', 'the inbox is watched')
  expect(await read()).toEqual({ runtime_state: 'syncing', behind_since: expect.any(Date) })
  await db.updateTable('account_half').set({ differs_since: null }).execute()
  await report.tell('live', 'the inbox is watched')
  expect(await read()).toEqual({ runtime_state: 'live', behind_since: null })
})

test('an account that is known to lack something reports that, and is neither live nor failing', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const report = new RuntimeReport(db, await ownAccount(db), 'mail', silentLog)
  const read = () =>
    db
      .selectFrom('account_half')
      .select(['runtime_state', 'runtime_detail', 'behind_since', 'failing_since'])
      .executeTakeFirstOrThrow()
  await report.tell('backoff', 'the server is away')
  report.gap = 'a week is missing'
  await report.tell('live', 'the inbox is watched')
  expect(await read()).toEqual({
    runtime_state: 'syncing',
    runtime_detail: 'a week is missing; the inbox is watched',
    behind_since: expect.any(Date),
    failing_since: null,
  })
  report.gap = null
  await report.tell('live', 'the inbox is watched')
  expect(await read()).toMatchObject({ runtime_state: 'live', runtime_detail: 'the inbox is watched' })
})

test('a wait is reported at once, however lately progress was', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const report = new RuntimeReport(db, await ownAccount(db), 'mail', silentLog)
  const detail = async () =>
    (await db.selectFrom('account_half').select('runtime_detail').executeTakeFirstOrThrow()).runtime_detail
  await report.tell('syncing', '900 are still to come', { hasBrought: true })
  await report.tell('syncing', '900 are still to come; waits 41 s')
  expect(await detail()).toBe('900 are still to come; waits 41 s')
})
