import { type RawBuilder, sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'

/** A statement that deletes items goes on to another item only if it has taken fewer rows along so far. */
export const TAKEN_ALONG_MAX = 5_000
/** Items that one statement deletes at most. */
const ITEMS_AT_ONCE = 500

/**
 * Some of the items for which a condition holds, so few that one statement may delete them with all that belongs to them.
 * One item alone may take along as many rows as a series has at most.
 * @param condition on columns of `calendar_event`
 * @returns their ids; none: it holds for no item
 */
export async function listDeletable(
  unit: UnitOfWork,
  condition: RawBuilder<boolean>,
  limit = ITEMS_AT_ONCE,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from (
      select id, sum(taken_along) over (order by id) - taken_along as before from (
        select id, (select count(*) from (
            (select 1 from calendar_span where root_id = calendar_event.id limit ${TAKEN_ALONG_MAX})
            union all
            (select 1 from calendar_taken where series_id = calendar_event.id limit ${TAKEN_ALONG_MAX})
          ) as belonging) as taken_along
        from calendar_event where ${condition} limit ${Math.min(limit, ITEMS_AT_ONCE)}) as counted
    ) as summed
    where before < ${TAKEN_ALONG_MAX}
  `.execute(unit.sql)
  return rows.map(({ id }) => id)
}

/** Deletes items, or exceptions, with all that belongs to them. */
export async function deleteItems(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
  let left = ids
  while (left.length > 0) {
    const some = await listDeletable(unit, sql`id = any(${[...left]}::uuid[])`)
    if (some.length === 0) return
    await sql`delete from calendar_event where id = any(${some}::uuid[])`.execute(unit.sql)
    const deleted = new Set(some)
    left = left.filter(id => !deleted.has(id))
  }
}
