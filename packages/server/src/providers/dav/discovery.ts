import type { SecureContext } from 'node:tls'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import type { DavHomes, DavServer } from '../dav-server.ts'
import { ProviderFailure } from '../failure.ts'
import { askAll, type Told } from './ask.ts'
import { type DavAccess, DavClient } from './client.ts'
import { StatusFailure } from './failure.ts'
import { canonicalPath } from './hrefs.ts'
import { LoginSchemes } from './login.ts'
import { hasElement, propHref, propText } from './multistatus.ts'
import { CAL, CARD, CTAG, D, propfindBody } from './names.ts'
import { trustedDomainOf } from './trusted-domain.ts'
import { XmlRefused } from './xml-stream.ts'

export interface DiscoveryOptions {
  guard: EgressGuard
  authorities?: SecureContext | undefined
  /** Whether the operator lets passwords travel without TLS. */
  allowPlaintext: boolean
}

/** Names by which a half is looked for. */
interface Half {
  home: string
  collection: string
  wellKnown: string
}

const CONTACTS: Half = { home: CARD.home, collection: CARD.addressbook, wellKnown: '/.well-known/carddav' }
const CALENDARS: Half = { home: CAL.home, collection: CAL.calendar, wellKnown: '/.well-known/caldav' }
const SEARCH_SECONDS = 20
const PROPS = propfindBody([D.resourcetype, D.principal, CARD.home, CAL.home])
const CHILDREN = propfindBody([D.resourcetype, D.syncToken, CTAG, D.getetag, CAL.components])
const CHILDREN_MAX = 10_000
const CHILDREN_BYTES_MAX = 16 * 1024 * 1024

/**
 * Logs in to the DAV servers at these URLs and finds the homes of calendars and address books (RFC 6764 section 6). The
 * URL itself is asked first, then its well-known address. Allows 20 seconds. Throws `ProviderFailure`: `login_failed`,
 * `not_allowed`, `unavailable` if no server answers, and `rejected` with the reason `not_dav_server` or
 * `dav_discovery_failed`, or `unsupported` with the reason `dav_unsupported`.
 */
export async function findHomes(
  options: DiscoveryOptions,
  { calendarUrl, contactsUrl, user }: DavServer,
  password: string,
): Promise<DavHomes> {
  const signal = AbortSignal.timeout(SEARCH_SECONDS * 1_000)
  const login = { user, password }
  const schemes = new LoginSchemes()
  const find = async (given: string | null, half: Half): Promise<string | null> => {
    if (given === null) return null
    const url = requireUrl(given, options)
    const access = { login, schemes, trusted: trustedDomainOf(url) }
    return findHome(options, access, url, half, signal)
  }
  try {
    return {
      calendarUrl: await find(calendarUrl, CALENDARS),
      contactsUrl: await find(contactsUrl, CONTACTS),
    }
  } catch (error) {
    if (!signal.aborted) throw error
    const message = `The server did not answer within ${SEARCH_SECONDS} seconds.`
    throw new ProviderFailure('unavailable', message, { cause: error })
  }
}

function requireUrl(text: string, { allowPlaintext }: DiscoveryOptions): URL {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new ProviderFailure('not_allowed', 'This is not an HTTPS URL without a login.')
  if (url.protocol === 'http:' && !allowPlaintext)
    throw new ProviderFailure('not_allowed', 'Connections without TLS are not allowed here.')
  url.hash = ''
  return url
}

async function findHome(
  { guard, authorities }: DiscoveryOptions,
  access: DavAccess,
  given: URL,
  half: Half,
  signal: AbortSignal,
): Promise<string> {
  await using client = new DavClient({ guard, authorities, access, signal })
  const search = { client, half }
  const failures: ProviderFailure[] = []
  for (const url of placesOf(given, half)) {
    try {
      const home = await findHomeAt(search, url)
      if (home) return await requireFeatures(search, await proveLogin(search, home))
      failures.push(nothingFound())
    } catch (error) {
      if (!(error instanceof ProviderFailure) || signal.aborted) throw error
      if (url === given && !isOfPlace(error)) throw error
      failures.push(nameFailure(error))
    }
  }
  throw chooseFailure(failures)
}

/** Logs in at a home that shows itself to anybody, so that no password is taken that the server would refuse. */
async function proveLogin({ client }: Search, home: URL): Promise<URL> {
  if (client.insistOnLogin(home)) await look(client, home)
  return home
}

function placesOf(given: URL, half: Half): URL[] {
  const places = [given, new URL(half.wellKnown, given), new URL('/', given)]
  return places.filter(({ href }, index) => places.findIndex(other => other.href === href) === index)
}

interface Search {
  client: DavClient
  half: Half
}

/** The home that a place leads to; null if it is a DAV server that names none. */
async function findHomeAt({ client, half }: Search, place: URL): Promise<URL | null> {
  let { url, told } = await look(client, place)
  // The server lets anybody look, and shows only to users who they are.
  if (principalOf(told, url) === 'stranger' && client.insistOnLogin(url))
    ({ url, told } = await look(client, url))
  const own = homeOf(told, url, half)
  if (own) return own
  const named = principalOf(told, url)
  if (named instanceof URL) {
    const there = await look(client, named)
    const home = homeOf(there.told, there.url, half)
    if (home) return home
  }
  const self = selfOf(told, url)
  if (self && hasElement(self, D.resourcetype, half.collection)) return url
  return (await hasCollections(client, url, half)) ? url : null
}

