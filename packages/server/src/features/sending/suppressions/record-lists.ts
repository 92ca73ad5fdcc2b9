import { sql } from 'kysely'
import { GLOBAL_LIST } from '@waxwing/contract/sending/suppressions.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { refuse } from '../../../calls/refuse.ts'
import { listColumns, type ListRow } from './present.ts'
import { findList } from './store.ts'

/** Besides the global one. */
const LISTS_MAX = 1000
/** First key of the two-key advisory locks that count the lists of a tenant. */
const LIST_LOCK_CLASS = 0x57_41_59
/** A list may be deleted just when it is used; then it is created again. */
const TRIES_MAX = 5

export interface NewList {
  id: string
  name: string
  description: string | null
}

/** Creates a list. Null if there is one with this id; refuses a list beyond the limit. */
export async function recordNewList(
  unit: UnitOfWork,
  list: NewList,
  path: readonly string[],
): Promise<ListRow | null> {
  await sql`select pg_advisory_xact_lock(${LIST_LOCK_CLASS}::int, hashtext(${unit.tenantId}))`.execute(
    unit.sql,
  )
  const made = await insertList(unit, list)
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from suppression_list
    where tenant_id = ${unit.tenantId} and id <> ${GLOBAL_LIST} and deleted_at is null
  `.execute(unit.sql)
  if (made && (rows[0]?.count ?? 0) > LISTS_MAX) {
    const message = `a tenant has at most ${LISTS_MAX} suppression lists`
    refuse('invalid_input', { issues: [{ path: [...path], message }] })
  }
  return made
}

/** Creates the list that a send or an addition names, if it is missing. Refuses one beyond the limit. */
export async function recordNamedList(
  unit: UnitOfWork,
  listId: string,
  path: readonly string[] = ['listId'],
): Promise<void> {
  if (await hasList(unit, listId)) return
  await recordNewList(unit, named(listId), path)
}

export async function hasList(unit: UnitOfWork, listId: string): Promise<boolean> {
  return listId === GLOBAL_LIST || (await findList(unit.sql, unit.tenantId, listId)) !== null
}

/**
 * Holds lists until the commit, after creating missing ones, regardless of the limit. Every writer of entries holds
 * their list, so that its counts stay exact and it is not deleted meanwhile. The lists are held one after the other in
 * the order of their ids: as a set, a missing one would be made while later ones are held, and two transactions could
 * wait for each other.
 * @returns the keys by the ids
 */
export async function holdLists(unit: UnitOfWork, listIds: readonly string[]): Promise<Map<string, string>> {
  const keys = new Map<string, string>()
  for (const id of listIds.toSorted()) keys.set(id, await holdList(unit, id))
  return keys
}

async function holdList(unit: UnitOfWork, id: string): Promise<string> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { rows } = await sql<{ key: string }>`
      select key from suppression_list
      where tenant_id = ${unit.tenantId} and id = ${id} and deleted_at is null for no key update
    `.execute(unit.sql)
    const key = rows[0]?.key ?? (await insertList(unit, named(id)))?.key
    if (key !== undefined) return key
  }
  throw new Error(`The suppression list ${id} was deleted again and again while it was used`)
}

/** Changes the name or the description. Null if there is no such list. */
export async function updateList(
  unit: UnitOfWork,
  id: string,
  change: { name?: string | undefined; description?: string | null | undefined },
): Promise<ListRow | null> {
  const { name, description } = change
  const { rows } = await sql<ListRow>`
    update suppression_list set name = coalesce(${name ?? null}, name),
      description = case when ${description === undefined} then description else ${description ?? null} end
    where tenant_id = ${unit.tenantId} and id = ${id} and deleted_at is null
    returning ${listColumns}
  `.execute(unit.sql)
  return rows[0] ?? null
}

/** Deletes a list with its reviews. Its entries count no more; they are deleted by `sweepLists`. */
export async function recordListDeleted(
  unit: UnitOfWork,
  id: string,
  { withEntries }: { withEntries: boolean },
): Promise<void> {
  const { rows } = await sql<ListRow>`
    select ${listColumns} from suppression_list
    where tenant_id = ${unit.tenantId} and id = ${id} and deleted_at is null for update
  `.execute(unit.sql)
  const list = rows[0] ?? refuse('suppression_list_not_found')
  const { unsubscribe, bounce, api, reply, complaint, inactive } = list
  const isEmpty = unsubscribe + bounce + api + reply + complaint + inactive === 0
  if (!isEmpty && !withEntries) refuse('suppression_list_not_empty')
  await sql`update suppression_list set deleted_at = clock_timestamp() where key = ${list.key}`.execute(
    unit.sql,
  )
  await sql`
    delete from suppression_review where tenant_id = ${unit.tenantId} and list_id = ${id}
  `.execute(unit.sql)
}

function named(id: string): NewList {
  return { id, name: id, description: null }
}

/** Null if there is one with this id. */
async function insertList(unit: UnitOfWork, { id, name, description }: NewList): Promise<ListRow | null> {
  const { rows } = await sql<ListRow>`
    insert into suppression_list (key, tenant_id, id, name, description)
    values (${newId()}, ${unit.tenantId}, ${id}, ${name}, ${description})
    on conflict (tenant_id, id) where deleted_at is null do nothing
    returning ${listColumns}
  `.execute(unit.sql)
  return rows[0] ?? null
}
