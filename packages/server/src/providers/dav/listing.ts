import { ask, type Question } from './ask.ts'
import type { DavClient } from './client.ts'
import { versionOf } from './etags.ts'
import { StatusFailure } from './failure.ts'
import { isMember, urlOf } from './hrefs.ts'
import { hasElement, propText } from './multistatus.ts'
import { calendarQueryBody, D, propfindBody, syncBody, uidFilter } from './names.ts'
import { XmlRefused } from './xml-stream.ts'

/** The most files of one collection that are followed. */
export const MEMBERS_MAX = 200_000
const LISTING_BYTES_MAX = 256 * 1024 * 1024
const LISTING_SECONDS = 300
const PROPS = propfindBody([D.getetag, D.resourcetype])
const NOT_FOUND = 404
const INSUFFICIENT_STORAGE = 507
/** Refusals of a request with a token that are not about the token. */
const OTHER_REFUSALS = new Set([401, 429, 503])

/** The files of a collection. */
export interface Listing {
  /** The version of each file by its path; null if the server names none. */
  members: Map<string, string | null>
  /** False if the server left some out. */
  isComplete: boolean
}

/** One answer to a sync-collection (RFC 6578 section 3). */
export interface SyncPage {
  /** Versions of files that were created or changed, by path; null if the server names none. */
  changed: Map<string, string | null>
  /** Paths of files that are gone. */
  gone: Set<string>
  /** The token that leads on. Null if the server named none. */
  syncToken: string | null
  /** Whether the token leads to more changes that the server has now. */
  isTruncated: boolean
}

/** A collection to be asked about. */
export interface AskedCollection {
  path: string
  url: URL
}

/** Lists the files of a collection with a PROPFIND. */
export async function listMembers(
  client: DavClient,
  { path, url }: AskedCollection,
  signal: AbortSignal | undefined,
): Promise<Listing> {
  const listing: Listing = { members: new Map(), isComplete: true }
  const question = { ...large('PROPFIND', url, PROPS, signal), depth: '1' } as const
  for await (const some of ask(client, question)) {
    for (const told of some) {
      if (told.status === INSUFFICIENT_STORAGE) listing.isComplete = false
      const member = told.paths.find(one => isMember(one, path))
      if (member === undefined || told.status === NOT_FOUND || told.status === INSUFFICIENT_STORAGE) continue
      if (hasElement(told, D.resourcetype, D.collection)) continue
      listing.members.set(member, versionOf(propText(told, D.getetag)))
    }
  }
  return listing
}

/** Asks what changed since a token; an empty one asks for everything. */
export async function askChanges(
  client: DavClient,
  { path, url }: AskedCollection,
  syncToken: string,
  signal: AbortSignal | undefined,
): Promise<SyncPage> {
  const page: SyncPage = { changed: new Map(), gone: new Set(), syncToken: null, isTruncated: false }
  // RFC 6578 section 3.2 has depth 0; the level is in the body.
  const asked = ask(client, { ...large('REPORT', url, syncBody(syncToken), signal), depth: '0' })
  for await (const some of asked) {
    for (const told of some) {
      if (told.status === INSUFFICIENT_STORAGE) page.isTruncated = true
      const members = told.paths.filter(one => isMember(one, path))
      if (told.status === NOT_FOUND) for (const member of members) page.gone.add(member)
      else if (told.status !== INSUFFICIENT_STORAGE && !hasElement(told, D.resourcetype, D.collection))
        for (const member of members) page.changed.set(member, versionOf(propText(told, D.getetag)))
    }
  }
  return { ...page, syncToken: asked.syncToken }
}

/**
 * The paths of the events of a calendar that match a filter, as `calendarQueryBody` describes it. Null if the server
 * leaves out some, or does not take the question.
 */
export async function askEvents(
  client: DavClient,
  { path, url }: AskedCollection,
  filter: string,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string> | null> {
  const found = new Set<string>()
  const question = { ...large('REPORT', url, calendarQueryBody(filter), signal), depth: '1' } as const
  try {
    for await (const some of ask(client, question))
      for (const told of some) {
        if (told.status === INSUFFICIENT_STORAGE) return null
        for (const member of told.paths) if (isMember(member, path)) found.add(member)
      }
  } catch (error) {
    if (isRefusal(error)) return null
    throw error
  }
  return found
}

/** The path of the event with a UID; null if there is none, or the server cannot be asked for it. */
export async function findByUid(
  client: DavClient,
  home: URL,
  path: string,
  uid: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const found = await askEvents(client, { path, url: urlOf(path, home, true) }, uidFilter(uid), signal)
  return found && ([...found][0] ?? null)
}

/**
 * Whether a server answered in a way that shows that it does not take a question, such as a token.
 * Then the whole collection is looked at.
 */
export function isRefusal(error: unknown): boolean {
  if (error instanceof XmlRefused) return true
  return error instanceof StatusFailure && !OTHER_REFUSALS.has(error.status)
}

function large(
  method: Question['method'],
  url: URL,
  body: string,
  signal: AbortSignal | undefined,
): Omit<Question, 'depth'> {
  return {
    method,
    url,
    body,
    signal,
    // One is about the collection itself.
    responsesMax: MEMBERS_MAX + 1,
    answerBytesMax: LISTING_BYTES_MAX,
    wholeSeconds: LISTING_SECONDS,
  }
}
