import type { FoundServers } from '../discovery.ts'
import { type Fetcher, fetchSmall } from './fetch-small.ts'
import { type RecordResolver, findPath, findTargets } from './records.ts'
import { within } from '../../kit/within.ts'

export interface DavSearch {
  fetcher: Fetcher
  records: RecordResolver
  /** The port for HTTPS: 443, except in tests. */
  httpsPort: number
}

type Kind = 'caldav' | 'carddav'
interface Home {
  source: 'srv' | 'well_known'
  url: string
}

/**
 * The URLs of a domain's calendars and contacts (RFC 6764), as far as they can be found without logging in; null if
 * there are none.
 */
export async function findDav(
  search: DavSearch,
  domain: string,
  signal: AbortSignal,
): Promise<FoundServers['dav']> {
  const [calendar, contacts] = await Promise.all([
    findHome(search, 'caldav', domain, signal),
    findHome(search, 'carddav', domain, signal),
  ])
  const source = [calendar, contacts].find(home => home?.source === 'srv') ?? calendar ?? contacts
  if (!source) return null
  return {
    source: source.source,
    calendarUrl: calendar?.url ?? null,
    contactsUrl: contacts?.url ?? null,
  }
}

async function findHome(
  search: DavSearch,
  kind: Kind,
  domain: string,
  signal: AbortSignal,
): Promise<Home | null> {
  const service = `_${kind}s._tcp`
  for (const target of await findTargets(search.records, service, domain, signal)) {
    const { guard } = search.fetcher
    const isAllowed = await within(signal, guard.resolve({ ...target, kind: 'https' })).then(
      () => true,
      () => false,
    )
    if (!isAllowed) continue
    const path = await findPath(search.records, service, domain, signal)
    const base = wellKnown(kind, target.host, target.port)
    const named = path === null ? null : URL.parse(path, base.href)
    if (named?.origin === base.origin) return { source: 'srv', url: named.href }
    return { source: 'srv', url: (await probe(search, base, signal)) ?? base.href }
  }
  const url = await probe(search, wellKnown(kind, domain, search.httpsPort), signal)
  return url === null ? null : { source: 'well_known', url }
}

function wellKnown(kind: Kind, host: string, port: number): URL {
  return new URL(`https://${host}:${port}/.well-known/${kind}`)
}

const PROPFIND =
  '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>'

/**
 * The target of a well-known address. A DAV server returns properties or asks for a login; any other server does
 * neither.
 */
async function probe({ fetcher }: DavSearch, url: URL, signal: AbortSignal): Promise<string | null> {
  const headers = { depth: '0', 'content-type': 'application/xml; charset=utf-8' }
  const answer = await fetchSmall(fetcher, { method: 'PROPFIND', url, headers, body: PROPFIND }, signal)
  if (!answer) return null
  const wantsLogin = answer.status === 401 && answer.headers['www-authenticate'] !== undefined
  return answer.status === 207 || wantsLogin ? answer.url.href : null
}
