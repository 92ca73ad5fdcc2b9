import { z } from 'zod'
import type { RemoteCalendar } from '../../../calendars.ts'
import type { CalendarFields, Creation } from '../../../changing-calendars.ts'
import { ProviderFailure, restate } from '../../../failure.ts'
import { changing } from '../../changing/effect.ts'
import { quoted } from '../../changing/find.ts'
import { itemSchema } from '../../items.ts'
import { firstOf, ignoredSchema, text } from '../../resources.ts'
import { COLORS, listCalendars, pathOfCalendar } from '../calendar-list.ts'
import type { CalendarsConnection } from '../calendars-connection.ts'
import { CREATION_PROPERTY } from './there.ts'

/**
 * `CalendarsWriter.createCalendar`. Graph has no two calendars of one name in a mailbox, so an earlier try is the one of that name,
 * if it has the mark of the creation.
 */
export function createCalendar(
  connection: CalendarsConnection,
  { name, color, description, timeZone, creationId, mayExist }: CalendarFields & Creation,
): Promise<RemoteCalendar> {
  return changing(connection.api, async effect => {
    const calendars = await listCalendars(connection, {})
    requireHeld({ description, timeZone }, calendars)
    const isAlike = (one: RemoteCalendar) => one.name === name && one.access === 'owner' && !one.isPrimary
    const alike = mayExist ? calendars.find(isAlike) : undefined
    if (alike && (await isMadeBy(connection, alike.key, creationId))) return alike
    const { value } = await effect
      .ask({
        method: 'POST',
        path: 'calendars',
        json: {
          name,
          color: colorName(color),
          singleValueExtendedProperties: [{ id: CREATION_PROPERTY, value: creationId }],
        },
        schema: itemSchema,
        accepts: [201],
      })
      .catch(nameTaken)
    return requireCalendar(connection, value.id)
  })
}

async function isMadeBy({ api }: CalendarsConnection, key: string, creationId: string): Promise<boolean> {
  const { value } = await api.ask({
    path: pathOfCalendar(key),
    query: {
      $select: 'id',
      $expand: `singleValueExtendedProperties($filter=id eq ${quoted(CREATION_PROPERTY)})`,
    },
    schema: markedSchema,
    accepts: [200],
  })
  return value.singleValueExtendedProperties?.some(property => property.value === creationId) ?? false
}

const markedSchema = z.object({
  singleValueExtendedProperties: firstOf(z.object({ value: text }), 10).nullish(),
})

/** `CalendarsWriter.changeCalendar`. */
export function changeCalendar(
  connection: CalendarsConnection,
  key: string,
  change: Partial<CalendarFields>,
): Promise<RemoteCalendar> {
  return changing(connection.api, async effect => {
    const calendars = await listCalendars(connection, {})
    const before = calendars.find(one => one.key === key)
    if (!before) throw gone()
    requireHeld(change, calendars)
    const json = {
      ...(change.name !== undefined && change.name !== before.name && { name: change.name }),
      ...(change.color !== undefined && change.color !== before.color && { color: colorName(change.color) }),
    }
    if (Object.keys(json).length === 0) return before
    const path = pathOfCalendar(key)
    await effect.ask({ method: 'PATCH', path, json, schema: itemSchema, accepts: [200] }).catch(nameTaken)
    return requireCalendar(connection, key)
  })
}

/** `CalendarsWriter.removeCalendar`. */
export function removeCalendar(connection: CalendarsConnection, key: string): Promise<void> {
  return changing(connection.api, async effect => {
    const path = pathOfCalendar(key)
    await effect.ask({ method: 'DELETE', path, schema: ignoredSchema, accepts: [204] })
  })
}

async function requireCalendar(connection: CalendarsConnection, key: string): Promise<RemoteCalendar> {
  const found = (await listCalendars(connection, {})).find(one => one.key === key)
  if (found) return found
  throw gone()
}

const gone = (): ProviderFailure => new ProviderFailure('not_found', 'The calendar was deleted.')

/** Calendars of Exchange have no description, and no time zone but that of the mailbox. */
function requireHeld(
  { description = null, timeZone }: Partial<CalendarFields>,
  calendars: readonly RemoteCalendar[],
): void {
  const zone = calendars[0]?.timeZone ?? null
  if (description === null && (timeZone === undefined || timeZone === null || timeZone === zone)) return
  const name = description === null ? 'time zone of its own' : 'description'
  throw new ProviderFailure('unsupported', `A calendar of Exchange has no ${name}.`)
}

/** The name is that of another calendar. */
function nameTaken(error: unknown): never {
  if (error instanceof ProviderFailure && error.kind === 'conflict')
    throw restate(error, { kind: 'rejected', isBeforeAcceptance: true })
  throw error
}

/** The name of the nearest of the colors that Exchange has. */
function colorName(color: string | null): string {
  if (color === null) return 'auto'
  const [nearest] = [...COLORS].toSorted(([, a], [, b]) => distance(a.hex, color) - distance(b.hex, color))
  return nearest?.[1].name ?? 'auto'
}

function distance(one: string, other: string): number {
  const partsOf = (color: string) => [1, 3, 5].map(at => Number.parseInt(color.slice(at, at + 2), 16))
  const [a, b] = [partsOf(one), partsOf(other)]
  return a.reduce((sum, part, index) => sum + (part - b[index]!) ** 2, 0)
}
