import type { Told } from './ask.ts'
import type { DavClient } from './client.ts'
import { type CollectionKind, findCollection, findCollections, isReadOnly, nameOf } from './collections.ts'
import { hasElement, propText } from './multistatus.ts'
import { CARD, CTAG, D, propfindBody } from './names.ts'

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
const BOOKS: CollectionKind<AddressBook> = {
  noun: 'address books',
  props: propfindBody([...PROPS_TO_WRITE, D.syncToken, CTAG]),
  read: bookOf,
}

/** The address books of a home, as `findCollections` finds them. */
export function findBooks(client: DavClient, home: URL, signal?: AbortSignal): Promise<AddressBook[]> {
  return findCollections(client, home, BOOKS, signal)
}

/** One address book. Throws `not_found` if the path is none. */
export function findBook(
  client: DavClient,
  home: URL,
  path: string,
  signal?: AbortSignal,
): Promise<AddressBook> {
  return findCollection(client, home, BOOKS, { path, signal })
}

/** The same without its token and its tag, for which some servers read all cards of the book. */
export function findBookToWrite(
  client: DavClient,
  home: URL,
  path: string,
): Promise<Omit<AddressBook, 'syncToken' | 'ctag'>> {
  return findCollection(client, home, { ...BOOKS, props: propfindBody(PROPS_TO_WRITE) }, { path })
}

function bookOf(told: Told, path: string): AddressBook | null {
  if (!hasElement(told, D.resourcetype, CARD.addressbook)) return null
  return {
    path,
    name: nameOf(told, path),
    isReadOnly: isReadOnly(told),
    syncToken: propText(told, D.syncToken),
    ctag: propText(told, CTAG),
    vcard: takesVersion3(told) ? '3.0' : '4.0',
  }
}

/** Every address book takes version 3 (RFC 6352 section 5.1), unless it lists others only. */
function takesVersion3({ props }: Told): boolean {
  const types = props.get(CARD.supportedData)?.children.filter(({ name }) => name === CARD.dataType) ?? []
  const versions = types.map(({ attributes }) => attributes['version'])
  return !versions.includes('4.0') || versions.some(version => version !== '4.0')
}
