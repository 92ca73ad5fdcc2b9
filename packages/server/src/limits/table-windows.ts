import { sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import { createSpentWindows } from './spent-windows.ts'
import { type Window, type Windows, decideCount } from './windows.ts'

/** A window that another process adds at the same moment is there at the second attempt. */
const ATTEMPTS_MAX = 3

interface Counted {
  resetMilliseconds: number
  /** Requests left of each window, in the order in which the windows were asked for. */
  left: number[]
  rowsFound: number
}

export interface TableWindows extends Windows {
  /** Adds what was counted elsewhere in this minute. */
  add(counts: readonly { name: string; count: number }[]): Promise<void>
}

/**
 * Counts in a table that all processes share, in windows of the database's clock. A count changes the rows of all its
 * windows, or none: it locks them in the order of their names first, and reads the clock after that.
 */
export function createTableWindows(db: Db, minutes = 1): TableWindows {
  const seconds = minutes * 60
  const spent = createSpentWindows()
  return {
    async count(windows) {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const { resetMilliseconds, left, rowsFound } = await countOnRows(db, windows, seconds)
        if (rowsFound === windows.length) {
          const count = decideCount(windows, left, Math.max(1, Math.ceil(resetMilliseconds / 1000)))
          spent.note(windows, { left, isAccepted: count.isAccepted, resetMilliseconds })
          return count
        }
        await addRows(db, windows)
      }
      throw new Error('The rows of rate windows disappear')
    },
    spentSeconds: window => spent.secondsOf(window),
    async add(counts) {
      if (counts.length === 0) return
      await sql`
        insert into rate_window as known (name, number, count)
        select name, ${windowNow(seconds)}, count
        from unnest(${counts.map(({ name }) => name)}::text[], ${counts.map(({ count }) => count)}::int[])
          as added (name, count)
        order by name
        on conflict (name) do update set number = excluded.number,
          count = excluded.count + case when known.number = excluded.number then known.count else 0 end
      `.execute(db)
    },
  }
}

/** The number of the current window since 1970. */
function windowNow(seconds: number) {
  return sql`floor(extract(epoch from clock_timestamp()) / ${seconds}::numeric)::bigint`
}

async function countOnRows(db: Db, windows: readonly Window[], seconds: number): Promise<Counted> {
  const names = windows.map(({ name }) => name)
  const { rows } = await sql<Counted>`
    with locked as materialized (
      select name, number, count from rate_window where name = any(${names}::text[]) order by name for update
    ), moment as materialized (
      select at, floor(at / length) as window, length, found from (
        select extract(epoch from clock_timestamp()) as at, ${seconds}::numeric as length, count(*)::int as found
        from locked
      ) as looked
    ), asked as materialized (
      select nth, name, added, greatest(0, most - case when number = moment.window then count else 0 end) as left
      from unnest(${names}::text[], ${windows.map(({ limit }) => limit)}::int[], ${windows.map(addedTo)}::int[])
        with ordinality as given (name, most, added, nth)
      cross join moment left join locked using (name)
    ), counted as (
      update rate_window set number = moment.window,
        count = added + case when number = moment.window then count else 0 end
      from asked, moment
      where rate_window.name = asked.name and added > 0 and moment.found = ${names.length}
        and not exists (select from asked where asked.left = 0)
    )
    select ceil(1000 * ((moment.window + 1) * length - at))::float8 as "resetMilliseconds",
      array(select asked.left from asked order by nth) as left, found as "rowsFound"
    from moment
  `.execute(db)
  return rows[0]!
}

function addedTo({ isOnlyChecked }: Window): number {
  return isOnlyChecked ? 0 : 1
}

async function addRows(db: Db, windows: readonly Window[]): Promise<void> {
  await sql`
    insert into rate_window (name, number, count)
    select name, 0, 0 from unnest(${windows.map(({ name }) => name)}::text[]) as name order by name
    on conflict do nothing
  `.execute(db)
}

/** Deletes the windows of one minute on which nothing was counted for an hour. */
export async function sweepRateWindows(db: Db): Promise<void> {
  await sql`delete from rate_window where number < ${windowNow(60)} - 60`.execute(db)
}
