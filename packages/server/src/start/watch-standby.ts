import { isSynchronous, type StandbyState } from '../database/promotion.ts'
import { WokenLoop } from '../processes/woken-loop.ts'
import type { Logger } from '../kit/log.ts'

/** A standby that commits no longer wait for is noted within this time. */
const NOTE_SECONDS = 5

const REASONS: Readonly<Record<Exclude<StandbyState, 'sync' | 'quorum'>, string>> = {
  potential: 'no standby is synchronous at the moment',
  async: 'the standby is asynchronous (synchronous_standby_names does not name it)',
  none: 'no standby is connected',
  hidden: 'the role of DATABASE_URL may not read pg_stat_replication (grant it pg_read_all_stats)',
  unawaited: 'synchronous_commit is neither "on" nor "remote_apply"',
}

/**
 * Notes every few seconds whether commits wait for a standby, and logs it when they cease to: messages that wait are then
 * held after a promotion, although the settings promise that it loses nothing.
 */
export function watchStandby(note: () => Promise<StandbyState>, log: Logger): AsyncDisposable {
  let last: StandbyState | null = null
  return new WokenLoop({
    async look() {
      const state = await note()
      if (state !== last) logChange(last, state, log)
      last = state
      return NOTE_SECONDS
    },
    failure: 'Could not see whether a standby is synchronous',
    log,
  })
}

function logChange(last: StandbyState | null, state: StandbyState, log: Logger): void {
  if (!isSynchronous(state))
    log.warn(
      `WAXWING_DATABASE_FAILOVER is synchronous, but ${REASONS[state]}. After a promotion, messages that wait would be held`,
    )
  else if (last !== null && !isSynchronous(last)) log.info('Commits wait for a standby again')
}
