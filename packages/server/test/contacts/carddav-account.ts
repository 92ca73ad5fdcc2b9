import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { Caller } from '../caller.ts'
import type { DavTestServer, DavTestUser } from '../servers/dav-test-server.ts'
import type { MailServer, TestUser } from '../servers/mail-server.ts'
import { waitUntil } from '../wait-until.ts'

/** The body that connects a mailbox together with the contacts of a DAV server. */
export function connectionWithDav(
  { host, port }: Pick<MailServer, 'host' | 'port'>,
  user: TestUser,
  { dav, davUser }: { dav: DavTestServer; davUser: DavTestUser },
): Record<string, unknown> {
  return {
    email: user.email,
    password: user.password,
    imap: { host, port, security: 'none', user: user.user },
    smtp: null,
    dav: { contactsUrl: dav.url.href, calendarUrl: null, user: davUser.user, password: davUser.password },
  }
}

export function waitForContacts(caller: Caller, accountId: string): Promise<Account> {
  return waitUntil('the first sync of contacts', async () => {
    const { body } = await caller.get<Account>(`/v1/accounts/${accountId}`)
    return body.contactsInitializedAt === null ? null : body
  })
}

export async function readContacts(caller: Caller, accountId: string): Promise<Contact[]> {
  const { body } = await caller.get<{ items: Contact[] }>(`/v1/accounts/${accountId}/contacts?limit=500`)
  return body.items
}

/** Waits until the contacts of the index have these display names, in their order. */
export function waitForNames(
  caller: Caller,
  accountId: string,
  names: ReadonlyArray<string | null>,
): Promise<Contact[]> {
  return waitUntil(`the contacts ${names.join(', ')}`, async () => {
    const contacts = await readContacts(caller, accountId)
    return contacts.map(({ displayName }) => displayName).join('\n') === names.join('\n') ? contacts : null
  })
}
