import { hash } from 'node:crypto'
import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { QuotaAsk, SharedUse } from '../../providers/http/shared-use.ts'
import type { Window } from '../../providers/http/usage.ts'

/** The window of quotas that are counted by the minute. */
const MINUTE: Window = { seconds: 60, bucketSeconds: 1 }
/** A quota that another process adds at the same moment is there at the second attempt. */
const ATTEMPTS_MAX = 3

interface Answer {
  waitSeconds: number
  rowsFound: number
}

/**
 * Counts the use of quotas in a table that all processes share, by the database's clock. One statement locks the rows of
 * the quotas in the order of their names, and changes all or none, so a process that stalls holds up no other one.
 */
export function sharedUse(db: Db, window = MINUTE): SharedUse {
  return {
    async take(quotas, units, isTaken) {
      const asked = quotas.map(quota => ({ ...quota, name: hash('sha256', quota.name, 'base64url') }))
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const { waitSeconds, rowsFound } = await takeOnRows(db, asked, { units, isTaken, window })
        if (rowsFound === asked.length) return waitSeconds * 1_000
        await addRows(db, asked)
      }
      throw new Error('The rows of quotas disappear')
    },
  }
}

async function takeOnRows(
  db: Db,
  asked: readonly QuotaAsk[],
  { units, isTaken, window }: { units: number; isTaken: boolean; window: Window },
): Promise<Answer> {
  const names = asked.map(({ name }) => name)
  const isTold = asked.some(({ usedUnits }) => usedUnits > 0)
  const { rows } = await sql<Answer>`
    with locked as materialized (
      select name, seconds, units from quota_use where name = any(${names}::text[]) order by name for update
    ), moment as materialized (
      select now, now - now % ${window.bucketSeconds}::bigint as second, found
      from (select floor(extract(epoch from clock_timestamp()))::bigint as now) as clock
      cross join (select count(*)::int as found from locked) as looked
    ), asked as materialized (
      select * from unnest(
        ${names}::text[], ${asked.map(({ unitsMax }) => unitsMax)}::float8[],
        ${asked.map(({ usedUnits }) => usedUnits)}::bigint[]
      ) as asked (name, most, told)
    ), used as materialized (
      select name, used.second, used.units
      from moment cross join locked cross join unnest(locked.seconds, locked.units) as used (second, units)
      -- A time farther ahead was written before the database's clock was set back.
      where used.second between now - ${window.seconds + window.bucketSeconds - 1} and now + ${window.seconds}
      union all select name, second, told from moment cross join asked where told > 0
    ), freed as materialized (
      -- What is used up to each bucket no longer counts a window after it.
      select name, second, sum(units) over (partition by name order by second) as units,
        sum(units) over (partition by name) as total
      from used
    ), room as materialized (
      select coalesce(max(freed.second), 0) as second from asked cross join lateral (
        select second from freed
        where freed.name = asked.name and total + least(${units}::float8, most) > most
          and freed.units >= total + least(${units}::float8, most) - most
        order by second limit 1
      ) as freed
    ), next as materialized (
      select name, array_agg(second order by second) as seconds, array_agg(units order by second) as units
      from (
        select name, second, sum(units)::bigint as units from (
          select name, second, units from used
          union all select name, moment.second, ${units}::bigint from moment cross join room cross join asked
          where ${isTaken}::boolean and room.second = 0
        ) as all_used group by name, second
      ) as by_second
      group by name
    ), counted as (
      update quota_use set seconds = next.seconds, units = next.units
      from next cross join moment cross join room
      where quota_use.name = next.name and found = ${names.length}
        and ((${isTaken}::boolean and room.second = 0) or ${isTold}::boolean)
    )
    select case when room.second = 0 then 0 else room.second + ${window.seconds + window.bucketSeconds} - now end::int
      as "waitSeconds", found as "rowsFound"
    from moment, room
  `.execute(db)
  return rows[0]!
}

async function addRows(db: Db, asked: readonly QuotaAsk[]): Promise<void> {
  await sql`
    insert into quota_use (name) select name from unnest(${asked.map(({ name }) => name)}::text[]) as name order by name
    on conflict do nothing
  `.execute(db)
}

/** Deletes the rows of quotas of which nothing was used for an hour. */
export async function sweepQuotaUse(db: Db): Promise<void> {
  await sql`
    delete from quota_use where coalesce(seconds[array_upper(seconds, 1)], 0)
      < extract(epoch from clock_timestamp()) - 3600
  `.execute(db)
}
