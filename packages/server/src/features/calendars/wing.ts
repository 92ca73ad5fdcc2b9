import type { Resources } from '../../wing/resources.ts'
import type { Wing } from '../../wing/wing.ts'
import { calendarOperations } from './calendars/operations.ts'
import { calendarEventOperations } from './events/operations.ts'
import { openCalendarsFollower } from './following/follower.ts'
import { purgeCalendars } from './purge.ts'
import { CALENDAR_TIMES } from './stored-times.ts'

export function openCalendars({ db, config, clock }: Resources) {
  const days = { past: config.calendarPastDays, ahead: config.calendarAheadDays }
  return {
    operations: {
      calendars: calendarOperations,
      calendarEvents: calendarEventOperations({ days, clock }),
    },
    purgeStep: (accountId, signal) => purgeCalendars(db, accountId, signal),
    follower: openCalendarsFollower({ db, days }),
    storedTimes: CALENDAR_TIMES,
  } satisfies Wing
}
