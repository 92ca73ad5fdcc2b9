import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { SendTracking } from './track-send.ts'

/** Keeps the links of those of the sends that are tracked, so that they lead on from now on. */
export async function recordTracked(
  unit: UnitOfWork,
  accountId: string,
  sends: ReadonlyArray<{ id: string; tracking: SendTracking }>,
): Promise<void> {
  const tracked = sends.filter(({ tracking }) => tracking.opens || tracking.clicks)
  if (tracked.length === 0) return
  await sql`
    insert into tracked_send (outbox_id, account_id, links)
    select sent.id, ${accountId}, sent.links from unnest(
      ${tracked.map(({ id }) => id)}::uuid[], ${tracked.map(({ tracking }) => tracking.links)}::bytea[]
    ) as sent (id, links)
  `.execute(unit.sql)
}

/** Forgets sends that are not accepted after all, in the transaction that recorded them. */
export async function removeTracked(unit: UnitOfWork, outboxIds: readonly string[]): Promise<void> {
  await sql`delete from tracked_send where outbox_id = any(${[...outboxIds]}::uuid[])`.execute(unit.sql)
}
