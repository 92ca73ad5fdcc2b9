/** @module-tag postgres-16 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { makeExternalDatabase } from '../../test/external-database.ts'
import { waitForLock } from '../../test/wait-for-lock.ts'
import { readConfig } from '../config.ts'
import { silentLog } from '../kit/log.ts'
import { openInstallation } from './database.ts'

test('refuses a database that a newer release migrates while the process starts', async () => {
  await using external = await makeExternalDatabase({ migrated: true })
  const { db } = external.database
  const env = { DATABASE_URL: external.url, WAXWING_SECRET_KEY: randomBytes(32).toString('base64') }
  const config = readConfig(env, { isRoot: false, isTerminal: false })

  const opening = await db.transaction().execute(async tx => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    await sql`select from feed_epoch for update`.execute(tx)
    const begun = Promise.allSettled([openInstallation({ config, as: 'service', log: silentLog })])
    await waitForLock(db)
    const { rows } = await sql<{ name: string }>`
      select application_name as name from pg_stat_activity
      where datname = current_database() and application_name like 'waxwing service, process %'
    `.execute(db)
    expect(rows).toHaveLength(1)
    await sql`insert into schema_migration (version, name, checksum, serves) values (9999, '9999_newer', 'x', 9999)`.execute(
      db,
    )
    return { begun }
  })
  const [opened] = await opening.begun
  expect(opened).toMatchObject({
    status: 'rejected',
    reason: { message: expect.stringContaining('9999_newer') },
  })
})
