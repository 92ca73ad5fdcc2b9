import { homeOf } from '../../../accounts/halves/home.ts'
import type { Db } from '../../../database/pool.ts'
import type { Logger } from '../../../kit/log.ts'
import type { CalendarsProvider } from '../../../providers/calendars.ts'
import type { Follower } from '../../../sync/follower.ts'
import { endFormerHome } from '../../../sync/looks/former-home.ts'
import { openLookingFollower } from '../../../sync/looks/looking-follower.ts'
import { findModule } from '../../tenancy/plans/store.ts'
import type { SpanPlanner } from '../events/planner.ts'
import type { WindowDays } from '../events/window.ts'
import type { WriteMails } from '../writing/mails.ts'
import { openGuessReports } from './guessed-zones.ts'
import { CALENDAR_HOMES } from './home.ts'
import { runPass } from './pass.ts'
import { countAllQuarantined, countQuarantined } from './quarantine.ts'
import { fenceOf } from './session.ts'

const LOOK_SECONDS = 60

export interface CalendarsFollowerOptions {
  db: Db
  /** The days that the index holds. */
  days: WindowDays
  planner: SpanPlanner
  /** Absent: nobody is told of anything by mail. */
  mails?: WriteMails
  log: Logger
  /** Called when an interrupted write is given up. */
  onGivenUp?: () => void
  lookSeconds?: number
}

/** Follows the calendars of accounts. */
export function openCalendarsFollower({
  db,
  days,
  planner,
  mails,
  log,
  onGivenUp,
  lookSeconds = LOOK_SECONDS,
}: CalendarsFollowerOptions): Follower {
  const reportGuesses = openGuessReports(log)
  const own = { days, planner, log, reportGuesses, ...(mails && { mails }), ...(onGivenUp && { onGivenUp }) }
  return openLookingFollower<CalendarsProvider>({
    db,
    lookSeconds,
    lookedAt: {
      kind: 'calendar',
      nouns: { data: 'calendars', items: 'calendar events', source: 'calendar' },
      isIncluded: tenantId => findModule(db, tenantId, 'calendar'),
      keepNotifying: async (provider, signal) => provider.keepNotifying?.(signal),
      runPass: (session, options) => runPass({ ...session, ...own }, options),
      countQuarantined: accountId => countQuarantined(db, accountId),
    },
    providerOf: ({ calendars }) => calendars,
    endFormerHome: (owned, account) =>
      endFormerHome(fenceOf(db, owned), homeOf(account, 'calendar'), CALENDAR_HOMES),
    countAllQuarantined: () => countAllQuarantined(db),
  })
}
