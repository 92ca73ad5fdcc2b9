import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { compareNow } from '../sync/compare-now.ts'
import { useServer } from '../servers/shared-server.ts'
import { connectContacts } from './contacts-account.ts'
import { SANDBOX_APPS } from './delegates.ts'
import { openGraphApp } from './open-graph-app.ts'

const opened = useServer(() => openGraphApp({ config: SANDBOX_APPS }))

// The China cloud has no delta, so each look of the follower lists everything and leaves a comparison nothing to repair.
test.each([
  ['global', 1],
  ['china', 0],
] as const)(
  'contacts of a user of the cloud %s are compared, and rows that were lost or changed are repaired',
  async (cloud, repaired) => {
    const { app } = opened()
    const { id, contacts } = await connectContacts(opened(), {
      cloud,
      async arrange(client) {
        const friends = await client.ask('POST', 'contactFolders', { displayName: 'Friends' })
        await client.ask('POST', `contactFolders/${friends.id}/contacts`, { displayName: 'Bob' })
        for (const displayName of ['Ada', 'Cid']) await client.ask('POST', 'contacts', { displayName })
      },
    })
    const [ada, bob] = await contacts()
    const equal = { missing: 0, extra: 0, changed: 0, repaired: 0 }
    expect((await compareNow(app, id)).contactFolders).toMatchObject([
      { folderId: ada!.folderId, listed: 2, indexed: 2, ...equal },
      { folderId: bob!.folderId, listed: 1, indexed: 1, ...equal },
    ])
    await sql`delete from contact where id = ${ada!.id}`.execute(app.db)
    await sql`update contact set version = 'another', display_name = 'Eve' where id = ${bob!.id}`.execute(
      app.db,
    )
    expect((await compareNow(app, id)).contactFolders).toMatchObject([
      { listed: 2, indexed: 2, ...equal, repaired },
      { listed: 1, indexed: 1, ...equal, repaired },
    ])
    expect((await contacts()).map(({ displayName }) => displayName)).toEqual(['Ada', 'Bob', 'Cid'])
  },
)
