/** @module-tag postgres-16-in-soak */
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
import type { MailProvider, RemoteMailbox } from '../../../providers/mail.ts'
import { Doubts } from '../../../sync/doubts.ts'

type Tear = (list: RemoteMailbox[]) => RemoteMailbox[]

const without = (name: string) => (list: RemoteMailbox[]) => list.filter(({ key }) => key !== name)

/** An account with a message in `Work`, followed until it was caught up. */
async function openFollowed() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  server.create('Work')
  server.deliver('Work', 'third', new Date(1.7e12))
  const connect = () => memoryMail(server).mail
  function connectTorn(tear: Tear, lists: number): MailProvider {
    const provider = connect()
    let listed = 0
    return {
      ...provider,
      listMailboxes: async () => {
        const list = await provider.listMailboxes()
        return ++listed <= lists ? tear(list) : list
      },
    }
  }
  const owned = await ownAccount(db)
  const passWithAll = () => passUntilCaughtUp(db, owned, { connect })
  await passWithAll()
  const before = (await readFeed(db)).length
  const resources = opened.move()
  return {
    server,
    listMailboxes: () => connect().listMailboxes(),
    passWithAll,
    connectTorn,
    /** Makes a pass over a connection whose first lists are torn, a new one by default. */
    async passTorn(
      tear: Tear,
      {
        lists,
        doubts,
        over = connectTorn(tear, lists),
      }: { lists: number; doubts?: Doubts; over?: MailProvider },
    ) {
      await runFrom(await openSession(db, owned, over, doubts))
    },
    readEvents: async () => (await readFeed(db)).slice(before).map(({ type }) => type),
    async readPaths() {
      const mailboxes = await db.selectFrom('mailbox').select('path').orderBy('path').execute()
      return mailboxes.map(({ path }) => path)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

describe('a pass beside the rename of a mailbox', () => {
  test.each<[string, (former: RemoteMailbox) => Tear]>([
    ['both of its names', former => list => [...list, former]],
    ['neither of its names', () => without('Done')],
    ['its former name', former => list => [...without('Done')(list), former]],
  ])('announces only the rename, although the first list has %s', async (_, tearing) => {
    await using followed = await openFollowed()
    const former = (await followed.listMailboxes()).find(({ key }) => key === 'Work')!

    followed.server.rename('Work', 'Done')
    await followed.passTorn(tearing(former), { lists: 1 })
    await followed.passWithAll()

    expect(await followed.readEvents()).toEqual(['mailbox.updated'])
    expect(await followed.readPaths()).toEqual(['Done', 'INBOX'])
  })
})

describe('a mailbox that lists lack although the server answers to its name', () => {
  const lists = Infinity

  test('stays in the index with its messages', async () => {
    await using followed = await openFollowed()
    await followed.passTorn(without('Work'), { lists })
    await followed.passWithAll()
    expect(await followed.readEvents()).toEqual([])
    expect(await followed.readPaths()).toEqual(['INBOX', 'Work'])
  })

  test('is deleted once lists have lacked it for 20 seconds', async () => {
    await using followed = await openFollowed()
    const clock = { at: 0 }
    const doubts = new Doubts(() => clock.at)
    for (const seconds of [0, 19]) {
      clock.at = seconds * 1_000
      await followed.passTorn(without('Work'), { lists, doubts })
      expect([await followed.readEvents(), doubts.count]).toEqual([[], 1])
    }
    clock.at = 20_000
    await followed.passTorn(without('Work'), { lists, doubts })
    await followed.passTorn(without('Work'), { lists, doubts })
    expect((await followed.readEvents()).toSorted()).toEqual(['mailbox.deleted', 'message.deleted'])
    expect([await followed.readPaths(), doubts.count]).toEqual([['INBOX'], 0])
  })

  test('stays however long one connection lacks it, and another connection is wanted', async () => {
    await using followed = await openFollowed()
    const clock = { at: 0 }
    const doubts = new Doubts(() => clock.at)
    const over = followed.connectTorn(without('Work'), lists)
    for (const seconds of [0, 20, 3_600]) {
      clock.at = seconds * 1_000
      await followed.passTorn(without('Work'), { lists, doubts, over })
      expect([await followed.readEvents(), doubts.count, doubts.needsAnother(over)]).toEqual([[], 1, true])
    }
    await followed.passTorn(without('Work'), { lists: 0, doubts })
    expect([await followed.readEvents(), doubts.count]).toEqual([[], 0])
    expect(await followed.readPaths()).toEqual(['INBOX', 'Work'])
  })
})
