import { z } from 'zod'
import type { EventAddress, RemoteCalendar } from '../../calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { toName } from '../../contact-text.ts'
import { toEventAddress } from '../../event-people.ts'
import { type AskOptions, type GraphRequest, segment } from '../api.ts'
import { id } from '../resources.ts'
import type { CalendarsConnection, LeftListing } from './calendars-connection.ts'
import { calendarsSchema, FIELDS, type GivenCalendar } from './given-calendar.ts'
import { findMailboxZone } from './mailbox-zone.ts'

const PER_PAGE = 100
const CALENDARS_MAX = 1000
/** A list that was left is continued for this time. */
const LEFT_MS_MAX = 300_000

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

/**
 * All calendars of a mailbox, those that others share with it among them, or none of them: if there is no room in the quota
 * after a part, that part is kept.
 * @param mayContinue whether the list may begin with pages that were read a few minutes ago
 */
export async function listCalendars(
  connection: CalendarsConnection,
  options: AskOptions,
  mayContinue = false,
): Promise<RemoteCalendar[]> {
  const { api, leftListing: left } = connection
  connection.leftListing = null
  const age = left === null ? Infinity : api.now() - left.beganAt
  const isContinued = mayContinue && left !== null && age >= 0 && age < LEFT_MS_MAX
  const listing = isContinued ? left : await beginListing(connection, options)
  const { given } = listing
  const timeZone = await finishListing(connection, listing, options).catch((error: unknown) => {
    if (error instanceof ProviderFailure && error.kind === 'throttled') connection.leftListing = listing
    throw error
  })
  const own = given.find(({ isDefaultCalendar }) => isDefaultCalendar === true)?.owner?.address ?? null
  const calendars = new Map(given.map(each => [each.id, toRemote(each, { own, timeZone })]))
  connection.calendars = calendars
  return [...calendars.values()]
}

async function beginListing({ api }: CalendarsConnection, options: AskOptions): Promise<LeftListing> {
  const query = { $select: FIELDS, $top: PER_PAGE }
  const beganAt = api.now()
  const { value } = await api.ask(
    { path: 'calendars', query, schema: calendarsSchema, accepts: [200] },
    options,
  )
  return { given: [...value.value], link: value['@odata.nextLink'], beganAt }
}

/** @returns the zone of the mailbox */
async function finishListing(
  connection: CalendarsConnection,
  listing: LeftListing,
  options: AskOptions,
): Promise<string | null> {
  while (listing.link !== undefined && listing.given.length < CALENDARS_MAX) {
    const page = await connection.api.follow(listing.link, calendarsSchema, options)
    listing.given.push(...page.value)
    listing.link = page['@odata.nextLink']
  }
  return findMailboxZone(connection, options)
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
