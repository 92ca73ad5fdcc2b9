import { findMissing } from '../../database/migrate.ts'
import type { Database } from '../../database/pool.ts'
import { measureFailingPurges } from '../../features/accounts/accounts/purge.ts'
import { measureTroubles, type Troubled } from '../../accounts/troubles.ts'
import { measureDiffering } from '../../features/integrity/comparisons/store.ts'
import { hasRole } from '../../processes/list-instances.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

/** An account that was just connected, or whose process just ended, is claimed sooner than this. */
const UNFOLLOWED_SECONDS_MAX = 60
const WHY = 'See why with: npx waxwing account list --behind'

const REPAIRED =
  'Differences are repaired by themselves. Those that stay are shown by GET /v1/accounts/{accountId}/integrity.'
const READ_LOGS = 'The logs of the processes with the role jobs say why ("A purge failed").'

/** Whether every active account is followed, caught up, and without failures. */
export async function checkAccounts({ db, pool }: Database): Promise<Finding[]> {
  try {
    // A database without the schema of this release cannot be queried.
    if ((await findMissing(pool))?.length !== 0) return []
    const { unfollowed, failing, lagging } = await measureTroubles(db)
    const findings: Finding[] = []
    if (unfollowed.count > 0 && !(await hasRole(db, 'sync'))) {
      findings.push(
        warning(
          'accounts',
          `${accounts(unfollowed)}, since no process with the role sync runs.`,
          'Start the service: npx waxwing serve',
        ),
      )
    } else if (unfollowed.oldestSeconds > UNFOLLOWED_SECONDS_MAX) {
      findings.push(
        wrong(
          'accounts',
          `${accounts(unfollowed)}, the longest for ${inWords(unfollowed.oldestSeconds)}.`,
          'Read the logs of the processes with the role sync, and start them again.',
        ),
      )
    }
    if (failing.count > 0) findings.push(warning('accounts', sentence(failing, 'fail at every attempt'), WHY))
    if (lagging.count > 0) findings.push(warning('accounts', sentence(lagging, 'are not caught up'), WHY))
    const differing = await measureDiffering(db)
    if (differing.count > 0)
      findings.push(warning('accounts', sentence(differing, 'differ from their provider'), REPAIRED))
    const purges = await measureFailingPurges(db)
    if (purges.count > 0)
      findings.push(warning('accounts', sentence(purges, 'are deleted and cannot be purged'), READ_LOGS))
    return findings.length > 0 ? findings : [ok('accounts', 'Every active account is followed.')]
  } catch (error) {
    return [wrong('accounts', wordsOf(error))]
  }
}

function accounts({ count }: Troubled): string {
  return `Active accounts that no process follows: ${count}`
}

function sentence({ count, oldestSeconds }: Troubled, what: string): string {
  return `Accounts that ${what}: ${count}, the longest for ${inWords(oldestSeconds)}.`
}

const UNITS: ReadonlyArray<[seconds: number, name: string]> = [
  [86_400, 'days'],
  [3_600, 'hours'],
  [60, 'minutes'],
]

/** The duration in the largest unit of which there are at least two. */
function inWords(seconds: number): string {
  const [size, name] = UNITS.find(([unit]) => seconds >= 2 * unit) ?? [1, 'seconds']
  return `${Math.floor(seconds / size)} ${name}`
}
