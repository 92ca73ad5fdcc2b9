/** @module-tag postgres-16 */
import { describe, expect, test } from 'vitest'
import {
  openSession,
  ownAccount,
  passUntilCaughtUp,
  readFeed,
  runFrom,
} from '../../../../test/memory-account.ts'
import { MemoryServer, memoryMail } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { RemoteMailbox } from '../../../providers/mail.ts'

type Tear = (list: RemoteMailbox[], former: RemoteMailbox) => RemoteMailbox[]

const isNotDone = ({ key }: RemoteMailbox) => key !== 'Done'

describe('a pass beside the rename of a mailbox', () => {
  test.each<[string, Tear]>([
    ['both of its names', (list, former) => [...list, former]],
    ['neither of its names', list => list.filter(isNotDone)],
    ['its former name', (list, former) => [...list.filter(isNotDone), former]],
  ])('announces only the rename, although the first list has %s', async (_, tear) => {
    await using database = await openTestDatabase()
    const { db } = database
    const server = new MemoryServer()
    server.create('INBOX', 'inbox')
    server.create('Work')
    server.deliver('Work', 'third', new Date(1.7e12))
    const connect = () => memoryMail(server).mail
    const owned = await ownAccount(db)
    await passUntilCaughtUp(db, owned, { connect })
    const before = (await readFeed(db)).length
    const former = (await connect().listMailboxes()).find(({ key }) => key === 'Work')!

    server.rename('Work', 'Done')
    const provider = connect()
    let lists = 0
    const torn = {
      ...provider,
      listMailboxes: async () => {
        const list = await provider.listMailboxes()
        return ++lists === 1 ? tear(list, former) : list
      },
    }
    await runFrom(await openSession(db, owned, torn))
    await passUntilCaughtUp(db, owned, { connect })

    const events = (await readFeed(db)).slice(before)
    expect(events.map(({ type }) => type)).toEqual(['mailbox.updated'])
    const mailboxes = await db.selectFrom('mailbox').select('path').orderBy('path').execute()
    expect(mailboxes).toEqual([{ path: 'Done' }, { path: 'INBOX' }])
  })
})
