import { countEndedChannels } from '../../accounts/grants/channels.ts'
import { dailyAt, hourlyAt } from '../../jobs/schedule.ts'
import { askingGauge } from '../../kit/metrics.ts'
import type { Resources } from '../../wing/resources.ts'
import type { Wing } from '../../wing/wing.ts'
import { availabilityOperations } from './availability/operations.ts'
import type { InvitationServices } from '../sending/invitations/write-invitations.ts'
import { calendarOperations } from './calendars/operations.ts'
import { calendarEventOperations } from './events/operations.ts'
import { openSpanPlanner } from './events/planner.ts'
import { pruneWindows } from './events/prune.ts'
import { rollWindows } from './events/roll.ts'
import { openInvitationMails } from './invitations/invitation-mails.ts'
import { openCalendarsFollower } from './following/follower.ts'
import { purgeCalendars } from './purge.ts'
import { CALENDAR_TIMES } from './stored-times.ts'
import { calendarWriteOperations } from './writing/calendar-operations.ts'
import { eventWriteOperations } from './writing/operations.ts'
import { measureUnfinished } from './writing/unfinished.ts'

/** @param invitations by which people are invited by mail */
export function openCalendars(
  { db, config, clock, connections, log, opened }: Resources,
  invitations: InvitationServices,
) {
  const days = { past: config.calendarPastDays, ahead: config.calendarAheadDays }
  const planner = opened.use(openSpanPlanner(log))
  const mails = openInvitationMails({ db, days, clock, log, invitations })
  return {
    operations: {
      calendars: { ...calendarOperations, ...calendarWriteOperations({ connections }) },
      calendarEvents: {
        ...calendarEventOperations({ days, clock }),
        ...eventWriteOperations({ days, clock, planner, connections, mails }),
      },
      availability: availabilityOperations({ connections, days, clock }),
    },
    recurringTasks: () => [
      {
        name: 'roll_calendar_windows',
        schedule: hourlyAt(44),
        run: signal => rollWindows({ db, days, planner, log, clock }, signal),
      },
      {
        name: 'prune_calendar_windows',
        schedule: dailyAt(3, 52),
        run: signal => pruneWindows({ db, days, clock }, signal),
      },
    ],
    gauges: [
      askingGauge(
        'waxwing_calendar_writes_unfinished',
        'Writes of events of the whole installation that were interrupted, and are still to be finished',
        async () => (await measureUnfinished(db)).count,
      ),
      askingGauge(
        'waxwing_calendar_writes_unfinished_oldest_seconds',
        'Age of the oldest interrupted write of an event of the whole installation',
        async () => (await measureUnfinished(db)).oldestSeconds,
      ),
      askingGauge(
        'waxwing_calendar_channels_ended',
        'Calendars of the whole installation whose notifications have ended and were not asked for again',
        () => countEndedChannels(db),
      ),
    ],
    purgeStep: (accountId, signal) => purgeCalendars(db, accountId, signal),
    follower: openCalendarsFollower({ db, days, planner, mails }),
    storedTimes: CALENDAR_TIMES,
  } satisfies Wing
}
