/** Names of XML elements with their namespace, as `namespace name`. Prefixes mean nothing: servers choose their own. */
export const DAV = 'DAV:'
export const CARDDAV = 'urn:ietf:params:xml:ns:carddav'
export const CALDAV = 'urn:ietf:params:xml:ns:caldav'
const CALENDAR_SERVER = 'http://calendarserver.org/ns/'

const dav = (name: string) => `${DAV} ${name}`

/** Names of WebDAV (RFC 4918), its access control (RFC 3744), principals (RFC 5397) and sync (RFC 6578). */
export const D = {
  multistatus: dav('multistatus'),
  response: dav('response'),
  href: dav('href'),
  status: dav('status'),
  propstat: dav('propstat'),
  prop: dav('prop'),
  resourcetype: dav('resourcetype'),
  collection: dav('collection'),
  displayname: dav('displayname'),
  getetag: dav('getetag'),
  syncToken: dav('sync-token'),
  principal: dav('current-user-principal'),
  unauthenticated: dav('unauthenticated'),
  privileges: dav('current-user-privilege-set'),
  privilege: dav('privilege'),
  owner: dav('owner'),
} as const

/** Names of CardDAV (RFC 6352). */
export const CARD = {
  addressbook: `${CARDDAV} addressbook`,
  home: `${CARDDAV} addressbook-home-set`,
  multiget: `${CARDDAV} addressbook-multiget`,
  data: `${CARDDAV} address-data`,
  supportedData: `${CARDDAV} supported-address-data`,
  dataType: `${CARDDAV} address-data-type`,
} as const

/** Names of CalDAV (RFC 4791). */
export const CAL = {
  calendar: `${CALDAV} calendar`,
  home: `${CALDAV} calendar-home-set`,
  components: `${CALDAV} supported-calendar-component-set`,
  component: `${CALDAV} comp`,
  multiget: `${CALDAV} calendar-multiget`,
  data: `${CALDAV} calendar-data`,
  description: `${CALDAV} calendar-description`,
  timeZone: `${CALDAV} calendar-timezone`,
  timeZoneId: `${CALDAV} calendar-timezone-id`,
  inbox: `${CALDAV} schedule-inbox`,
  outbox: `${CALDAV} schedule-outbox`,
  defaultCalendar: `${CALDAV} schedule-default-calendar-URL`,
  outboxUrl: `${CALDAV} schedule-outbox-URL`,
} as const

/** The colour of a calendar, as Apple wrote it first: `#rrggbb` or `#rrggbbaa`. */
export const COLOR = 'http://apple.com/ns/ical/ calendar-color'

/** A calendar that the server fetches from elsewhere. */
export const SUBSCRIBED = `${CALENDAR_SERVER} subscribed`

/** The tag of a collection that changes whenever a member does (an extension of Apple that most servers have). */
export const CTAG = `${CALENDAR_SERVER} getctag`

const XML = '<?xml version="1.0" encoding="utf-8"?>\n'

/** The body of a PROPFIND (RFC 4918 section 9.1) that asks for these properties. */
export function propfindBody(names: readonly string[]): string {
  return `${XML}<propfind xmlns="DAV:">${propOf(names)}</propfind>`
}

/** The body of a sync-collection REPORT (RFC 6578 section 3.2). An empty token asks for all members. */
export function syncBody(token: string): string {
  const asked = `<sync-token>${escapeXml(token)}</sync-token><sync-level>1</sync-level>`
  return `${XML}<sync-collection xmlns="DAV:">${asked}${propOf([D.getetag])}</sync-collection>`
}

/**
 * The body of a REPORT that reads many files (RFC 6352 section 8.7, RFC 4791 section 7.9).
 * @param report its name
 * @param data the property that has the content of a file
 */
export function multigetBody(report: string, data: string, paths: readonly string[]): string {
  const hrefs = paths.map(path => `<href xmlns="DAV:">${escapeXml(path)}</href>`).join('')
  const [namespace, local] = report.split(' ')
  return `${XML}<${local} xmlns="${namespace}">${propOf([D.getetag, data])}${hrefs}</${local}>`
}

/**
 * The body of a calendar-query REPORT (RFC 4791 section 7.8) for the versions of events.
 * @param filter what is asked of a VEVENT, as XML in the namespace of CalDAV
 */
export function calendarQueryBody(filter: string): string {
  const events = `<comp-filter name="VCALENDAR"><comp-filter name="VEVENT">${filter}</comp-filter></comp-filter>`
  return `${XML}<calendar-query xmlns="${CALDAV}">${propOf([D.getetag])}<filter>${events}</filter></calendar-query>`
}

/** The filter of a calendar-query for the event with a UID. */
export function uidFilter(uid: string): string {
  const match = `<text-match collation="i;octet">${escapeXml(uid)}</text-match>`
  return `<prop-filter name="UID">${match}</prop-filter>`
}

/** Values of properties by their names; null removes one. Names are those of this module. */
export type PropValues = Readonly<Record<string, string | null>>

/** The body of a PROPPATCH (RFC 4918 section 9.2). */
export function proppatchBody(values: PropValues): string {
  const elements = Object.entries(values).map(([name, value]) =>
    value === null
      ? `<remove>${propOf([name])}</remove>`
      : `<set><prop>${elementOf(name, value)}</prop></set>`,
  )
  return `${XML}<propertyupdate xmlns="DAV:">${elements.join('')}</propertyupdate>`
}

/** The body of a MKCALENDAR (RFC 4791 section 5.3.1) for a calendar of events. */
export function mkcalendarBody(values: PropValues): string {
  const elements = Object.entries(values).flatMap(([name, value]) =>
    value === null ? [] : [elementOf(name, value)],
  )
  const components = `<supported-calendar-component-set xmlns="${CALDAV}"><comp name="VEVENT"/></supported-calendar-component-set>`
  return `${XML}<C:mkcalendar xmlns:C="${CALDAV}" xmlns="DAV:"><set><prop>${elements.join('')}${components}</prop></set></C:mkcalendar>`
}

function elementOf(name: string, value: string): string {
  const [namespace = '', local = ''] = name.split(' ')
  return `<${local} xmlns="${namespace}">${escapeXml(value)}</${local}>`
}

function propOf(names: readonly string[]): string {
  const elements = names.map(name => {
    const [namespace = '', local = ''] = name.split(' ')
    return `<${local} xmlns="${namespace}"/>`
  })
  return `<prop xmlns="DAV:">${elements.join('')}</prop>`
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escapeXml(text: string): string {
  return text.replaceAll(/[&<>"]/g, character => ESCAPES[character] ?? '')
}
