/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, type SampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { waitUntil } from '../../../../test/wait-until.ts'
import type { Db } from '../../../database/pool.ts'
import { newId } from '../../../kit/ids.ts'
import { attemptRecords, type EndedAttempt, type Learnt, NOTHING_GIVEN } from './attempt-records.ts'

const ADDRESS = 'nobody@example.org'

/** An entry of the outbox whose attempt runs. */
async function startAttempt(db: Db, { id: accountId, tenantId }: SampleAccount) {
  const [id, claim] = [newId(), newId()]
  await sql`
    insert into outbox (id, tenant_id, account_id, status, "from", "to", cc, bcc, reply_to, snippet, has_attachments, size,
      internet_message_id, waiting, send_at, phase, claim)
    values (${id}, ${tenantId}, ${accountId}, 'sending', '{"address":"ada@example.com"}',
      ${JSON.stringify([{ address: ADDRESS }])}, '[]', '[]', '[]', '', false, 1, ${`<${id}@example.com>`},
      ${[ADDRESS]}, now(), 'handed_over', ${claim})
  `.execute(db)
  return (learnt: Learnt): EndedAttempt => ({
    entry: {
      id,
      tenantId,
      accountId,
      claim,
      claimedBy: newId(),
      isSent: false,
      eventId: null,
      waiting: [ADDRESS],
      rejected: [],
      sendAt: new Date(),
      attempts: 0,
      datedAt: new Date(),
      threadId: null,
      internetMessageId: '<a@example.com>',
      mayBePrepared: false,
      listId: null,
      isReply: false,
    },
    account: null,
    learnt,
  })
}

const REFUSED: Learnt = {
  type: 'answered',
  outcome: {
    recipients: [
      {
        address: ADDRESS,
        refusal: {
          isPermanent: true,
          isTooLarge: false,
          of: 'recipient',
          status: '5.1.1',
          message: '550 5.1.1 no such user',
        },
      },
    ],
    given: NOTHING_GIVEN,
  },
  filesCopy: 'always',
  bytesMax: null,
}

test('suppression lists are free while the ends of attempts wait for an entry', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const tenant = await sampleTenant(db)
  const account = await sampleAccount(db, tenant.id)
  const [refused, released, first] = await Promise.all([1, 2, 3].map(() => startAttempt(db, account)))
  const records = attemptRecords(db, () => {})
  const ends: Promise<unknown>[] = []
  await sql`insert into suppression_list (key, tenant_id, id, name) values (${newId()}, ${tenant.id}, 'global', '')`.execute(
    db,
  )
  await db.transaction().execute(async holder => {
    const ended = [
      first!({ type: 'released', afterSeconds: null }),
      refused!(REFUSED),
      released!({ type: 'released', afterSeconds: null }),
    ]
    await sql`select from outbox where id = ${ended[2]!.entry.id} for update`.execute(holder)
    // The first runs alone, the others together.
    ends.push(...ended.map(end => records.end(end)))
    await waitUntil('the ends to wait', async () => {
      const { rows } = await sql<{ waits: boolean }>`
        select exists (select from pg_locks where not granted and pg_blocking_pids(pid) @> array[pg_backend_pid()]) as waits
      `.execute(holder)
      return rows[0]?.waits
    })
    await sql`select from suppression_list where tenant_id = ${tenant.id} for update nowait`.execute(holder)
  })
  expect(await Promise.all(ends)).toEqual(['released', 'failed', 'released'])
  const { rows } = await sql`select address from suppression_entry`.execute(db)
  expect(rows).toEqual([{ address: ADDRESS }])
})
