import { PEOPLE } from '../../mail/words.ts'
import { addContact, addContactFolder } from './contacts.ts'
import type { Mailbox } from './mailbox.ts'

const DAY_MS = 24 * 3600 * 1000

/** Adds the people who write to the mailbox as contacts, some of them in a folder of their own. */
export function fillContacts(mailbox: Mailbox, now: number): void {
  const { main } = mailbox.contacts
  const friends = addContactFolder(mailbox, main, 'Friends')
  const named = PEOPLE.filter(({ name }) => name !== '')
  for (const [index, { name, email }] of named.entries()) {
    const [givenName = '', ...rest] = name.split(' ')
    const fields = {
      displayName: name,
      givenName,
      surname: rest.join(' ') || null,
      emailAddresses: [{ name, address: email }],
      ...(index % 2 === 0 && { mobilePhone: `+1 555 01${String(index).padStart(2, '0')}` }),
      ...(index % 3 === 0 && { companyName: 'Example & Sons', jobTitle: 'Engineer' }),
      ...(index % 4 === 0 && { birthday: Date.UTC(1980 + index, index, 10 + index, 11, 59) }),
    }
    addContact(mailbox, index % 3 === 2 ? friends : main, fields, now - (named.length - index) * DAY_MS)
  }
}
