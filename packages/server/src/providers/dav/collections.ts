import { ProviderFailure } from '../failure.ts'
import { ask, askAll, type Told } from './ask.ts'
import type { DavClient } from './client.ts'
import { canonicalPath, isWithin, pathOf, urlOf } from './hrefs.ts'
import { hasElement, propText } from './multistatus.ts'
import { D, DAV } from './names.ts'

/* The collections of a home: address books or calendars. */

/** How collections of one kind are asked for. */
export interface CollectionKind<T> {
  /** In the plural, for messages. */
  noun: string
  /** The body of the PROPFIND. */
  props: string
  /** The collection that a response describes; null if it is of another kind. */
  read(told: Told, path: string): T | null
}

const COLLECTIONS_MAX = 500
const RESPONSES_MAX = 10_000
const NAME_CHARACTERS_MAX = 256
/** Any of these lets a user change the files of a collection (RFC 3744 section 3). */
const WRITING = new Set(['all', 'write', 'write-content', 'bind'].map(name => `${DAV} ${name}`))

/**
 * The collections of a home by their paths, in the order of the server. A home may be a collection itself. A home that
 * shows none is asked twice. Throws `unavailable` if the answer is not about the home, or incomplete.
 */
export async function findCollections<T>(
  client: DavClient,
  home: URL,
  kind: CollectionKind<T>,
  signal?: AbortSignal,
): Promise<T[]> {
  const found = await askForCollections(client, home, kind, signal)
  return found.length > 0 ? found : askForCollections(client, home, kind, signal)
}

async function askForCollections<T>(
  client: DavClient,
  home: URL,
  kind: CollectionKind<T>,
  signal: AbortSignal | undefined,
): Promise<T[]> {
  const homePath = canonicalPath(home.pathname)
  const found = new Map<string, T>()
  let [isOfHome, isWhole] = [false, true]
  const question = {
    method: 'PROPFIND',
    url: home,
    depth: '1',
    body: kind.props,
    responsesMax: RESPONSES_MAX,
    signal,
  } as const
  for await (const some of ask(client, question)) {
    for (const told of some) {
      if (told.status === 507) isWhole = false
      if (told.paths.includes(homePath)) {
        isOfHome = true
        // The next answer may show more.
        if (hasElement(told, D.principal, D.unauthenticated) && client.insistOnLogin(home)) return []
      }
      const path = told.paths.find(one => isWithin(one, homePath))
      const collection = path === undefined ? null : kind.read(told, path)
      if (path === undefined || !collection) continue
      // The others are its files.
      if (path === homePath) return [collection]
      if (found.size < COLLECTIONS_MAX) found.set(path, collection)
    }
  }
  if (isOfHome && isWhole) return [...found.values()]
  throw new ProviderFailure('unavailable', `The server does not list the ${kind.noun} of the account.`)
}

/** One collection. Throws `not_found` if the path is none of this kind. */
export async function findCollection<T>(
  client: DavClient,
  home: URL,
  kind: CollectionKind<T>,
  { path, signal }: { path: string; signal?: AbortSignal | undefined },
): Promise<T> {
  const url = urlOf(requireWithin(path, home), home, true)
  const { told } = await askAll(client, { method: 'PROPFIND', url, depth: '0', body: kind.props, signal })
  for (const one of told) {
    const collection = one.paths.includes(path) ? kind.read(one, path) : null
    if (collection) return collection
  }
  throw new ProviderFailure('not_found', `The server no longer has it among the ${kind.noun} of the account.`)
}

/** Returns the path of a collection or file. Throws `not_found` if it is outside the home: it is another user's then. */
export function requireWithin(path: string, home: URL): string {
  if (isWithin(path, canonicalPath(home.pathname)) && path === pathOf(path, home)) return path
  throw new ProviderFailure('not_found', 'This does not belong to the account.')
}

/** The display name of a collection, else the last segment of its path. */
export function nameOf(told: Told, path: string): string {
  return (propText(told, D.displayname) ?? lastSegment(path)).slice(0, NAME_CHARACTERS_MAX)
}

function lastSegment(path: string): string {
  const segment = path.slice(path.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Servers that do not report privileges let us find out by writing. */
export function isReadOnly(told: Told): boolean {
  const privileges = privilegesOf(told)
  return privileges !== null && ![...privileges].some(name => WRITING.has(name))
}

/** The privileges that the user has; null if the server does not report them. */
export function privilegesOf({ props }: Told): ReadonlySet<string> | null {
  const privileges = props.get(D.privileges)?.children
  return privileges ? new Set(privileges.flatMap(({ children }) => children.map(({ name }) => name))) : null
}
