import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { failOftenLost } from './sweep.ts'

test('an entry is left alone if no transition gives up its state, and the others are given up', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const { id: tenantId } = await sampleTenant(db)
  const { id: accountId } = await sampleAccount(db, tenantId)
  await sql`insert into sending_account (account_id, tenant_id) values (${accountId}, ${tenantId})`.execute(
    db,
  )
  // No transition makes an entry due while it is sent, so only another release or a person can have written this.
  const statuses = ['queued', 'sending', 'queued']
  const entries = [
    ...statuses.map(status => ({ id: newId(), status, origin: 'send', eventId: null })),
    { id: newId(), status: 'queued', origin: 'invitation', eventId: newId() },
  ]
  for (const { id, status, origin, eventId } of entries)
    await sql`
      insert into outbox (id, tenant_id, account_id, status, "from", "to", cc, bcc, reply_to, snippet, has_attachments,
        size, internet_message_id, waiting, send_at, due_at, losses, origin, event_id)
      values (${id}, ${tenantId}, ${accountId}, ${status}, '{"address":"ada@example.com"}', '[]', '[]', '[]', '[]', '',
        false, 1, ${`<${id}@example.com>`}, array['grace@example.org'], now(), now(), 10, ${origin}, ${eventId})
    `.execute(db)

  const news = await failOftenLost(db, new AbortController().signal)

  const [invitation] = entries.slice(-1)
  const { id: outboxId, eventId } = invitation!
  expect(news).toEqual({
    counts: { hard: 0, soft: 0 },
    failed: [{ outboxId, tenantId, accountId, eventId, reason: 'provider_unavailable' }],
  })
  const { rows: left } = await sql`select id, status from outbox order by id`.execute(db)
  expect(left).toEqual(
    entries.map(({ id, status }) => ({ id, status: status === 'queued' ? 'failed' : status })),
  )
  const { rows: events } = await sql`
    select type, data -> 'outbox' ->> 'id' as id from event order by event.id`.execute(db)
  const failed = entries.filter(({ status, origin }) => status === 'queued' && origin === 'send')
  expect(events).toEqual(failed.map(({ id }) => ({ type: 'send.failed', id })))
})
