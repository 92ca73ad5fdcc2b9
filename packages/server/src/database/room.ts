import type { Pool } from 'pg'
import { findShortage } from './shortage.ts'

/** Whether the database takes writes, judged by its answers to statements. */
export interface Room {
  /** Records why a statement failed. */
  note(error: unknown): void
  /** Why writes are refused, in words for people; null from a look on that finds nothing in their way. Never rejects. */
  findProblem(): Promise<string | null>
}

/** A refused write counts for this long. Then the database is asked, once for all callers. */
const BELIEVED_MILLISECONDS = 5000
/** More than one segment of its write-ahead log (16 MB), which it will need sooner or later. */
const WANTED_MEGABYTES = 24

/**
 * Tuples that fit into no memory are written to a file, which is gone with the statement. Nothing of the data changes:
 * even on a full disk some writes succeed, where a page has room, so that a row of our own would prove nothing. A
 * database that only reads would write the file, too.
 */
const LOOK = `
  begin;
  do $$ begin
    if current_setting('transaction_read_only')::boolean then raise exception 'only reads' using errcode = '25006'; end if;
  end $$;
  set local work_mem = '64kB';
  with filler as materialized (select repeat('x', 8192) from generate_series(1, ${WANTED_MEGABYTES * 128}))
  select count(*) from filler;
  rollback`

export function watchRoom(pool: Pool): Room {
  let refused: { at: number; problem: string } | null = null
  let looking: Promise<string | null> | null = null

  function note(error: unknown) {
    const shortage = findShortage(error)
    if (shortage?.stopsWrites) refused = { at: performance.now(), problem: shortage.message }
  }

  async function look() {
    // What else it fails for, such as a limit on temporary files, says nothing about writes.
    refused = null
    try {
      const client = await pool.connect()
      await client.query(LOOK).then(
        () => client.release(),
        (error: unknown) => {
          // The transaction that failed is still open.
          client.release(true)
          throw error
        },
      )
    } catch (error) {
      note(error)
    } finally {
      looking = null
    }
    return problemNow()
  }

  const problemNow = () => refused?.problem ?? null
  return {
    note,
    async findProblem() {
      if (refused === null && looking === null) return null
      if (refused && performance.now() - refused.at < BELIEVED_MILLISECONDS) return refused.problem
      return (looking ??= look())
    },
  }
}
