import type { Contact } from '../../mailbox/contact.ts'
import { TEXT_LISTS, TEXTS } from '../../mailbox/contact.ts'
import { withPropertyIds } from '../extended.ts'
import { type Filter, type FilterSubject, parseFilter, type Value } from '../odata/filter.ts'

type Kind = NonNullable<ReturnType<FilterSubject<Contact>['kindOf']>>

/** Properties that a filter can compare, and by which contacts can be ordered. */
const VALUES: ReadonlyMap<string, readonly [Kind, (contact: Contact) => Value]> = new Map([
  ...TEXTS.map((name): [string, [Kind, (contact: Contact) => Value]] => [
    name.toLowerCase(),
    ['text', contact => contact[name]],
  ]),
  ['id', ['text', contact => contact.id]],
  ['changekey', ['text', contact => contact.changeKey]],
  ['parentfolderid', ['text', contact => contact.folder.id]],
  ['birthday', ['time', contact => contact.birthday]],
  ['createddatetime', ['time', contact => contact.createdAt]],
  ['lastmodifieddatetime', ['time', contact => contact.modifiedAt]],
])

const COLLECTIONS: Readonly<Record<string, (contact: Contact) => readonly unknown[]>> = {
  emailaddresses: contact => contact.emailAddresses,
  singlevalueextendedproperties: contact => [...contact.extended].map(([id, value]) => ({ id, value })),
  ...Object.fromEntries(
    Object.keys(TEXT_LISTS).map(name => [
      name.toLowerCase(),
      // The names are those of the table.
      (contact: Contact) => contact[name as keyof typeof TEXT_LISTS],
    ]),
  ),
}

const nameOf = (path: readonly string[]): string => path.join('/').toLowerCase()

const SUBJECT: FilterSubject<Contact> = {
  reader: path => VALUES.get(nameOf(path))?.[1] ?? (() => null),
  lister: path => COLLECTIONS[nameOf(path)] ?? (() => []),
  kindOf: path => VALUES.get(nameOf(path))?.[0] ?? (nameOf(path) in COLLECTIONS ? 'collection' : null),
}

export const contactFilter = (text: string): Filter<Contact> => parseFilter(withPropertyIds(text), SUBJECT)

export const isContactOrder = (property: string): boolean =>
  VALUES.has(property) && property !== 'personalnotes'

export const contactReader = SUBJECT.reader
