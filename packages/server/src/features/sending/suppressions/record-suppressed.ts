import { sql } from 'kysely'
import {
  SUPPRESSION_REASON_LENGTH_MAX,
  type SuppressionSource,
} from '@waxwing/contract/sending/suppressions.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { newId } from '../../../kit/ids.ts'
import { cleanLine } from '../../../kit/mime/text.ts'
import { refuse } from '../../../calls/refuse.ts'
import { holdLists } from './record-lists.ts'
import { findList } from './store.ts'

export interface NewSuppression {
  /** Created if it is missing. */
  listId: string
  /** Stored as it is compared. */
  address: string
  source: SuppressionSource
  /** For people. */
  reason: string
  /** The account whose message or send caused it. */
  accountId: string | null
  outboxId: string | null
}

/**
 * Puts addresses on lists. Addresses that are listed already stay as they are. Announces each added address, unless the
 * interface adds it. Call it once in a transaction, since it holds the lists until the commit in an order of its own,
 * and late.
 * @returns the added addresses
 */
export async function recordSuppressed(
  unit: UnitOfWork,
  given: readonly NewSuppression[],
): Promise<NewSuppression[]> {
  if (given.length === 0) return []
  const entries = distinct(given)
  const keys = await holdLists(unit, [...new Set(entries.map(({ listId }) => listId))])
  const ids = entries.map(() => newId())
  // Every list has a key: `holdLists` makes missing lists.
  const { rows } = await sql<{ id: string }>`
    with added as (
      insert into suppression_entry (list_key, address, id, source, reason)
      select * from unnest(
        ${entries.map(({ listId }) => keys.get(listId)!)}::uuid[], ${entries.map(({ address }) => address)}::text[],
        ${ids}::uuid[], ${entries.map(({ source }) => source)}::text[], ${entries.map(({ reason }) => reason)}::text[]
      )
      on conflict (list_key, address) do nothing
      returning id, list_key, source
    ), sums as (
      select list_key,
        count(*) filter (where source = 'unsubscribe') as unsubscribe,
        count(*) filter (where source = 'bounce') as bounce,
        count(*) filter (where source = 'api') as api,
        count(*) filter (where source = 'reply') as reply,
        count(*) filter (where source = 'complaint') as complaint,
        count(*) filter (where source = 'inactive') as inactive
      from added group by list_key
    ), counted as (
      update suppression_list as list set unsubscribe = list.unsubscribe + sums.unsubscribe,
        bounce = list.bounce + sums.bounce, api = list.api + sums.api, reply = list.reply + sums.reply,
        complaint = list.complaint + sums.complaint, inactive = list.inactive + sums.inactive
      from sums where list.key = sums.list_key
    )
    select id from added
  `.execute(unit.sql)
  const addedIds = new Set(rows.map(({ id }) => id))
  const added = entries.filter((_, index) => addedIds.has(ids[index]!))
  for (const { accountId, ...entry } of added) {
    if (entry.source !== 'api') unit.announce({ type: 'suppression.created', accountId, data: entry })
  }
  return added
}

/** As they are stored; of the same address on the same list, the first. */
function distinct(given: readonly NewSuppression[]): NewSuppression[] {
  const entries = new Map<string, NewSuppression>()
  for (const entry of given) {
    const address = comparedAddress(entry.address)
    const key = `${entry.listId} ${address}`
    if (entries.has(key)) continue
    entries.set(key, { ...entry, address, reason: reasonOf(entry) })
  }
  return [...entries.values()]
}

/** Texts of the interface were checked; other texts may quote servers and messages. */
function reasonOf({ source, reason }: NewSuppression): string {
  return source === 'api' ? reason : cleanLine(reason, SUPPRESSION_REASON_LENGTH_MAX)
}

/** Takes an address off a list. Refuses a list or an address that is not there. */
export async function recordUnsuppressed(unit: UnitOfWork, listId: string, address: string): Promise<void> {
  if (!(await findList(unit.sql, unit.tenantId, listId))) refuse('suppression_list_not_found')
  const key = (await holdLists(unit, [listId])).get(listId)!
  const { rows } = await sql<{ source: SuppressionSource }>`
    delete from suppression_entry where list_key = ${key} and address = ${comparedAddress(address)} returning source
  `.execute(unit.sql)
  const source = rows[0]?.source ?? refuse('suppression_entry_not_found')
  await sql`
    update suppression_list set ${sql.ref(source)} = ${sql.ref(source)} - 1 where key = ${key}
  `.execute(unit.sql)
}
