import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { WrittenEvents } from '../../../providers/changing-calendars.ts'
import { listCalendars } from '../calendars/store.ts'
import { placesOf } from './record-written.ts'

/** The index got another state of an item while the provider was asked, so that the answer may be the older one. */
export class Overtaken extends Error {
  override name = 'Overtaken'
}

/** The state of the index before the provider is asked: the marks of the account, and the version of the item. */
export interface SeenState {
  marks: ReadonlyMap<string, string>
  item: { id: string; version: string | null } | null
}

const nameOf = (calendarId: string, key: string) => JSON.stringify([calendarId, key])

/** @param itemId the single or series that a write is about; null: it is new */
export async function lookAtIndex(db: Db, accountId: string, itemId: string | null): Promise<SeenState> {
  const { rows: marks } = await sql<{ calendar_id: string; provider_key: string; mark: string }>`
    select calendar_id, provider_key, mark from calendar_mark where account_id = ${accountId}
  `.execute(db)
  return {
    marks: new Map(
      marks.map(({ calendar_id: id, provider_key: key, mark }) => [nameOf(id, key), mark] as const),
    ),
    item: itemId === null ? null : { id: itemId, version: await findVersion(db, accountId, itemId) },
  }
}

async function findVersion(db: Db, accountId: string, id: string): Promise<string | null> {
  const { rows } = await sql<{ version: string | null }>`
    select version from calendar_event where account_id = ${accountId} and id = ${id}
  `.execute(db)
  return rows[0]?.version ?? null
}

/** As `isSeen`. @throws Overtaken */
export async function requireSeen(...given: Parameters<typeof isSeen>): Promise<void> {
  if (!(await isSeen(...given))) throw new Overtaken()
}

/**
 * Whether nobody has recorded anything of these items since the index was looked at, asked in the transaction that records them and
 * that holds the lock of the calendars.
 */
export async function isSeen(
  unit: UnitOfWork,
  accountId: string,
  written: WrittenEvents,
  seen: SeenState,
): Promise<boolean> {
  const calendars = await listCalendars(unit.sql, accountId)
  const idOf = new Map(calendars.map(({ provider_key: key, id }) => [key, id]))
  const now = await lookAtIndex(unit.sql, accountId, seen.item?.id ?? null)
  const isAsSeen = [...placesOf(written), written.place].every(({ calendarKey, key }) => {
    const name = nameOf(idOf.get(calendarKey) ?? '', key)
    return now.marks.get(name) === seen.marks.get(name)
  })
  return isAsSeen && now.item?.version === seen.item?.version
}
