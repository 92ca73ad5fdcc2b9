/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { isPending } from './claims.ts'

test('a due task is pending unless its tenant is suspended or a process does it', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const { id: tenantId } = await sampleTenant(db)
  const account = await sampleAccount(db, tenantId)
  const [ownId, otherId, entryId] = [newId(), newId(), newId()]
  await sql`insert into instance (id, heartbeat_until)
    select unnest(${[ownId, otherId]}::uuid[]), now() + interval '50 seconds'`.execute(db)
  await sql`
    insert into outbox (id, tenant_id, account_id, status, "from", "to", cc, bcc, reply_to, snippet, has_attachments, size,
      internet_message_id, waiting, send_at, sent_at, ended_at, task, task_at)
    values (${entryId}, ${tenantId}, ${account.id}, 'sent', '{"address":"ada@example.com"}', '[]', '[]', '[]', '[]', '',
      false, 1, '<one@example.com>', '{}', now(), now(), now(), 'mark_original', now() - interval '1 minute')`.execute(
    db,
  )
  const isDue = async (tasks: readonly string[] = []) => {
    const isDueNow = isPending({ id: ownId }, { sends: [], tasks })
    return (await sql<{ is: boolean }>`select ${isDueNow} as is`.execute(db)).rows[0]?.is
  }

  expect(await isDue()).toBe(true)
  await sql`update tenant set suspended_at = now()`.execute(db)
  expect(await isDue()).toBe(false)
  await sql`update tenant set suspended_at = null`.execute(db)
  await sql`update outbox set task_by = ${otherId}`.execute(db)
  expect(await isDue()).toBe(false)
  await sql`update instance set heartbeat_until = now() - interval '1 second' where id = ${otherId}`.execute(
    db,
  )
  expect(await isDue()).toBe(true)

  // A task that this process holds by the table, but does not run, is due, such as a task that could not be put off.
  await sql`update outbox set task_by = ${ownId}`.execute(db)
  expect([await isDue([entryId]), await isDue()]).toEqual([false, true])
})
