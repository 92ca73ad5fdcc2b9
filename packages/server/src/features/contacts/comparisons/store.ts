import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Comparison } from '../../mail/comparisons/rules.ts'

/** The last comparison of a folder of contacts. */
export interface FolderComparison extends Comparison {
  folderId: string
  /** Whether the folder is shown: a provider without folders keeps its contacts in one that is not. */
  isShown: boolean
}

/** The last comparison of every folder of the account. */
export async function findFolderComparisons(db: Db, accountId: string): Promise<FolderComparison[]> {
  const { rows } = await sql<FolderComparison>`
    select folder.id as "folderId", is_shown as "isShown", compared_at as "comparedAt",
      coalesce(listed, 0) as listed, coalesce(indexed, 0) as indexed, coalesce(missing, 0) as missing,
      coalesce(extra, 0) as extra, coalesce(changed, 0) as changed, coalesce(repaired, 0) as repaired,
      coalesce(stuck_hours, 0) as "stuckHours", false as "isDoubtful"
    from contact_folder as folder left join contact_comparison on folder_id = folder.id
    where folder.account_id = ${accountId} order by is_default desc, position, folder.id
  `.execute(db)
  return rows
}

export interface ComparisonSchedule {
  /** Folders that are to be compared now. */
  dueIds: Set<string>
  /** Whether a folder has no comparison planned. */
  isIncomplete: boolean
  /** Whether what is marked of the half is not what the comparisons say. */
  isStale: boolean
}

export async function findSchedule(db: Db, accountId: string): Promise<ComparisonSchedule> {
  const { rows } = await sql<{ id: string | null; isDue: boolean | null; open: number; differs: boolean }>`
    select folder.id,
      -- A time that was set in the future counts from now on: the clock was set back since.
      due_at <= greatest(clock_timestamp(), due_set_at) as "isDue",
      coalesce(missing + extra + changed, 0) as open, half.differs_since is not null as differs
    from account_half as half
    left join contact_folder as folder on folder.account_id = half.account_id and is_complete
    left join contact_comparison on folder_id = folder.id
    where half.account_id = ${accountId} and half.kind = 'contacts'
  `.execute(db)
  const isOpen = rows.some(({ open }) => open > 0)
  return {
    dueIds: new Set(rows.flatMap(({ id, isDue }) => (id !== null && isDue === true ? [id] : []))),
    isIncomplete: rows.some(({ id, isDue }) => id !== null && isDue === null),
    isStale: rows.some(({ differs }) => differs !== isOpen),
  }
}
