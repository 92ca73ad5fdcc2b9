import type { Random } from '../world/random.ts'
import { LAG_SECONDS_MAX } from './settings.ts'

/** One value of a field, such as an address with its type. */
export type Item = Readonly<Record<string, unknown>>
/** The fields of a contact as its owner wrote them, without metadata. */
export type Contents = Readonly<Record<string, readonly Item[]>>

export interface ContactPhoto {
  /** The end of its URL, another one for each photo. */
  token: string
  contentType: string
  bytes: Buffer
}

/** A contact as it is after one change. */
export interface Contact {
  /** Such as `people/c2601577088583239757`. */
  resourceName: string
  /** Id of the contact within its source, which the contact keeps under any name. */
  sourceId: string
  contents: Contents
  photo: ContactPhoto | null
  /** Resource names that it had before. */
  formerNames: readonly string[]
  deleted: boolean
  /** Counts the changes of the book; the last one of this contact. */
  sequence: number
  /** Milliseconds since 1970. */
  changedAt: number
}

/** The contacts of one user. */
export interface Book {
  readonly email: string
  readonly now: () => number
  readonly random: Random
  /** States of each contact, by resource name, the newest last. Older ones are what syncs still see. */
  readonly states: Map<string, Contact[]>
  /** Photos by the end of their URLs. */
  readonly photos: Map<string, ContactPhoto>
  sequence: number
  /** Sync tokens of earlier generations have expired. */
  generation: number
}

export const newBook = (email: string, now: () => number, random: Random): Book => ({
  email,
  now,
  random,
  states: new Map(),
  photos: new Map(),
  sequence: 0,
  generation: 0,
})

/** The contact as it is now; null if there is none. */
export function findContact(book: Book, resourceName: string): Contact | null {
  const latest = book.states.get(resourceName)?.at(-1)
  return latest && !latest.deleted ? latest : null
}

/** All contacts as they are now. */
export function contactsOf(book: Book): Contact[] {
  return [...book.states.keys()].flatMap(name => findContact(book, name) ?? [])
}

/** The contacts as syncs see them, deleted ones among them: changes of the last seconds are not there yet. */
export function contactsBefore(book: Book, lagSeconds: number): Contact[] {
  const until = book.now() - lagSeconds * 1_000
  return [...book.states.values()].flatMap(
    states => states.findLast(({ changedAt }) => changedAt <= until) ?? [],
  )
}

export function addContact(book: Book, contents: Contents, given: Partial<Contact> = {}): Contact {
  const id = BigInt(`0x7${book.random.hex(14)}`)
  return record(book, {
    resourceName: `people/c${id}`,
    sourceId: id.toString(16),
    contents,
    photo: null,
    formerNames: [],
    deleted: false,
    ...given,
  })
}

/** Replaces the fields that are given. */
export function changeContact(book: Book, contact: Contact, contents: Contents): Contact {
  return record(book, { ...contact, contents: { ...contact.contents, ...contents } })
}

export function removeContact(book: Book, contact: Contact): void {
  record(book, { ...contact, contents: {}, photo: null, deleted: true })
}

export function setPhoto(book: Book, contact: Contact, photo: Omit<ContactPhoto, 'token'> | null): Contact {
  const stored = photo && { ...photo, token: `ABc${book.random.letters(40)}` }
  if (stored) book.photos.set(stored.token, stored)
  return record(book, { ...contact, photo: stored })
}

/** Puts several contacts together under a new name, or gives one contact another name. Singular fields are the first's. */
export function mergeContacts(
  book: Book,
  [first, ...others]: readonly [Contact, ...Contact[]],
  isSingular: (field: string) => boolean,
): Contact {
  const merged: Record<string, readonly Item[]> = { ...first.contents }
  for (const { contents } of others)
    for (const [field, items] of Object.entries(contents))
      if (!isSingular(field)) merged[field] = [...(merged[field] ?? []), ...items]
      else merged[field] ??= items
  const all = [first, ...others]
  for (const contact of all) removeContact(book, contact)
  return addContact(book, merged, {
    sourceId: first.sourceId,
    photo: first.photo,
    formerNames: all.flatMap(({ resourceName, formerNames }) => [resourceName, ...formerNames]),
  })
}

function record(book: Book, given: Omit<Contact, 'sequence' | 'changedAt'>): Contact {
  book.sequence += 1
  const contact = { ...given, sequence: book.sequence, changedAt: book.now() }
  const states = book.states.get(contact.resourceName) ?? []
  const seen = states.findLastIndex(({ changedAt }) => changedAt < book.now() - LAG_SECONDS_MAX * 1_000)
  book.states.set(contact.resourceName, [...states.slice(Math.max(0, seen)), contact])
  return contact
}
