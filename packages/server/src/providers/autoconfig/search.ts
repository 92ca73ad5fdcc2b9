import { wholeSecondsSince } from '../../kit/egress/discreet-guard.ts'
import type { EgressKind } from '../../kit/egress/guard.ts'
import { parseHost } from '../../kit/egress/host.ts'
import type { FoundServers, ServerSearch } from '../discovery.ts'
import type { MailServer } from '../mail-server.ts'
import { findDav } from './dav.ts'
import { type Fetcher, fetchSmall } from './fetch-small.ts'
import {
  type KnownProvider,
  findByDomain,
  findByImapHost,
  findByMailHost,
  serversOf,
} from './known-providers.ts'
import { type ServerCandidates, readClientConfig } from './read-config.ts'
import { type RecordResolver, findMailHosts, findServersBySrv } from './records.ts'
import { within } from '../../kit/within.ts'

export interface SearchOptions extends Fetcher {
  records: RecordResolver
  /** The URL of the ISPDB; the domain is appended to it. */
  ispdbUrl?: string
  /** The port of autoconfig and well-known URLs; only tests use another than 443. */
  httpsPort?: number
  /** Maximum time of a search. */
  searchSeconds?: number
  /** The hosts that take the mail of a domain whose people a sandbox plays; none for any other domain. */
  findPlayedHosts?: (domain: string) => Promise<string[]>
  /** Whether servers without TLS are offered. */
  allowPlaintext: boolean
}

const ISPDB_URL = 'https://autoconfig.thunderbird.net/v1.1/'
const HTTPS_PORT = 443
const SEARCH_SECONDS = 10
/**
 * Share of the whole time: the domain's own files, and then everything else, must leave time for the rest.
 */
const STEP_SHARE = 0.4
const DAV_SHARE = 0.5
/**
 * Parents of an MX host that are tried: `mx1.eu.example.com` may be served as `eu.example.com` or `example.com`.
 */
const PARENT_DOMAINS_MAX = 2

type Source = FoundServers['source']
type MailServers = Omit<FoundServers, 'dav'> & { known?: KnownProvider }

/** One search for the servers of an address. Its steps never reject: a source that fails counts as empty. */
interface Search extends Required<Omit<SearchOptions, keyof Fetcher>> {
  fetcher: Fetcher
  email: string
  domain: string
}

/** Finds the servers of an address, without logging in, within 10 seconds. */
export function serverSearch(options: SearchOptions): ServerSearch {
  const { guard, authorities, ...rest } = options
  const fetcher = { guard, authorities }
  const defaults = {
    ispdbUrl: ISPDB_URL,
    httpsPort: HTTPS_PORT,
    searchSeconds: SEARCH_SECONDS,
    findPlayedHosts: async () => [],
  }
  return {
    async find(email) {
      const domain = parseHost(email.slice(email.lastIndexOf('@') + 1))
      if (!domain || domain.address) return null
      const startedAt = performance.now()
      const found = await find({ ...defaults, ...rest, fetcher, email, domain: domain.name })
      // A domain that leads into the private network must look like one that does not exist.
      if (!found) await wholeSecondsSince(startedAt)
      return found
    },
  }
}

async function find(search: Search): Promise<FoundServers | null> {
  const known = findByDomain(search.domain)
  if (known) return { source: 'provider', ...serversOf(known, search.email), dav: davOf(known) }
  const played = await findPlayed(search)
  if (played) return { source: 'mx', ...serversOf(played, search.email), dav: davOf(played) }

  const ended = new AbortController()
  const limit = (share: number) =>
    AbortSignal.any([ended.signal, AbortSignal.timeout(share * search.searchSeconds * 1000)])
  try {
    // Servers are of use without it, and if there are none, it is not awaited.
    const dav = findDav({ ...search }, search.domain, limit(DAV_SHARE)).catch(() => null)
    const found =
      (await first(ownConfigs(search, limit(STEP_SHARE)))) ??
      (await first(otherSources(search, limit(STEP_SHARE))))
    if (!found) return null
    const { known: operator, ...servers } = found
    return { ...servers, dav: (operator && davOf(operator)) ?? (await dav) }
  } finally {
    ended.abort()
  }
}

