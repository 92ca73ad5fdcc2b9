import type { ItemPlace, RemovedPart, WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { ignoredSchema } from '../../resources.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { pathOfEvent } from '../pages.ts'
import { finishMembers } from './series.ts'
import { requireMember } from './members.ts'
import { askAction } from './respond.ts'
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
      await remove(work, there)
      return { items: [], gone: [place], place }
    }
    const occurrence = await requireMember(work, there, part)
    await remove(work, occurrence)
    return written(work, [key], occurrence.event.type === 'exception' ? [occurrence.item.id] : [])
  })
}

/** Deletes an event. One to which the account was invited is declined, so that its organizer is told. */
async function remove(work: Writing, there: EventThere): Promise<void> {
  const { effect, place, options } = work
  const { event, fields, item } = there
  if (event.isOrganizer !== false) requireTold(options, fields.attendees)
  else if (options.notify && fields.status !== 'cancelled' && (await isDeclined(work, item.id))) return
  const path = pathOfEvent(place.calendarKey, item.id)
  await effect.ask({ method: 'DELETE', path, schema: ignoredSchema, accepts: [204] })
}

/** Whether declining an event took it from the calendar. Not every organizer takes responses. */
async function isDeclined(work: Writing, key: string): Promise<boolean> {
  try {
    await askAction(work, key, 'decline', { comment: null, isTold: true })
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'rejected') return false
    throw error
  }
  try {
    await requireThere(work, key)
    return false
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return true
    throw error
  }
}
