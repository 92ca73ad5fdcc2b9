import { ProviderFailure } from '../failure.ts'
import { askAll, ask, type Told } from './ask.ts'
import type { DavClient } from './client.ts'
import { canonicalPath, isWithin, pathOf, urlOf } from './hrefs.ts'
import { hasElement, propText } from './multistatus.ts'
import { CARD, CTAG, D, DAV, propfindBody } from './names.ts'

/** An address book as its server describes it now. */
export interface AddressBook {
  /** The canonical path, which is the key of the folder. */
  path: string
  name: string
  isReadOnly: boolean
  syncToken: string | null
  ctag: string | null
  /** The version of vCard in which it takes new cards. */
  vcard: '3.0' | '4.0'
}

const PROPS_TO_WRITE = [D.resourcetype, D.displayname, D.privileges, D.principal, CARD.supportedData]
const PROPS = propfindBody([...PROPS_TO_WRITE, D.syncToken, CTAG])
const BOOKS_MAX = 500
const NAME_CHARACTERS_MAX = 256
/** Any of these lets a user change the cards of a book (RFC 3744 section 3). */
const WRITING = new Set(['all', 'write', 'write-content', 'bind'].map(name => `${DAV} ${name}`))

/**
 * The address books of a home, in the order of the server. A home may be an address book itself. A home that
 * shows no books is asked twice. Throws `unavailable` if the answer is not about the home, or incomplete.
 */
export async function findBooks(client: DavClient, home: URL, signal?: AbortSignal): Promise<AddressBook[]> {
  const books = await askForBooks(client, home, signal)
  return books.length > 0 ? books : askForBooks(client, home, signal)
}

async function askForBooks(client: DavClient, home: URL, signal?: AbortSignal): Promise<AddressBook[]> {
  const homePath = canonicalPath(home.pathname)
  const books = new Map<string, AddressBook>()
  let [isOfHome, isWhole] = [false, true]
  const question = {
    method: 'PROPFIND',
    url: home,
    depth: '1',
    body: PROPS,
    responsesMax: 10_000,
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
      const book = bookOf(told, homePath)
      if (!book) continue
      // The others are its cards.
      if (book.path === homePath) return [book]
      if (books.size < BOOKS_MAX) books.set(book.path, book)
    }
  }
  if (isOfHome && isWhole) return [...books.values()]
  throw new ProviderFailure('unavailable', 'The server does not list the address books of the account.')
}

/** One address book. Throws `not_found` if the path is none. */
export function findBook(
  client: DavClient,
  home: URL,
  path: string,
  signal?: AbortSignal,
): Promise<AddressBook> {
  return askForBook(client, home, { path, body: PROPS, signal })
}

/** The same without its token and its tag, for which some servers read all cards of the book. */
export function findBookToWrite(
  client: DavClient,
  home: URL,
  path: string,
): Promise<Omit<AddressBook, 'syncToken' | 'ctag'>> {
  return askForBook(client, home, { path, body: propfindBody(PROPS_TO_WRITE) })
}

async function askForBook(
  client: DavClient,
  home: URL,
  { path, ...asked }: { path: string; body: string; signal?: AbortSignal | undefined },
): Promise<AddressBook> {
  const url = urlOf(requireWithin(path, home), home, true)
  const { told } = await askAll(client, { method: 'PROPFIND', url, depth: '0', ...asked })
  const book = told.map(one => bookOf(one, path)).find(one => one?.path === path)
  if (!book) throw new ProviderFailure('not_found', 'The server no longer has this address book.')
  return book
}

/** Returns the path of a book or card. Throws `not_found` if it is outside the home: it is another user's then. */
export function requireWithin(path: string, home: URL): string {
  if (isWithin(path, canonicalPath(home.pathname)) && path === pathOf(path, home)) return path
  throw new ProviderFailure('not_found', 'This is not an address book or a card of the account.')
}

function bookOf(told: Told, homePath: string): AddressBook | null {
  const path = told.paths.find(one => isWithin(one, homePath))
  if (path === undefined || !hasElement(told, D.resourcetype, CARD.addressbook)) return null
  return {
    path,
    name: (propText(told, D.displayname) ?? lastSegment(path)).slice(0, NAME_CHARACTERS_MAX),
    isReadOnly: isReadOnly(told),
    syncToken: propText(told, D.syncToken),
    ctag: propText(told, CTAG),
    vcard: takesVersion3(told) ? '3.0' : '4.0',
  }
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
function isReadOnly({ props }: Told): boolean {
  const privileges = props.get(D.privileges)?.children
  if (!privileges) return false
  return !privileges.some(({ children }) => children.some(({ name }) => WRITING.has(name)))
}

/** Every address book takes version 3 (RFC 6352 section 5.1), unless it lists others only. */
function takesVersion3({ props }: Told): boolean {
  const types = props.get(CARD.supportedData)?.children.filter(({ name }) => name === CARD.dataType) ?? []
  const versions = types.map(({ attributes }) => attributes['version'])
  return !versions.includes('4.0') || versions.some(version => version !== '4.0')
}
