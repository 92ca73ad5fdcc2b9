import type { ContactsStep } from '../../contacts.ts'
import type { ReadContacts } from './reading.ts'

export type Steps<T> = AsyncGenerator<ContactsStep, T, void>

/** Contacts that are read for one step. */
export const READ_AT_ONCE = 50

/** Steps without a cursor: their page is read again if following is broken off. */
export function* stepsOf({ contacts, unreadable, gone }: ReadContacts): Generator<ContactsStep, void, void> {
  if (gone.length > 0) yield { type: 'gone', keys: gone }
  if (contacts.length + unreadable.length > 0)
    yield { type: 'contacts', contacts, unreadable, remaining: null }
}
