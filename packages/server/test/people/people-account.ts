import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { waitForContacts } from '../contacts/carddav-account.ts'
import { SCOPES } from '../gmail/gmail-client.ts'
import { type GmailApp, openGmailApp } from '../gmail/open-gmail-app.ts'
import type { TestAppOptions } from '../open-app.ts'
import { readFeed } from '../sync/followed-account.ts'
import { CONTACTS_SCOPE } from './arrange-people.ts'
import { configurePeople, type OtherClient, otherClient, type Person } from './other-client.ts'

/** The service with all roles, and a sandbox whose People API has no quotas. */
export async function openPeopleApp(options?: TestAppOptions): Promise<GmailApp> {
  const opened = await openGmailApp(options)
  await configurePeople(opened.sandbox, { quota: 'off' })
  return opened
}

/** An account with the contacts of a Google user, beside another client of them. */
export interface PeopleAccount {
  account: Account
  email: string
  client: OtherClient
  /** Contacts that the user had before. */
  before: Person[]
  /** The path of the contacts. */
  path: string
  look(): Promise<unknown>
}

let users = 0

/** Connects a user of the sandbox by a refresh token, and waits for the first sync of contacts. */
export async function connectPeople(
  { app, sandbox }: GmailApp,
  contacts: readonly Person[] = [],
  scopes: readonly string[] = [CONTACTS_SCOPE],
): Promise<PeopleAccount> {
  const email = `contacts-${++users}@gmail.test`
  await sandbox.addUser(email)
  const client = otherClient(sandbox, email)
  const before = contacts.length > 0 ? await client.add(...contacts) : []
  const { refreshToken } = await sandbox.grant(email, ['openid', 'email', 'profile', ...SCOPES, ...scopes])
  const { status, body } = await app.post<Account>('/v1/accounts', {
    provider: 'google',
    refreshToken,
    settings: { contactsEnabled: true },
  })
  if (status !== 200) throw new Error(`could not connect: ${JSON.stringify(body)}`)
  const account = await waitForContacts(app, body.id)
  const path = `/v1/accounts/${body.id}`
  return {
    account,
    email,
    client,
    before,
    path: `${path}/contacts`,
    look: () => app.post(`${path}/sync`, { kinds: ['contacts'] }),
  }
}

/** The events of the contacts of an account, with the names in them. */
export async function contactEventsOf({ app }: Pick<GmailApp, 'app'>, accountId: string): Promise<string[]> {
  const { events } = await readFeed(app)
  return events.flatMap(event => {
    if (event.accountId !== accountId || !event.type.startsWith('contact')) return []
    const { contact } = event.data as { contact?: Contact }
    return [`${event.type} ${contact?.displayName ?? ''}`.trim()]
  })
}
