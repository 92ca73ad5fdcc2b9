import type { AvailabilityExplanation } from '@waxwing/contract/calendars/availability.ts'
import type { CalendarColumns } from '../calendars/rules.ts'

export type CountedCalendar = AvailabilityExplanation['accounts'][number]['calendars'][number]

/**
 * Decides which calendars of an account count.
 * @param named ids that the request names, of any account; they matter if one of them is of this account
 */
export function countCalendars(
  calendars: readonly CalendarColumns[],
  named: ReadonlySet<string>,
): CountedCalendar[] {
  const isNamed = calendars.some(({ id }) => named.has(id))
  return calendars.map(calendar => {
    const reason = isNamed ? (named.has(calendar.id) ? 'named' : 'not_named') : byDefault(calendar)
    const isCounted = reason === 'named' || reason === 'primary' || reason === 'owned'
    return { calendarId: calendar.id, name: calendar.name, isCounted, reason }
  })
}

function byDefault({ is_primary, access, is_hidden }: CalendarColumns): CountedCalendar['reason'] {
  if (is_primary) return 'primary'
  if (access !== 'owner') return 'not_owned'
  return is_hidden ? 'hidden' : 'owned'
}
