import type { Creation, ItemPlace, WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { ignoredSchema } from '../../resources.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { pathOfEvent } from '../pages.ts'
import { openPlace } from '../place.ts'
import { finishMembers, requireSeries, stateOf } from './series.ts'
import { copyOf, requireCopied } from './copies.ts'
import { createOnce, findCreated } from './create.ts'
import { planMembers } from './members.ts'
import { requireThere, type Writing, writing, written } from './there.ts'
import { requirePattern } from './patterns.ts'
import { requireZoneName, toTimes } from './times.ts'

/**
 * `CalendarsWriter.moveEvent`: Graph has no move, so the event is copied and then deleted. Attendees would be invited to the
 * copy, and told that the event was cancelled.
 */
export function moveEvent(
  connection: CalendarsConnection,
  { place, toCalendarKey, ...creation }: { place: ItemPlace; toCalendarKey: string } & Creation,
  options: WriteOptions,
): Promise<WrittenEvents> {
  const { calendarKey, key } = place
  return writing(connection, calendarKey, options, async from => {
    if (toCalendarKey === calendarKey) return written(from, [key])
    const target = await openPlace(connection, { calendarKey: toCalendarKey, window: options.window }, {})
    const to: Writing = { ...from, place: target }
    const made = (await makeCopy(from, to, key, creation)) ?? (await findCopy(to, creation))
    const path = pathOfEvent(calendarKey, key)
    try {
      await from.effect.ask({ method: 'DELETE', path, schema: ignoredSchema, accepts: [204] })
    } catch (error) {
      if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
    }
    return { ...(await written(to, [made])), gone: [place] }
  })
}

/** The key of the copy; null if an earlier try has deleted the event already. */
async function makeCopy(from: Writing, to: Writing, key: string, creation: Creation): Promise<string | null> {
  try {
    const { mailboxZone } = from.place
    await finishMembers(from, key)
    const there = await requireThere(from, key)
    const { attendees, self, start, end } = there.fields
    if (attendees.length > 0 || self?.isOrganizer === false)
      throw new ProviderFailure('unsupported', 'Exchange does not move events with attendees.')
    requireCopied(there)
    const item = await requireSeries(from, there)
    const { lines, taken, exceptions, times } = stateOf(item)
    const same = { taken, times, exceptions: new Map(exceptions.map(member => [member, member])) }
    const plan = await planMembers(from, { there, item }, same)
    const json = {
      ...copyOf(there),
      ...toTimes({ start, end }, mailboxZone),
      ...(lines.length > 0 && {
        recurrence: requirePattern(lines, start, requireZoneName(start, mailboxZone)),
      }),
    }
    return await createOnce(to, json, plan, creation)
  } catch (error) {
    const isGone = error instanceof ProviderFailure && error.kind === 'not_found'
    if (isGone && creation.mayExist) return null
    throw error
  }
}

async function findCopy({ connection, place }: Writing, { creationId }: Creation): Promise<string> {
  const found = await findCreated(connection, { calendarKey: place.calendarKey, creationId }, {})
  if (found !== null) return found
  throw new ProviderFailure('not_found', 'The event was deleted.')
}