/** Without a principal, a place that lists collections of the kind is their home. */
async function hasCollections(client: DavClient, url: URL, half: Half): Promise<boolean> {
  const told = await askChildren(client, url).catch((error: unknown) => {
    if (error instanceof StatusFailure || error instanceof XmlRefused) return []
    throw error
  })
  return told.some(one => hasElement(one, D.resourcetype, half.collection))
}

async function look(client: DavClient, url: URL): Promise<{ url: URL; told: Told[] }> {
  return askAll(client, { method: 'PROPFIND', url, depth: '0', body: PROPS })
}

async function askChildren(client: DavClient, url: URL): Promise<Told[]> {
  const limits = { responsesMax: CHILDREN_MAX, answerBytesMax: CHILDREN_BYTES_MAX }
  const { told } = await askAll(client, { method: 'PROPFIND', url, depth: '1', body: CHILDREN, ...limits })
  return told
}

function selfOf(told: readonly Told[], url: URL): Told | undefined {
  const path = canonicalPath(url.pathname)
  // A server may name itself in its own way.
  return told.find(({ paths }) => paths.includes(path)) ?? told[0]
}

function principalOf(told: readonly Told[], url: URL): URL | 'stranger' | null {
  const self = selfOf(told, url)
  if (!self) return null
  if (hasElement(self, D.principal, D.unauthenticated)) return 'stranger'
  return urlIn(self, D.principal, url)
}

function homeOf(told: readonly Told[], url: URL, half: Half): URL | null {
  const self = selfOf(told, url)
  return self ? urlIn(self, half.home, url) : null
}

/** The client refuses a URL on another server than those that may get the password. */
function urlIn(told: Told, name: string, base: URL): URL | null {
  const href = propHref(told, name)
  return href === null ? null : URL.parse(href, base.href)
}

/** Refuses a server that shows no way to notice changes, or whose calendars take no events. */
async function requireFeatures({ client, half }: Search, home: URL): Promise<string> {
  const told = await askChildren(client, home)
  const collections = told.filter(one => hasElement(one, D.resourcetype, half.collection))
  const follows = collections.filter(one => propText(one, D.syncToken) ?? propText(one, CTAG))
  const [first] = collections
  if (first && follows.length === 0 && !(await hasEtags(client, home, first))) unsupported()
  if (half === CALENDARS && collections.length > 0 && !collections.some(takesEvents)) unsupported()
  const url = new URL(home)
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url.href
}

/** Whether the members of a collection have ETags; true also if it has no members. */
async function hasEtags(client: DavClient, home: URL, { paths }: Told): Promise<boolean> {
  const [path] = paths
  if (path === undefined) return true
  const told = await askChildren(client, new URL(`${path}/`, home))
  const members = told.filter(one => !one.paths.includes(path))
  return members.length === 0 || members.some(one => propText(one, D.getetag) !== null)
}

/** Without a list of components, a calendar takes all (RFC 4791 section 5.2.3). */
function takesEvents({ props }: Told): boolean {
  const components = props.get(CAL.components)?.children.filter(({ name }) => name === CAL.component)
  if (!components || components.length === 0) return true
  return components.some(({ attributes }) => attributes['name']?.toUpperCase() === 'VEVENT')
}

/** Whether another URL of the server may still succeed. A refused login is not repeated elsewhere. */
function isOfPlace(failure: ProviderFailure): boolean {
  if (failure instanceof XmlRefused) return true
  return failure instanceof StatusFailure && failure.kind !== 'throttled' && failure.kind !== 'login_failed'
}

/** The most exact failure: of several alike, that of the URL that was given. */
function chooseFailure(failures: readonly ProviderFailure[]): ProviderFailure {
  const isWanted: ReadonlyArray<(failure: ProviderFailure) => boolean> = [
    ({ reason }) => reason === 'dav_unsupported',
    ({ kind }) => kind === 'login_failed',
    ({ reason }) => reason === 'dav_discovery_failed',
    ({ kind }) => kind === 'not_allowed',
    () => true,
  ]
  const found = isWanted.flatMap(wanted => failures.find(wanted) ?? [])
  return found[0] ?? nothingFound()
}

/** An answer that is not WebDAV shows that this is no DAV server. */
function nameFailure(failure: ProviderFailure): ProviderFailure {
  const isAnswer =
    failure instanceof XmlRefused || (failure instanceof StatusFailure && failure.kind !== 'login_failed')
  const isOfServer = failure instanceof StatusFailure && failure.status >= 500
  if (!isAnswer || isOfServer) return failure
  return new ProviderFailure('rejected', 'The URL does not belong to a DAV server.', {
    cause: failure,
    reason: 'not_dav_server',
  })
}

function nothingFound(): ProviderFailure {
  return new ProviderFailure('rejected', 'No calendar or address book was found on the DAV server.', {
    reason: 'dav_discovery_failed',
  })
}

function unsupported(): never {
  throw new ProviderFailure('unsupported', 'The DAV server lacks a required feature.', {
    reason: 'dav_unsupported',
  })
}
