import { countEndedChannels } from '../../accounts/grants/channels.ts'
import { findMissing } from '../../database/migrate.ts'
import type { Database } from '../../database/pool.ts'
import { measureUnfinished } from '../../features/calendars/writing/unfinished.ts'
import { type Finding, ok, warning } from './finding.ts'

/** The follower finishes a write about two minutes after it was interrupted. */
const UNFINISHED_SECONDS = 3_600

/** Whether interrupted writes of events are finished, and providers notify of changes of calendars. */
export async function checkCalendars({ pool, db }: Database): Promise<Finding[]> {
  // A database with another schema has nothing to count; the check of the database reports it.
  const missing = await findMissing(pool).catch(() => null)
  if (missing?.length !== 0) return []
  const { count, oldestSeconds } = await measureUnfinished(db)
  const ended = await countEndedChannels(db)
  const findings: Finding[] = []
  if (oldestSeconds > UNFINISHED_SECONDS)
    findings.push(
      warning(
        'calendars',
        `Writes of events that were interrupted and not finished since: ${count}, the oldest ${Math.floor(oldestSeconds / 3_600)} h ago.`,
        'Check that a process with the role sync runs, and that these accounts are not failing.',
      ),
    )
  if (ended > 0)
    findings.push(
      warning(
        'calendars',
        `Calendars of which the provider no longer notifies: ${ended}. Their changes are found by polls.`,
        'Check that a process with the role sync runs, and that WAXWING_BASE_URL is a public https address.',
      ),
    )
  return findings.length > 0 ? findings : [ok('calendars', 'No write of an event is left unfinished.')]
}
