import { sql } from 'kysely'
import type { DatabaseIdentity, Session, StoredIdentity } from './identity.ts'
import type { Db } from './pool.ts'
import { isWithheld } from './withheld.ts'

/*
 * Whether a promoted standby has every commit of the database before it. PostgreSQL keeps no record of it, so three
 * things must agree: the operator promises it, the processes had noted that commits waited for a standby, and the server
 * was such a standby, not a recovery of an archive.
 */

/**
 * `sync_state` of the best standby (pg_stat_replication). `none`: there is no standby. `hidden`: the role may not read it.
 * `unawaited`: `synchronous_commit` does not wait for one.
 */
export type StandbyState = 'sync' | 'quorum' | 'potential' | 'async' | 'none' | 'hidden' | 'unawaited'

/** The recovery that a server came from. */
export interface Recovery {
  /** Whether a recovery target is set, as for a recovery to a point in time. */
  hasTarget: boolean
  /**
   * Whether it received log from a primary since it was started. One that was started with recovery.signal did not,
   * although nothing else tells it from a standby afterwards.
   */
  hasStreamed: boolean
}

export interface Promotion {
  before: StoredIdentity
  now: DatabaseIdentity
  /** The last note in the database, and the last one that this process had confirmed; null: none. */
  notes: readonly [stored: string | null, own: string | null]
  recovery: Recovery
}

/** Whether the database continues where it was, if the operator promises that a promotion loses no commit. */
export function hasEveryCommit({ before, now, notes: [stored, own], recovery }: Promotion): boolean {
  const isFollowed = isSynchronous(stored) && (own === null || isSynchronous(own))
  return isFollowed && isNextTimeline(before, now) && recovery.hasStreamed && !recovery.hasTarget
}

/** Whether it is the same cluster on the timeline that follows. */
function isNextTimeline(before: StoredIdentity, now: DatabaseIdentity): boolean {
  if (before.system == null || before.timeline == null || now.timeline === null) return false
  const isSame =
    before.system === now.system && before.database === now.database && before.table === now.table
  return isSame && Number.parseInt(now.timeline, 16) === Number.parseInt(before.timeline, 16) + 1
}

export function isSynchronous(state: string | null): state is 'sync' | 'quorum' {
  return state === 'sync' || state === 'quorum'
}

/** The settings stay as they were when the server was started. */
const RECOVERY = `
  select pg_last_wal_receive_lsn() is not null as "hasStreamed", exists (
    select from pg_settings
    where name in ('recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time',
      'recovery_target_xid') and setting <> ''
      or name = 'recovery_target_timeline' and setting <> 'latest'
  ) as "hasTarget"`

/** A server that may not be asked did not stream, as far as is known. */
export async function readRecovery(session: Session): Promise<Recovery> {
  try {
    return (await session.query<Recovery>(RECOVERY)).rows[0]!
  } catch (error) {
    if (!isWithheld(error)) throw error
    return { hasTarget: true, hasStreamed: false }
  }
}

/** Notes whether commits wait for a standby. Nothing is written while that stays as it is. */
export async function recordStandby(db: Db): Promise<StandbyState> {
  const { rows } = await sql<{ standby: StandbyState }>`
    with seen as (
      select case
        when current_setting('synchronous_commit') not in ('on', 'remote_apply') then 'unawaited'
        else coalesce(
          (
            select coalesce(sync_state, 'hidden') from pg_stat_replication
            order by array_position(array['sync', 'quorum', 'potential', 'async'], sync_state) limit 1
          ), 'none'
        )
      end as standby
    ), noted as (
      update feed_epoch set standby = seen.standby from seen where feed_epoch.standby is distinct from seen.standby
    )
    select standby from seen
  `.execute(db)
  return rows[0]!.standby
}
