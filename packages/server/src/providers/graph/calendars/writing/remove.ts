import type { ItemPlace, RemovedPart, WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { ignoredSchema } from '../../resources.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { pathOfEvent } from '../pages.ts'
import { finishMembers, requireMember } from './members.ts'
import { requireMembersTold, requireSeries } from './series.ts'
import { askAction, isGone } from './respond.ts'
import { endSeries } from './split.ts'
import { type EventThere, requireThere, requireTold, type Writing, writing, written } from './there.ts'

/** `CalendarsWriter.removeEvent`. */
export function removeEvent(
  connection: CalendarsConnection,
  { place, part }: { place: ItemPlace; part: RemovedPart },
  options: WriteOptions,
): Promise<WrittenEvents> {
  return writing(connection, place.calendarKey, options, async work => {
    const { key } = place
    if (part.type === 'following') {
      await finishMembers(work, key)
      return written(work, [key], await endSeries(work, key, part.member))
    }
    const there = await requireThere(work, key)
    if (part.type === 'all') {
      if (!options.notify && there.event.isOrganizer !== false)
        requireMembersTold(work, await requireSeries(work, there))
      await remove(work, there)
      return { items: [], gone: [place], place }
    }
    await finishMembers(work, key)
    const occurrence = await requireMember(work, there, part)
    await remove(work, occurrence)
    return written(work, [key], occurrence.event.type === 'exception' ? [occurrence.item.id] : [])
  })
}

/** Deletes an event. One to which the account was invited is declined, so that its organizer is told. */
async function remove(work: Writing, there: EventThere): Promise<void> {
  const { effect, place, options } = work
  const { event, fields, item } = there
  const isDeclined = event.isOrganizer === false && options.notify && fields.status !== 'cancelled'
  if (event.isOrganizer !== false) requireTold(options, fields.attendees)
  if (isDeclined && (await decline(work, there)) && (await isGone(work, item.id))) return
  const path = pathOfEvent(place.calendarKey, item.id)
  try {
    await effect.ask({ method: 'DELETE', path, schema: ignoredSchema, accepts: [204] })
  } catch (error) {
    // Declining may take it from the calendar only after a while.
    if (!isDeclined || !(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
  }
}

/** @returns false if its organizer takes no responses */
async function decline(work: Writing, there: EventThere): Promise<boolean> {
  try {
    await askAction(work, there, 'decline', { comment: null, isTold: true })
    return true
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'rejected') return false
    throw error
  }
}
