import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { unflushed } from './unflushed.ts'

const SETTING = sql<string>`current_setting('synchronous_commit')`

test('only the statement that has the condition does not wait for the disk', async () => {
  await using database = await openTestDatabase({ connectionsMax: 1 })
  const { db } = database
  await sql`set synchronous_commit = on`.execute(db)
  const tell = async (condition = sql<boolean>`true`) => {
    const { rows } = await sql<{ setting: string }>`
      update feed_epoch set epoch = epoch where ${condition} returning ${SETTING} as setting
    `.execute(db)
    return rows.map(({ setting }) => setting)
  }
  expect([await tell(), await tell(unflushed), await tell()]).toEqual([['on'], ['off'], ['on']])
})
