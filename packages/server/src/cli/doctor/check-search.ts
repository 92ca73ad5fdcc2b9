import { findMissing } from '../../database/migrate.ts'
import type { Database } from '../../database/pool.ts'
import { countStaleAccounts } from '../../accounts/halves/search-version.ts'
import { type Finding, ok, warning } from './finding.ts'

/** Whether the index follows the rules of this release, so that searches can rely on it. */
export async function checkSearch({ pool, db }: Database): Promise<Finding[]> {
  // A database with another schema has nothing to count; the check of the database reports it.
  const missing = await findMissing(pool).catch(() => null)
  if (missing?.length !== 0) return []
  const count = await countStaleAccounts(db)
  if (count === 0) return [ok('search', 'The search index of every account is up to date with this release.')]
  const accounts = count === 1 ? '1 account' : `${count} accounts`
  return [
    warning(
      'search',
      `The index of ${accounts} is not yet rewritten for this release; until then, their providers are searched.`,
      'A service with the role jobs rewrites it: wait until waxwing_search_accounts_stale is 0.',
    ),
  ]
}
