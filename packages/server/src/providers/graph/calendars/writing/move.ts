import type { Creation, ItemPlace, WriteOptions, WrittenEvents } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { etagOf, itemSchema } from '../../items.ts'
import { ignoredSchema } from '../../resources.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { pathOfEvent } from '../pages.ts'
import { openPlace } from '../place.ts'
import { copyOf, requireCopied } from './copies.ts'
import { createOnce, findCreated } from './create.ts'
import { finishMembers } from './members.ts'
import { planMembers } from './planned-members.ts'
import { requireSeries, stateOf } from './series.ts'
import { toSeries } from './series-times.ts'
import { appliedAgain, COPIED_PROPERTY, requireThere, type Writing, writing, written } from './there.ts'
import { toTimes } from './times.ts'

/** A copy of an event, and the version of the event that it is a copy of. */
interface Copy {
  key: string
  version: string
}

/**
 * `CalendarsWriter.moveEvent`: Graph has no move, so the event is copied and then deleted. Attendees would be invited to the
 * copy, and told that the event was cancelled. An event that another client changes meanwhile is copied again.
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
    const made = await appliedAgain(async () => {
      const copy = await makeCopy(from, to, key, creation)
      if (copy === null) return findCopy(to, creation)
      await removeCopied(from, to, key, copy)
      return copy.key
    })
    return { ...(await written(to, [made])), gone: [place] }
  })
}

/** Null if an earlier try has deleted the event already. */
async function makeCopy(from: Writing, to: Writing, key: string, creation: Creation): Promise<Copy | null> {
  try {
    const { mailboxZone } = from.place
    await finishMembers(from, key)
    const there = await requireThere(from, key)
    await requireCopied(to, there)
    const item = await requireSeries(from, there)
    const others = item.members?.exceptions.flatMap(({ event }) => event.attendees) ?? []
    if (there.fields.attendees.length > 0 || others.length > 0 || there.event.isOrganizer === false)
      throw new ProviderFailure('unsupported', 'Exchange does not move events with attendees.')
    const { lines, taken, exceptions, times } = stateOf(item)
    const same = { taken, times, exceptions: new Map(exceptions.map(member => [member, member])) }
    const plan = await planMembers(from, { there, item }, same)
    const placed = lines.length > 0 ? toSeries({ times, lines }, mailboxZone) : toTimes(times, mailboxZone)
    const json = { ...copyOf(there), ...placed }
    const { version } = there
    const isThere = creation.mayExist && (await keepCopy(to, creation, version))
    const made = await createOnce(to, json, plan, { ...creation, mayExist: isThere }, version)
    return { key: made, version }
  } catch (error) {
    const isMissing = error instanceof ProviderFailure && error.kind === 'not_found'
    if (isMissing && creation.mayExist) return null
    throw error
  }
}

/**
 * Deletes the copy that an earlier try made of another version of the event.
 * @returns whether there is a copy of this version
 */
async function keepCopy(to: Writing, { creationId }: Creation, version: string): Promise<boolean> {
  const { connection, place } = to
  const key = await findCreated(connection, { calendarKey: place.calendarKey, creationId }, {})
  if (key === null) return false
  const { value } = await connection.api.ask({
    path: pathOfEvent(place.calendarKey, key),
    query: {
      $select: 'id',
      $expand: `singleValueExtendedProperties($filter=id eq '${COPIED_PROPERTY}')`,
    },
    schema: itemSchema,
    accepts: [200],
  })
  const properties = value['singleValueExtendedProperties']
  const [property] = Array.isArray(properties) ? (properties as Array<{ value?: unknown }>) : []
  if (property?.value === version) return true
  await remove(to, key)
  return false
}

/** Deletes the event that was copied. If it was changed since then, the copy goes instead: throws `conflict`. */
async function removeCopied(from: Writing, to: Writing, key: string, copy: Copy): Promise<void> {
  try {
    await remove(from, key, etagOf(copy.version))
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'conflict') await remove(to, copy.key)
    throw error
  }
}

async function remove({ effect, place }: Writing, key: string, ifMatch?: string): Promise<void> {
  const path = pathOfEvent(place.calendarKey, key)
  const asked = { path, schema: ignoredSchema, accepts: [204], ...(ifMatch !== undefined && { ifMatch }) }
  try {
    await effect.ask({ method: 'DELETE', ...asked })
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.kind !== 'not_found') throw error
  }
}

async function findCopy({ connection, place }: Writing, { creationId }: Creation): Promise<string> {
  const found = await findCreated(connection, { calendarKey: place.calendarKey, creationId }, {})
  if (found !== null) return found
  throw new ProviderFailure('not_found', 'The event was deleted.')
}
