import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { addHalves } from '../halves.ts'

/** Inserts shared mailboxes that are opened with the grant of an account. Returns their ids in order. */
export async function insertShared(
  db: Db,
  delegate: { id: string; tenantId: string },
  count: number,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    insert into account (id, tenant_id, provider, email, auth_method, delegate_account_id)
    select gen_random_uuid(), tenant_id, provider, 'desk' || n || '.' || id || '@shared.test', 'delegate', id
    from account, generate_series(1, ${count}::int) as n where id = ${delegate.id}
    returning id
  `.execute(db)
  await addHalves(db)
  return rows.map(({ id }) => id).toSorted()
}

/** The status and the reason of each shared mailbox, in the order of their ids. */
export async function statusesOf(db: Db, delegateId: string): Promise<string[]> {
  const { rows } = await sql<{ status: string }>`
    select status || coalesce(' ' || status_reason, '') as status from account
    where delegate_account_id = ${delegateId} and deleted_at is null order by id
  `.execute(db)
  return rows.map(({ status }) => status)
}

/** Counts the events of accounts, by account. */
export async function countEvents(db: Db, accountIds: readonly string[], type: string): Promise<number[]> {
  const { rows } = await sql<{ count: number }>`
    select count(event.id)::int as count from unnest(${[...accountIds]}::uuid[]) as given (id)
    left join event on event.account_id = given.id and type = ${type}
    group by given.id
  `.execute(db)
  return rows.map(({ count }) => count)
}
