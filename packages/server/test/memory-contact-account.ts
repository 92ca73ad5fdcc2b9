import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import type { ClaimedAccount, OwnedAccount } from '../src/accounts/halves/ownership.ts'
import { takeWanted } from '../src/accounts/halves/wanted.ts'
import type { Db } from '../src/database/pool.ts'
import { type ContactRow, contactColumns } from '../src/features/contacts/contacts/contact-row.ts'
import { presentContact } from '../src/features/contacts/contacts/present.ts'
import { runPass } from '../src/features/contacts/following/pass.ts'
import type { Session } from '../src/features/contacts/following/session.ts'
import type { ContactsProvider } from '../src/providers/contacts.ts'
import { Doubts } from '../src/sync/doubts.ts'
import { addHalf } from './halves.ts'
import { ownAccount } from './memory-account.ts'

/** An account whose contacts are followed as well, owned by an instance that this test plays. */
export async function ownContacts(db: Db): Promise<ClaimedAccount> {
  const owned = await ownAccount(db)
  await addHalf(db, owned.id, 'contacts', [])
  return owned
}

export async function openContactSession(
  db: Db,
  owned: OwnedAccount,
  provider: ContactsProvider,
  doubts = new Doubts(),
): Promise<Session> {
  const { isInitialized } = await takeWanted(db, owned, 'contacts')
  return {
    db,
    owned,
    provider,
    isInitialized,
    isAsked: true,
    signal: new AbortController().signal,
    progressed: () => undefined,
    allow: () => undefined,
    doubts,
  }
}

/** Makes one pass, as the follower does. */
export async function passContacts(
  db: Db,
  owned: OwnedAccount,
  provider: ContactsProvider,
  doubts?: Doubts,
): Promise<{ hasMore: boolean }> {
  return runPass(await openContactSession(db, owned, provider, doubts), {
    acquireBulkPermit: () => Promise.resolve({ isWanted: false, [Symbol.dispose]() {} }),
    onRead: () => Promise.resolve(),
    onDiffering: () => undefined,
  })
}

export async function readContacts(db: Db): Promise<Array<Contact & { key: string; folderKey: string }>> {
  const { rows } = await sql<ContactRow & { folder_key: string }>`
    select ${contactColumns}, (select provider_key from contact_folder where id = folder_id) as folder_key
    from contact order by provider_key
  `.execute(db)
  return rows.map(row => ({ ...presentContact(row), key: row.provider_key, folderKey: row.folder_key }))
}

export interface ContactEvent {
  type: string
  data: { contact?: Contact; changes?: string[]; folders?: number; contacts?: number }
}

export async function readContactFeed(db: Db): Promise<ContactEvent[]> {
  const { rows } = await sql<ContactEvent>`
    select type, data from event where type like 'contact%' order by id
  `.execute(db)
  return rows
}
