import { z } from 'zod'
import type { EventAddress, RemoteCalendar } from '../../calendars.ts'
import { toName } from '../../contact-text.ts'
import { toEventAddress } from '../../event-people.ts'
import { type AskOptions, type GraphRequest, segment } from '../api.ts'
import { id, pageSchema, text } from '../resources.ts'
import type { CalendarsConnection } from './calendars-connection.ts'
import { findMailboxZone } from './mailbox-zone.ts'

const PER_PAGE = 100
const PAGES_MAX = 10
const flag = z.boolean().nullish().catch(null)

/** A calendar (learn.microsoft.com/graph/api/resources/calendar), as far as it is read. */
const calendarSchema = z.object({
  id,
  name: text.catch(null),
  color: text.catch(null),
  hexColor: text.catch(null),
  isDefaultCalendar: flag,
  canEdit: flag,
  owner: z.object({ name: text, address: text }).nullish().catch(null),
})
type GivenCalendar = z.infer<typeof calendarSchema>
const calendarsSchema = pageSchema(calendarSchema)

const FIELDS = Object.keys(calendarSchema.shape).join(',')

export function pathOfCalendar(key: string): string {
  return `calendars/${segment(key)}`
}

/** A question that Graph answers if it answers anything about the calendars of the mailbox. */
export const PROBE: GraphRequest<unknown> = {
  path: 'calendar',
  query: { $select: 'id' },
  schema: z.object({ id }),
  accepts: [200],
}

/** All calendars of a mailbox, those that others share with it among them. */
export async function listCalendars(
  connection: CalendarsConnection,
  options: AskOptions,
): Promise<RemoteCalendar[]> {
  const { api } = connection
  const query = { $select: FIELDS, $top: PER_PAGE }
  const first = await api.ask({ path: 'calendars', query, schema: calendarsSchema, accepts: [200] }, options)
  const given = [...first.value.value]
  let link = first.value['@odata.nextLink']
  for (let pages = 1; link !== undefined && pages < PAGES_MAX; pages += 1) {
    const page = await api.follow(link, calendarsSchema, options)
    given.push(...page.value)
    link = page['@odata.nextLink']
  }
  const timeZone = await findMailboxZone(connection, options)
  const own = given.find(({ isDefaultCalendar }) => isDefaultCalendar === true)?.owner?.address ?? null
  const calendars = new Map(given.map(each => [each.id, toRemote(each, { own, timeZone })]))
  connection.calendars = calendars
  return [...calendars.values()]
}

/** Whether a calendar is one of the account itself, so that events name the part of the account in them. */
export async function isOwnCalendar(
  connection: CalendarsConnection,
  key: string,
  options: AskOptions,
): Promise<boolean> {
  if (!connection.calendars?.has(key)) await listCalendars(connection, options)
  return connection.calendars?.get(key)?.access === 'owner'
}

/**
 * @param own the address of the owner of the default calendar
 * @param timeZone the zone of the mailbox: no calendar has one of its own
 */
function toRemote(
  given: GivenCalendar,
  { own, timeZone }: { own: string | null; timeZone: string | null },
): RemoteCalendar {
  const owner = ownerOf(given)
  const isOwn = own === null || owner === null || owner.address.toLowerCase() === own.toLowerCase()
  return {
    key: given.id,
    name: toName(given.name ?? '') ?? 'Calendar',
    description: null,
    owner,
    isPrimary: given.isDefaultCalendar === true,
    access: given.canEdit === false ? 'reader' : isOwn ? 'owner' : 'writer',
    color: colorOf(given),
    timeZone,
    isHidden: false,
  }
}

const ownerOf = ({ owner }: GivenCalendar): EventAddress | null =>
  toEventAddress(owner?.address ?? '', owner?.name ?? '')

/** Colors by their names in lower case, for a calendar without a color of its own. */
export const COLORS: ReadonlyMap<string, { name: string; hex: string }> = new Map(
  [
    ['lightBlue', '#a6d1f5'],
    ['lightGreen', '#87d28e'],
    ['lightOrange', '#fcab73'],
    ['lightGray', '#c0c0c0'],
    ['lightYellow', '#fde300'],
    ['lightTeal', '#4fd8cd'],
    ['lightPink', '#f08cc0'],
    ['lightBrown', '#b69b7a'],
    ['lightRed', '#f88c9b'],
  ].map(([name = '', hex = '']) => [name.toLowerCase(), { name, hex }]),
)

function colorOf({ color, hexColor }: GivenCalendar): string | null {
  if (/^#[0-9a-f]{6}$/i.test(hexColor ?? '')) return hexColor!.toLowerCase()
  return COLORS.get(color?.toLowerCase() ?? '')?.hex ?? null
}
