import type { ZoneDefinition } from '../../kit/zones/vtimezone.ts'
import { zoneOfTzid } from '../../kit/zones/zone-of-tzid.ts'
import { presentZone } from '../../kit/zones/zones.ts'
import { DAY_MS } from '../../kit/wall-clock.ts'
import type { RemoteCalendar } from '../calendars.ts'
import { toNotes } from '../contact-text.ts'
import type { Told } from './ask.ts'
import type { DavClient } from './client.ts'
import {
  type CollectionKind,
  findCollection,
  findCollections,
  isReadOnly,
  nameOf,
  privilegesOf,
} from './collections.ts'
import { openEvents, UnreadableEvents } from './events/event-file.ts'
import { canonicalPath } from './hrefs.ts'
import { hasElement, propHref, propText } from './multistatus.ts'
import { CAL, CALDAV, COLOR, CTAG, D, DAV, propfindBody, SUBSCRIBED } from './names.ts'

/** A calendar as its server describes it now. */
export interface DavCalendar {
  /** The canonical path, which is the key of the calendar. */
  path: string
  syncToken: string | null
  ctag: string | null
  calendar: RemoteCalendar
}

const COMPARED_DAYS = 366
const PROPS_TO_READ = [D.resourcetype, CAL.components, CAL.timeZone, CAL.timeZoneId]
const PROPS = propfindBody([
  ...PROPS_TO_READ,
  D.displayname,
  D.privileges,
  D.principal,
  D.owner,
  D.syncToken,
  CTAG,
  CAL.description,
  CAL.defaultCalendar,
  COLOR,
])

/** The calendars of a home that hold events, as `findCollections` finds them. */
export async function findCalendars(
  client: DavClient,
  home: URL,
  signal?: AbortSignal,
): Promise<DavCalendar[]> {
  // The property is one of the inbox, which lies in the home as calendars do (RFC 6638 section 9.2).
  let primary: string | null = null
  const kind = calendars(told => {
    const href = propHref(told, CAL.defaultCalendar)
    const url = href === null ? null : URL.parse(href, home.href)
    if (url) primary = canonicalPath(url.pathname)
  })
  const found = await findCollections(client, home, kind, signal)
  // It may name a calendar that was deleted, or one of tasks.
  const isNamed = found.some(({ path }) => path === primary)
  return found.map(one => ({
    ...one,
    calendar: { ...one.calendar, isPrimary: isNamed ? one.path === primary : null },
  }))
}

/** One calendar, without whether it is the primary one. Throws `not_found` if there is none at the path. */
export function findCalendar(
  client: DavClient,
  home: URL,
  path: string,
  signal?: AbortSignal,
): Promise<DavCalendar> {
  return findCollection(client, home, calendars(), { path, signal })
}

/**
 * One calendar with the properties that reading its events needs. Its token and its tag are not asked for, since some servers
 * read all events for them.
 */
export async function findCalendarToRead(
  client: DavClient,
  home: URL,
  path: string,
  signal?: AbortSignal,
): Promise<Pick<RemoteCalendar, 'key' | 'timeZone'>> {
  const kind = { ...calendars(), props: propfindBody(PROPS_TO_READ) }
  return (await findCollection(client, home, kind, { path, signal })).calendar
}

/** @param onOther called with each response that is not about a calendar */
function calendars(onOther: (told: Told) => void = () => undefined): CollectionKind<DavCalendar> {
  return {
    noun: 'calendars',
    props: PROPS,
    read(told, path) {
      if (holdsEvents(told)) return calendarOf(told, path)
      onOther(told)
      return null
    },
  }
}

function holdsEvents(told: Told): boolean {
  if (!hasElement(told, D.resourcetype, CAL.calendar)) return false
  // These belong to servers, or come from elsewhere (RFC 6638 sections 2.1 and 2.2).
  if ([CAL.inbox, CAL.outbox, SUBSCRIBED].some(type => hasElement(told, D.resourcetype, type))) return false
  const components = told.props.get(CAL.components)?.children.filter(({ name }) => name === CAL.component)
  // Without the property, a calendar takes every component (RFC 4791 section 5.2.3).
  if (!components || components.length === 0) return true
  return components.some(({ attributes }) => attributes['name']?.toUpperCase() === 'VEVENT')
}

function calendarOf(told: Told, path: string): DavCalendar {
  return {
    path,
    syncToken: propText(told, D.syncToken),
    ctag: propText(told, CTAG),
    calendar: {
      key: path,
      name: nameOf(told, path),
      description: toNotes(propText(told, CAL.description) ?? ''),
      // The server names the owner by a path, and not by an address.
      owner: null,
      isPrimary: null,
      access: accessOf(told),
      color: colorOf(propText(told, COLOR)),
      timeZone: zoneIn(told),
      isHidden: false,
    },
  }
}

const READING = `${DAV} read`
const FREE_BUSY = `${CALDAV} read-free-busy`

/** Privileges of RFC 3744 section 3 and RFC 4791 section 6.1.1. A server that does not report them shows a user his own. */
function accessOf(told: Told): RemoteCalendar['access'] {
  if (isReadOnly(told)) {
    const privileges = privilegesOf(told)
    return privileges?.has(FREE_BUSY) && !privileges.has(READING) ? 'freebusy' : 'reader'
  }
  const [owner, principal] = [propHref(told, D.owner), propHref(told, D.principal)]
  if (owner === null || principal === null) return 'owner'
  return lastPart(owner) === lastPart(principal) ? 'owner' : 'writer'
}

/** A path without origin and last slash: a server writes its own in several ways. */
const lastPart = (href: string): string => canonicalPath(href.replace(/^https?:\/\/[^/]+/i, ''))

function colorOf(text: string | null): string | null {
  const digits = /^#(?:([0-9a-f]{6})(?:[0-9a-f]{2})?|([0-9a-f]{3}))$/i.exec(text ?? '')
  if (!digits) return null
  const [, long, short = ''] = digits
  return `#${long ?? short.replaceAll(/./g, '$&$&')}`.toLowerCase()
}

/** The IANA name of its zone, from its TZID (RFC 7809 section 5.2) or its VTIMEZONE (RFC 4791 section 5.2.2). */
function zoneIn(told: Told): string | null {
  const zone = zoneOfId(propText(told, CAL.timeZoneId)) ?? zoneOfDefinition(propText(told, CAL.timeZone))
  return zone === null ? null : presentZone(zone)
}

const zoneOfId = (tzid: string | null): string | null => (tzid === null ? null : zoneOf(tzid, null))

function zoneOfDefinition(text: string | null): string | null {
  if (text === null) return null
  try {
    const [first] = openEvents(Buffer.from(text)).zones
    return first ? zoneOf(...first) : null
  } catch (error) {
    if (error instanceof UnreadableEvents) return null
    throw error
  }
}

/** Definitions are compared with zones over the next year. */
function zoneOf(tzid: string, definition: ZoneDefinition | null): string | null {
  const start = new Date()
  const end = new Date(start.getTime() + COMPARED_DAYS * DAY_MS)
  return zoneOfTzid({ tzid, definition, preferred: null, window: { start, end } }).zone
}