async function findPlayed({ findPlayedHosts, domain }: Search): Promise<KnownProvider | null> {
  return firstKnown(await findPlayedHosts(domain))
}

/** The best source that has a result, without waiting for lesser ones. */
async function first(sources: Array<Promise<MailServers | null>>): Promise<MailServers | null> {
  // A source may fail before it is awaited, or when it is no longer needed.
  for (const source of sources) source.catch(() => {})
  for (const source of sources) {
    const found = await source
    if (found) return found
  }
  return null
}

/** HTTPS only: over HTTP, anyone on the network path could name the server that gets the password. */
function ownConfigs(search: Search, signal: AbortSignal) {
  const { domain, httpsPort, email } = search
  const urls = [
    new URL(`https://autoconfig.${domain}:${httpsPort}/mail/config-v1.1.xml`),
    new URL(`https://${domain}:${httpsPort}/.well-known/autoconfig/mail/config-v1.1.xml`),
  ]
  return urls.map(url => {
    url.searchParams.set('emailaddress', email)
    return readAt(search, 'autoconfig', url, signal)
  })
}

function otherSources(search: Search, signal: AbortSignal) {
  return [readIspdb(search, 'ispdb', search.domain, signal), bySrv(search, signal), byMx(search, signal)]
}

function readIspdb(search: Search, source: Source, domain: string, signal: AbortSignal) {
  return readAt(search, source, new URL(encodeURIComponent(domain), search.ispdbUrl), signal)
}

async function readAt(
  search: Search,
  source: Source,
  url: URL,
  signal: AbortSignal,
): Promise<MailServers | null> {
  const answer = await fetchSmall(search.fetcher, { method: 'GET', url }, signal)
  const candidates = answer?.status === 200 ? readClientConfig(answer.body, search.email) : null
  return candidates && offer(search, source, candidates, signal)
}

async function bySrv(search: Search, signal: AbortSignal): Promise<MailServers | null> {
  const { records, email, domain } = search
  return offer(search, 'srv', await findServersBySrv(records, email, domain, signal), signal)
}

/** The host that receives the mail of a domain usually serves its mailboxes, too. */
async function byMx(search: Search, signal: AbortSignal): Promise<MailServers | null> {
  const hosts = await findMailHosts(search.records, search.domain, signal)
  const known = firstKnown(hosts)
  if (known) return { source: 'mx', ...serversOf(known, search.email), known }
  const parents = parentDomains(hosts[0] ?? '').filter(domain => domain !== search.domain)
  return first(parents.map(domain => readIspdb(search, 'mx', domain, signal)))
}

function firstKnown(mailHosts: readonly string[]): KnownProvider | null {
  return mailHosts.map(findByMailHost).find(provider => provider !== null) ?? null
}

function parentDomains(host: string): string[] {
  const labels = host.split('.')
  return labels
    .map((_, index) => labels.slice(index).join('.'))
    .slice(1, -1)
    .slice(-PARENT_DOMAINS_MAX)
}

/** Returns the first usable IMAP and SMTP servers of a source; null without a usable IMAP server. */
async function offer(
  search: Search,
  source: Source,
  candidates: ServerCandidates,
  signal: AbortSignal,
): Promise<MailServers | null> {
  const imap = await firstUsable(search, 'imap', candidates.imap, signal)
  if (!imap) return null
  const smtp = await firstUsable(search, 'smtp', candidates.smtp, signal)
  return { source, imap, smtp, oauth: findByImapHost(imap.host)?.oauth ?? null }
}

/** A server that cannot be connected to, because it is private or gone, is not offered. */
async function firstUsable(
  { fetcher, allowPlaintext }: Search,
  kind: EgressKind,
  servers: MailServer[],
  signal: AbortSignal,
): Promise<MailServer | null> {
  const plain = allowPlaintext ? servers.filter(({ security }) => security === 'none') : []
  for (const server of [...servers.filter(({ security }) => security !== 'none'), ...plain]) {
    const { host, port } = server
    const isAllowed = await within(signal, fetcher.guard.resolve({ host, port, kind })).then(
      () => true,
      () => false,
    )
    if (isAllowed) return server
  }
  return null
}

function davOf({ dav }: KnownProvider): FoundServers['dav'] {
  return dav && { source: 'provider', ...dav }
}
