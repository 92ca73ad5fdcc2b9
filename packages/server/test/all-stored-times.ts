import { ACCOUNT_TIMES } from '../src/features/accounts/stored-times.ts'
import { CALENDAR_TIMES } from '../src/features/calendars/stored-times.ts'
import { CONTACT_TIMES } from '../src/features/contacts/stored-times.ts'
import { MAIL_TIMES } from '../src/features/mail/stored-times.ts'
import { NOTIFICATION_TIMES } from '../src/features/notifications/stored-times.ts'
import { SENDING_TIMES } from '../src/features/sending/stored-times.ts'
import { TENANCY_TIMES } from '../src/features/tenancy/stored-times.ts'
import { storedTimes } from '../src/start/jobs.ts'

/** The times of all wings and rooms that mean nothing if the clock was ahead when they were set. */
export const TIMES = storedTimes(
  [
    TENANCY_TIMES,
    ACCOUNT_TIMES,
    MAIL_TIMES,
    SENDING_TIMES,
    CONTACT_TIMES,
    CALENDAR_TIMES,
    NOTIFICATION_TIMES,
  ].map(times => ({
    storedTimes: times,
  })),
)
