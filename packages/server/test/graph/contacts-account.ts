import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { readContacts, waitForContacts } from '../contacts/carddav-account.ts'
import { readFeed } from '../sync/followed-account.ts'
import { addOfficeUser, connectUser, OWN_SCOPES } from './delegates.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import type { GraphApp } from './open-graph-app.ts'

export const CONTACT_SCOPES = [...OWN_SCOPES, 'Contacts.ReadWrite']

/** An account whose contacts are followed, beside another client of the same mailbox. */
export interface ContactsAccount {
  id: string
  email: string
  /** The path of its contacts. */
  path: string
  client: GraphClient
  contacts(): Promise<Contact[]>
  /** The types of the events of contacts, with the names in them. */
  events(): Promise<string[]>
  lookAgain(): Promise<unknown>
}

/** Connects a new user of Microsoft by a refresh token, and waits for the first sync of the contacts. */
export async function connectContacts(
  { app, sandbox }: GraphApp,
  {
    arrange = async () => {},
    cloud = 'global',
  }: { arrange?(client: GraphClient): Promise<unknown>; cloud?: Cloud } = {},
): Promise<ContactsAccount> {
  const email = await addOfficeUser(sandbox, { name: 'contacts', cloud })
  const client = await openGraphClient(sandbox, email, { cloud, host: CLOUDS[cloud].graph })
  await arrange(client)
  const { id } = await connectUser(app, sandbox, email, {
    scopes: CONTACT_SCOPES,
    cloud,
    settings: { contactsEnabled: true, sharedMailboxesEnabled: false },
  })
  await waitForContacts(app, id)
  return followedContacts(app, { id, email, client })
}

/** The contacts of a connected account. */
export function followedContacts(
  app: GraphApp['app'],
  { id, email, client }: Pick<ContactsAccount, 'id' | 'email' | 'client'>,
): ContactsAccount {
  return {
    id,
    email,
    path: `/v1/accounts/${id}/contacts`,
    client,
    contacts: () => readContacts(app, id),
    async events() {
      const { events } = await readFeed(app)
      return events.flatMap(event => {
        if (event.accountId !== id || !event.type.startsWith('contact')) return []
        const { contact } = event.data as { contact?: Contact }
        return [`${event.type} ${contact?.displayName ?? ''}`.trim()]
      })
    },
    lookAgain: () => app.post(`/v1/accounts/${id}/sync`, { kinds: ['contacts'] }),
  }
}
