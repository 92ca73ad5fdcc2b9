import { sql } from 'kysely'
import { recordCompared } from '../../../accounts/halves/comparison.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import {
  type ComparedCounts,
  type ComparisonPlan,
  planComparison,
  summarize,
} from '../../mail/comparisons/rules.ts'
import { findFolderComparisons } from './store.ts'

/** A folder is compared for the first time after this time. */
const FIRST_SECONDS = { min: 60, max: 300 }

/** Schedules the first comparison of the account's folders that have none. */
export async function scheduleFolders(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into contact_comparison (folder_id, account_id, due_at)
    select id, account_id, clock_timestamp() + make_interval(
      secs => ${FIRST_SECONDS.min}::float8 + random() * ${FIRST_SECONDS.max - FIRST_SECONDS.min}::float8)
    from contact_folder where account_id = ${accountId} and is_complete
    on conflict (folder_id) do nothing
  `.execute(unit.sql)
}

/** Makes every folder of the account due now. */
export async function requestFolderComparisons(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into contact_comparison as planned (folder_id, account_id, due_at)
    select id, account_id, clock_timestamp() from contact_folder where account_id = ${accountId}
    on conflict (folder_id) do update set due_at = least(planned.due_at, excluded.due_at)
  `.execute(unit.sql)
}

/** Records what a comparison of a folder counted. @returns when the folder is compared next */
export async function recordFolderComparison(
  unit: UnitOfWork,
  { accountId, folderId }: { accountId: string; folderId: string },
  counts: ComparedCounts,
): Promise<ComparisonPlan> {
  const before = await findFolderComparisons(unit.sql, accountId)
  const known = before.find(comparison => comparison.folderId === folderId) ?? null
  const plan = planComparison(known, counts, Math.random())
  const { listed, indexed, missing, extra, changed } = counts
  await sql`
    update contact_comparison set
      due_at = clock_timestamp() + make_interval(secs => ${plan.dueInSeconds}::float8), compared_at = clock_timestamp(),
      listed = ${listed}, indexed = ${indexed}, missing = ${missing}, extra = ${extra}, changed = ${changed},
      repaired = ${plan.repaired}, stuck_hours = ${plan.stuckHours}
    where folder_id = ${folderId}
  `.execute(unit.sql)
  await recordFoldersDiffering(unit, accountId)
  return plan
}

/** Puts off the comparison of a folder that could not be listed. The earlier one counts as long as it would have. */
export async function postponeFolder(unit: UnitOfWork, folderId: string, seconds: number): Promise<void> {
  await sql`
    update contact_comparison set due_at = clock_timestamp() + make_interval(secs => ${seconds}::float8)
    where folder_id = ${folderId}
  `.execute(unit.sql)
}

/** Updates the summary that the half has of the comparisons of its folders. */
export async function recordFoldersDiffering(unit: UnitOfWork, accountId: string): Promise<void> {
  const { openCount, verifiedAt } = summarize(await findFolderComparisons(unit.sql, accountId))
  await recordCompared(unit, { accountId, kind: 'contacts' }, { differs: openCount > 0, verifiedAt })
}
