import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { expect } from 'vitest'
import { dayAhead } from './caldav-account.ts'
import type { Person } from './people.ts'

const dayOf = (days: number) => dayAhead(days).replace(/^(....)(..)(..)$/, '$1-$2-$3')
const at = (days: number, hour: number) => ({
  dateTime: `${dayOf(days)}T${String(hour).padStart(2, '0')}:00:00`,
  timeZone: 'UTC',
})
const times = (days: number, hour: number) => ({ start: at(days, hour), end: at(days, hour + 1) })
const startsAt = ({ start }: CalendarEvent, days: number, hour: number) =>
  start.dateTime === `${at(days, hour).dateTime}.000Z`
const responseOf = (event: CalendarEvent | undefined, { email }: Person) =>
  event?.attendees.find(({ address }) => address === email)?.response

/**
 * One person invites another one, who accepts; the event is moved, and declined. Of a series that is accepted one occurrence is
 * moved and declined, and another one cancelled, unless the server cannot do that. In the end the first event is cancelled.
 * Checks what both have after each step.
 */
export async function inviteAndAnswer(
  alice: Person,
  bob: Person,
  { changesOccurrences = true } = {},
): Promise<void> {
  const named = (subject: string) => (events: readonly CalendarEvent[]) =>
    events.filter(event => event.subject === subject)
  const lunches = named('Lunch')
  const dailies = named('Daily')
  const attendees = [{ address: bob.email }]
  const lunch = await alice.create({ subject: 'Lunch', ...times(5, 12), attendees })
  const [invited] = lunches(
    await bob.until('the invitation', events => lunches(events)[0]?.selfResponse === 'needs_action'),
  )
  expect(invited).toMatchObject({ isOrganizer: false, organizer: { address: alice.email } })

  await bob.respond(invited!.id, 'accepted')
  await alice.until('the acceptance', events => responseOf(lunches(events)[0], bob) === 'accepted')
  await alice.change(lunch.id, times(6, 13))
  await bob.until('the new time', events => lunches(events).some(event => startsAt(event, 6, 13)))
  await bob.respond(invited!.id, 'declined')
  await alice.until('the refusal', events => responseOf(lunches(events)[0], bob) === 'declined')

  const recurrence = ['RRULE:FREQ=DAILY;COUNT=4']
  await alice.create({ subject: 'Daily', ...times(10, 9), recurrence, attendees })
  const [first] = dailies(await bob.until('the series', events => dailies(events).length === 4))
  await bob.respond(first!.seriesId!, 'accepted')
  const accepted = await alice.until('the acceptance of the series', events =>
    dailies(events).every(event => responseOf(event, bob) === 'accepted'),
  )
  const occurrences = dailies(accepted)
  if (changesOccurrences) {
    await alice.change(occurrences[1]!.id, times(11, 15))
    const moved = await bob.until('the occurrence that moved', events =>
      dailies(events).some(event => startsAt(event, 11, 15)),
    )
    const exception = dailies(moved).find(event => startsAt(event, 11, 15))!
    expect(exception.kind).toBe('exception')
    await bob.respond(exception.id, 'declined')
    await alice.until(
      'the refusal of one occurrence',
      events =>
        dailies(events)
          .map(event => responseOf(event, bob))
          .join() === 'accepted,declined,accepted,accepted',
    )
    await alice.remove(occurrences[2]!.id)
    await bob.until('the occurrence that is gone', events =>
      dailies(events).every(event => !startsAt(event, 12, 9)),
    )
  }
  await alice.remove(lunch.id)
  await bob.until('the cancellation', events => lunches(events).every(({ status }) => status === 'cancelled'))
}
