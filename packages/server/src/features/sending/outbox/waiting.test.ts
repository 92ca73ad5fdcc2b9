import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { revokeApiKey } from '../../tenancy/credentials/store.ts'

test('a wait for the end of a send ends as unauthenticated, without the send, when its credential is revoked', async () => {
  await using app = await openTestApp()
  const { db, tenantId } = app
  const account = await sampleAccount(db, tenantId)
  const entryId = newId()
  await sql`
    insert into outbox (id, tenant_id, account_id, status, "from", "to", cc, bcc, reply_to, snippet, has_attachments, size,
      internet_message_id, waiting, send_at)
    values (${entryId}, ${tenantId}, ${account.id}, 'queued', '{"name":null,"address":"ada@example.com"}', '[]', '[]', '[]', '[]', '',
      false, 1, '<one@example.com>', '{}', now())`.execute(db)
  const [key, other] = [await app.createKey(), await app.createKey()]
  const { body: token } = await app
    .as(other.text)
    .post<{ token: string }>(`/v1/accounts/${account.id}/tokens`, {})
  const callers = [app.as(key.text), app.as(token.token)]
  const path = `/v1/accounts/${account.id}/outbox/${entryId}`
  const waits = callers.map(caller => caller.get(`${path}?waitSeconds=30`))
  // By then the waits are under way, too: requests of one process are admitted in their order.
  for (const caller of callers) expect(await caller.get(path)).toMatchObject({ status: 200 })
  for (const { id } of [key, other]) await revokeApiKey(db, id)
  for (const wait of waits)
    expect(await wait).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
})
