import type { Contact, ContactFields } from '../../../sandbox/src/microsoft/mailbox/contact.ts'
import {
  addContact,
  addContactFolder,
  changeContact,
  removeContact,
} from '../../../sandbox/src/microsoft/mailbox/contacts.ts'
import type { ContactsArrangement } from '../../src/providers/conformance/contacts.ts'
import type { Cursor } from '../../src/providers/mail.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import type { GraphServer } from './graph-server.ts'

const UNKNOWN_ID = 'AAMkAGI2NGVhZTVlLTI1OGMtNDI4Yg=='

/** The contacts of a mailbox of the sandbox's Graph, in which the test makes the changes of other clients. */
export function arrangeContacts(server: GraphServer, cloud: Cloud = 'global') {
  const { email, mailbox } = server.addUser(cloud)
  const contact = (key: string): Contact => {
    const found = mailbox.contacts.byId.get(key)
    if (!found) throw new Error(`There is no contact ${key}`)
    return found
  }
  return {
    email,
    mailbox,
    contact,
    world: {
      add: async contacts =>
        contacts.map(({ givenName, familyName, email: address, photo }) => {
          const fields: Partial<ContactFields> = {
            givenName,
            surname: familyName,
            emailAddresses: [{ name: address, address }],
          }
          const added = addContact(mailbox, mailbox.contacts.main, fields)
          if (photo) changeContact(mailbox, added, { photo: { contentType: 'image/png', bytes: photo } })
          return added.immutableId
        }),
      rename: async (key, { givenName, familyName }) =>
        changeContact(mailbox, contact(key), { givenName, surname: familyName }),
      remove: async key => removeContact(mailbox, contact(key)),
      async addFolder() {
        addContactFolder(mailbox, mailbox.contacts.main, 'More & more')
        return 'More & more'
      },
    },
    connect: async () => server.connect(email),
    spoil: (cursor: Cursor): Cursor => {
      const { link } = cursor
      return typeof link === 'string'
        ? { ...cursor, link: link.replace(/deltatoken=.*/, 'deltatoken=spoiled') }
        : { ...cursor, mark: 'spoiled' }
    },
    unknownKey: UNKNOWN_ID,
    contactsOfSteps: 650,
    async [Symbol.asyncDispose]() {
      server.intercept = null
    },
  } satisfies ContactsArrangement & Record<string, unknown>
}
