import { dailyAt, hourlyAt } from '../../jobs/schedule.ts'
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
    purgeStep: (accountId, signal) => purgeCalendars(db, accountId, signal),
    follower: openCalendarsFollower({ db, days, planner, mails }),
    storedTimes: CALENDAR_TIMES,
  } satisfies Wing
}
