import type { Pool } from 'pg'
import { findShortage } from './shortage.ts'

/** Whether the database has room to write, as its statements tell. */
export interface Room {
  /** Takes note of why a statement failed. */
  note(error: unknown): void
  /** False from a write that found no room until a look finds some. Never rejects. */
  isThere(): Promise<boolean>
}

/** So long a write that found no room is believed; then the database is asked, once for all who want to know. */
const BELIEVED_MILLISECONDS = 5000
/** More than a segment of its log of changes (16 MB), which it needs sooner or later. */
const WANTED_MEGABYTES = 24

/**
 * Tuples that fit into no memory are written to a file, which is gone with the statement. Nothing of the data changes:
 * even on a full disk some writes succeed, where a page has room, so that a row of our own would prove nothing.
 */
const LOOK = `
  begin;
  set local work_mem = '64kB';
  with filler as materialized (select repeat('x', 8192) from generate_series(1, ${WANTED_MEGABYTES * 128}))
  select count(*) from filler;
  rollback`

export function watchRoom(pool: Pool): Room {
  let refusedAt: number | null = null
  let looking: Promise<boolean> | null = null

  function note(error: unknown) {
    if (findShortage(error)?.stopsWrites) refusedAt = performance.now()
  }

  async function look() {
    try {
      await pool.query(LOOK)
      refusedAt = null
      return true
    } catch (error) {
      note(error)
      return false
    } finally {
      looking = null
    }
  }

  return {
    note,
    async isThere() {
      if (refusedAt === null) return true
      if (performance.now() - refusedAt < BELIEVED_MILLISECONDS) return false
      return (looking ??= look())
    },
  }
}
