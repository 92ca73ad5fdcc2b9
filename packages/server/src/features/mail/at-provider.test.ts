import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestApp } from '../../../test/open-app.ts'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { noteOther } from './at-provider.ts'

test('messages that turn out to be others are noted once until their source is compared', async () => {
  await using app = await openTestApp()
  const { db, tenantId } = app
  const account = { ...(await sampleAccount(db, tenantId)), tenant_id: tenantId }
  await sql`
    insert into sync_cursor (account_id, source, cursor)
    select ${account.id}, source, '{}' from unnest(array['INBOX', 'Work']) as source`.execute(db)
  const note = (source: string) => inTransaction(db, tenantId, unit => noteOther(unit, account, source))
  const read = async () => {
    const { rows } = await sql<{ wakes: number; suspicions: string[] }>`
      select wake_count as wakes,
        array(select suspected_at::text from sync_cursor where account_id = account.id order by source) as suspicions
      from account where id = ${account.id}`.execute(db)
    return rows[0]!
  }

  expect(await note('INBOX')).toBe(true)
  const noted = await read()
  expect(noted).toEqual({ wakes: 1, suspicions: [expect.any(String), expect.any(String)] })
  for (const source of ['INBOX', 'Work', 'INBOX']) expect(await note(source)).toBe(false)
  expect(await read()).toEqual(noted)

  await sql`update sync_cursor set suspected_at = null where source = 'INBOX'`.execute(db)
  expect(await note('INBOX')).toBe(true)
  expect((await read()).wakes).toBe(2)
})
