import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { AccountSettings } from '@waxwing/contract/accounts/account-settings.ts'
import { sql } from 'kysely'
import type { OwnedAccount } from '../src/accounts/halves/ownership.ts'
import { claimAccounts } from '../src/accounts/halves/ownership.ts'
import { accountKeys } from '../src/accounts/secrets.ts'
import { SharedConnections } from '../src/connections/shared-connections.ts'
import type { Database } from '../src/database/pool.ts'
import { contactChangeOperations } from '../src/features/contacts/contacts/change-operations.ts'
import { contactOperations } from '../src/features/contacts/contacts/operations.ts'
import { contactFolderOperations } from '../src/features/contacts/folders/operations.ts'
import { photoOperations } from '../src/features/contacts/photos/operations.ts'
import { openBlobStore } from '../src/kit/blobs/blob-store.ts'
import { openFolderObjects } from '../src/kit/blobs/folder-objects.ts'
import { openFairSemaphore } from '../src/kit/fair-semaphore.ts'
import { newId } from '../src/kit/ids.ts'
import { environmentKeyRing } from '../src/kit/key-ring.ts'
import { silentLog } from '../src/kit/log.ts'
import { callerOf } from './caller.ts'
import { addHalf, matchHalves } from './halves.ts'
import { passContacts } from './memory-contact-account.ts'
import { type BooksKind, MemoryBooks } from './memory-contacts.ts'
import { openTestDoor } from './open-door.ts'
import { sampleAccount } from './sample-rows.ts'

const PERMIT = { isWanted: false, onWanted() {}, [Symbol.dispose]() {} }
const DAV = { calendarUrl: null, contactsUrl: 'https://dav.example.com/', user: 'ada', auth: 'imap_password' }

/** The operations of contacts behind a front door, over providers in memory. */
export async function openContactDoor(database: Database) {
  await using opened = new AsyncDisposableStack()
  const { db } = database
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-photos-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const blobs = openBlobStore(openFolderObjects(folder))
  const keys = accountKeys(environmentKeyRing(randomBytes(32).toString('base64')))
  const books = new Map<string, MemoryBooks>()
  const connections = opened.use(
    new SharedConnections({
      connectorOf:
        ({ id }) =>
        async () => ({
          version: '1',
          host: 'books.test',
          syncWindowDays: null,
          isOneAtATime: false,
          acquire: async () => PERMIT,
          connect: async () => ({
            contacts: books.get(id)!.connect(),
            [Symbol.asyncDispose]: async () => {},
          }),
        }),
      endpointOf: () => 'contacts',
    }),
  )
  const photos = { db, blobs, accountKeys: keys, connections, log: silentLog }
  const door = opened.use(
    await openTestDoor({
      database,
      operations: {
        contacts: {
          ...contactOperations,
          ...contactChangeOperations({ connections }),
          ...photoOperations({ ...photos, fetches: openFairSemaphore({ atOnce: 4 }) }),
        },
        contactFolders: contactFolderOperations,
      },
    }),
  )

  /** An account of a provider in memory, whose contacts are switched on. */
  async function openAccount(
    kind: BooksKind,
    settings: Partial<AccountSettings> = { contactsEnabled: true },
  ) {
    const { tenantId } = door
    const { id } = await sampleAccount(db, tenantId, { settings_override: JSON.stringify(settings) })
    const data_key = await db.transaction().execute(tx => keys.createDataKey(tx, { id, tenant_id: tenantId }))
    await db.updateTable('account').set({ data_key }).where('id', '=', id).execute()
    await sql`
      update account set imap = jsonb_set(imap, '{dav}', ${JSON.stringify(DAV)}::jsonb) where id = ${id}
    `.execute(db)
    await addHalf(db, id, 'contacts', [])
    const memory = new MemoryBooks(kind)
    books.set(id, memory)
    let owned: OwnedAccount | null = null
    return {
      id,
      path: `/v1/accounts/${id}`,
      books: memory,
      /** Makes one pass of the follower. */
      async pass() {
        owned ??= await own(id)
        await passContacts(db, owned, memory.connect())
      },
    }
  }

  async function own(id: string): Promise<OwnedAccount> {
    const instanceId = newId()
    const heartbeat_until = new Date(Date.now() + 600_000)
    await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
    const claimed = await claimAccounts(db, instanceId, 1_000)
    await matchHalves(db)
    return claimed.find(account => account.id === id)!
  }

  const key = await door.createKey()
  const owner = opened.move()
  return {
    ...callerOf(door.address, key),
    as: (credential: string) => callerOf(door.address, credential),
    door,
    db,
    blobs,
    folder,
    openAccount,
    [Symbol.asyncDispose]: () => owner.disposeAsync(),
  }
}
