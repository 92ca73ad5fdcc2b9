import type { Pool } from 'pg'
import { findShortage } from './shortage.ts'

/** Whether the database accepts writes, judged by its answers to statements. */
export interface Room {
  /** Records why a statement failed. */
  note(error: unknown): void
  /**
   * Why writes are refused, in words for people. Null as soon as a check finds that they would succeed. Never rejects.
   */
  findProblem(): Promise<string | null>
}

/** A refused write counts for this long. Then the database is asked, once for all callers. */
const BELIEVED_MILLISECONDS = 5000
/** More than one segment of its write-ahead log (16 MB), which it will need sooner or later. */
const WANTED_MEGABYTES = 24

/**
 * Materializes more rows than fit into memory, so that they are written to a file that disappears with the statement. No
 * data changes. Writing a row of our own would prove nothing: even on a full disk some writes succeed, if a page has
 * room. A read-only database would write the file too, so that is checked first.
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
    // Other failures, such as a limit on temporary files, say nothing about writes.
    refused = null
    try {
      const client = await pool.connect()
      await client.query(LOOK).then(
        () => client.release(),
        (error: unknown) => {
          // The failed transaction is still open.
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
