import { Hono } from 'hono'
import type { GoogleGround } from '../google/ground.ts'
import type { HostApp, HostEnv } from '../hosting/host-app.ts'
import { InvalidInput, parseInput } from '../world/invalid-input.ts'
import type { User } from '../world/users.ts'
import { serveMethod } from './api/serve.ts'
import {
  addContact,
  type Book,
  changeContact,
  type Contact,
  type ContactPhoto,
  contactsOf,
  findContact,
  mergeContacts,
  newBook,
  removeContact,
  setPhoto,
} from './book.ts'
import { fillBook } from './fill.ts'
import { READABLE, SINGLETONS } from './person-fields.ts'
import { presentPerson, storedContents } from './person.ts'
import { photosHost } from './photos-host.ts'
import { openQuota } from './quota.ts'
import { DEFAULT_SETTINGS, type PeopleSettings, SettingsSchema } from './settings.ts'

/** Fields of a contact as a client writes them. */
export type WrittenFields = Readonly<Partial<Record<string, ReadonlyArray<Record<string, unknown>>>>>

/** The contacts of all users of Google. Calls in place of another client throw `InvalidInput` for an absent contact. */
export interface People {
  /** Answers people.googleapis.com. */
  readonly app: HostApp
  /** Answers lh3.googleusercontent.com. */
  readonly photos: HostApp
  /** Makes the contacts of a user, who begins with some of the persons that write mail if there is mail. */
  addUser(user: User, messages: number): void
  /** All contacts of a user as they are now. */
  list(user: User): object[]
  add(user: User, contacts: readonly WrittenFields[]): object[]
  change(user: User, resourceName: string, fields: WrittenFields): object
  remove(user: User, resourceName: string): void
  /** Puts contacts together under a new name; one alone is only renamed. */
  merge(user: User, resourceNames: readonly string[]): object
  setPhoto(user: User, resourceName: string, photo: Omit<ContactPhoto, 'token'> | null): object
  /** Makes every sync token of before now too old, for one user or all. */
  expire(user: User | null): void
  /** Changes how the API behaves; returns the settings. Throws `InvalidInput` for settings that are wrong. */
  configure(settings: unknown): PeopleSettings
}

const ALL_FIELDS = [...READABLE]

export function openPeople({ accounts, clock, random }: GoogleGround): People {
  const settings: PeopleSettings = { ...DEFAULT_SETTINGS }
  const books = new Map<string, Book>()
  const parts = { accounts, settings, books, quota: openQuota(settings, clock.now) }
  const app: HostApp = new Hono<HostEnv>()
  app.all('/v1/*', ({ req, env }) => serveMethod(parts, req.raw, env.call))
  const present = (contact: Contact) => presentPerson(contact, ALL_FIELDS)
  return {
    app,
    photos: photosHost(token => {
      for (const { photos } of books.values()) {
        const photo = photos.get(token)
        if (photo) return photo
      }
      return null
    }),
    addUser(user, messages) {
      const book = newBook(user.email, clock.now, random.stream(`contacts of ${user.email}`))
      books.set(user.email, book)
      if (messages > 0) fillBook(book)
    },
    list: user => contactsOf(requireBook(books, user)).map(present),
    add: (user, contacts) =>
      contacts.map(fields => present(addContact(requireBook(books, user), storedContents(fields)))),
    change(user, resourceName, fields) {
      const { book, contact } = requireContact(books, user, resourceName)
      return present(changeContact(book, contact, storedContents(fields)))
    },
    remove(user, resourceName) {
      const { book, contact } = requireContact(books, user, resourceName)
      removeContact(book, contact)
    },
    merge(user, [first = '', ...names]) {
      const { book, contact } = requireContact(books, user, first)
      const others = names.map(name => requireContact(books, user, name).contact)
      const singular: readonly string[] = SINGLETONS
      return present(mergeContacts(book, [contact, ...others], field => singular.includes(field)))
    },
    setPhoto(user, resourceName, photo) {
      const { book, contact } = requireContact(books, user, resourceName)
      return present(setPhoto(book, contact, photo))
    },
    expire(user) {
      for (const book of user ? [requireBook(books, user)] : books.values()) book.generation += 1
    },
    configure: given => ({ ...Object.assign(settings, parseInput(SettingsSchema, given)) }),
  }
}

function requireBook(books: ReadonlyMap<string, Book>, user: User): Book {
  const book = books.get(user.email)
  if (!book) throw new InvalidInput(`${user.email} has no contacts.`)
  return book
}

function requireContact(books: ReadonlyMap<string, Book>, user: User, resourceName: string) {
  const book = requireBook(books, user)
  const contact = findContact(book, resourceName)
  if (!contact) throw new InvalidInput(`${user.email} has no contact ${resourceName}.`)
  return { book, contact }
}
