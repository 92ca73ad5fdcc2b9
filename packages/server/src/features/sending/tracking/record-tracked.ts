import { sql } from 'kysely'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { SendTracking } from './track-send.ts'

/** Bytes of links of several sends in one statement. One send may exceed them. */
const STATEMENT_BYTES_MAX = 4 * 1024 * 1024

interface Tracked {
  account: { id: string }
  send: { id: string; tracking: SendTracking }
}

/** Stores the links of tracked sends, so that they work from now on. */
export async function recordTracked(unit: UnitOfWork, sends: readonly Tracked[]): Promise<void> {
  const tracked = sends.filter(({ send: { tracking } }) => tracking.opens || tracking.clicks)
  const groups = groupsOf(tracked)
  for (const [nth, group] of groups.entries()) {
    const inserting = sql`
      insert into tracked_send (outbox_id, account_id, links)
      select * from unnest(
        ${group.map(({ send }) => send.id)}::uuid[], ${group.map(({ account }) => account.id)}::uuid[],
        ${group.map(({ send }) => send.tracking.links)}::bytea[]
      )`
    // Statements that are not awaited are all in memory, as they are sent, until the next one.
    if (nth < groups.length - 1) await inserting.execute(unit.sql)
    else await executeUnawaited(unit.sql, inserting)
  }
}

function groupsOf(tracked: readonly Tracked[]): Tracked[][] {
  const groups: Tracked[][] = []
  let bytes = Infinity
  for (const one of tracked) {
    const size = one.send.tracking.links?.length ?? 0
    bytes += size
    if (bytes > STATEMENT_BYTES_MAX) {
      groups.push([])
      bytes = size
    }
    groups.at(-1)!.push(one)
  }
  return groups
}

/** Forgets sends that are not accepted after all, in the transaction that recorded them. */
export async function removeTracked(unit: UnitOfWork, outboxIds: readonly string[]): Promise<void> {
  await sql`delete from tracked_send where outbox_id = any(${[...outboxIds]}::uuid[])`.execute(unit.sql)
}
