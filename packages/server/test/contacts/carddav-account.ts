import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import type { Caller } from '../caller.ts'
import { waitUntil } from '../wait-until.ts'

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
