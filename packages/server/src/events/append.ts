import { type Transaction, sql } from 'kysely'
import type { Tables } from '../database/tables.ts'
import { executeUnawaited } from '../database/unawaited.ts'
import type { Announcement } from './announcement.ts'

/** First key of the two-key advisory locks that order a tenant's events. */
const EVENT_LOCK_CLASS = 0x57_41_58

/**
 * Appends events to the tenant's feed. The caller commits at once: then the commit is sent with them, and takes no round
 * trip longer.
 *
 * The lock and the insert are two statements: within one, PostgreSQL does not promise to take the lock before
 * `nextval`. The lock is released only after the commit is visible, so a reader that sees the larger ids of the next
 * holder also sees these. Two tenants whose hashes collide only wait for each other.
 */
export async function appendEvents(
  tx: Transaction<Tables>,
  tenantId: string,
  announcements: readonly Announcement[],
): Promise<void> {
  if (announcements.length === 0) return
  await executeUnawaited(
    tx,
    sql`select pg_advisory_xact_lock(${EVENT_LOCK_CLASS}::int, hashtext(${tenantId}))`,
  )
  await executeUnawaited(
    tx,
    sql`
    insert into event (tenant_id, id, account_id, type, data)
    select ${tenantId}::uuid, nextval('event_id'), account_id, type, data
    from unnest(
      ${announcements.map(({ accountId }) => accountId)}::uuid[],
      ${announcements.map(({ type }) => type)}::text[],
      ${announcements.map(({ data }) => JSON.stringify(data))}::json[]
    ) as announced (account_id, type, data)
  `,
  )
}
