/** @module-tag postgres-16 */
import { expect, test } from 'vitest'
import { commitChange } from '../../../../test/index-steps.ts'
import {
  openSession,
  ownAccount,
  passUntilCaughtUp,
  readFeed,
  readIndex,
  runFrom,
} from '../../../../test/memory-account.ts'
import {
  locationIn,
  MemoryServer,
  memoryMail,
  presentMailbox,
  toRemote,
} from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { recordCreatedMailbox } from '../mailboxes/record-changes.ts'
import { listPlacedMailboxes } from '../mailboxes/store.ts'
import { findLocation } from '../messages/location.ts'
import { recordAdded } from '../messages/record-changes.ts'

/** An account with a mailbox that the interface has created, and in which the sync has not looked yet. */
async function openWithNewMailbox() {
  const database = await openTestDatabase()
  const { db } = database
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  const world = { connect: () => memoryMail(server).mail }
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, world)
  const created = presentMailbox(server.create('New'))
  await commitChange(db, owned, (unit, account) => recordCreatedMailbox(unit, account, created))
  const mailboxes = (await listPlacedMailboxes(db, owned.id)).filter(({ key }) => key === 'New')
  let messageId: string | null = null
  const locate = async () => (messageId === null ? null : findLocation(db, owned.id, messageId))
  return {
    db,
    server,
    world,
    owned,
    /** Adds a message as an operation does. @returns the function that commits it */
    add() {
      const uid = server.deliver('New', 'content', new Date(1.7e12))
      const mailbox = server.get('New')
      const added = {
        message: toRemote(mailbox, mailbox.messages[0]!),
        mailboxes,
        to: locationIn(mailbox, uid),
      }
      return () =>
        commitChange(db, owned, async (unit, account) => {
          messageId = await recordAdded(unit, account, added)
        })
    },
    locate,
    /** The keys that the message has while the sync works. */
    async keysDuring(work: () => Promise<unknown>) {
      const keys = new Set<unknown>()
      server.onAwait = async () => {
        if (messageId !== null) keys.add((await locate())?.key)
      }
      await work()
      server.onAwait = () => undefined
      return [...keys]
    },
    /** Makes sure that there is one message, and that it was announced once. */
    async expectOne() {
      expect((await readIndex(db)).map(({ id }) => id)).toEqual([messageId])
      const announced = (await readFeed(db)).filter(({ data }) => data.message !== undefined)
      expect(announced.map(({ type }) => type)).toEqual(['message.created'])
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

test('a message that was added to a new mailbox keeps its key when the sync first looks there', async () => {
  await using opened = await openWithNewMailbox()
  const { db, world, owned, add, keysDuring, expectOne } = opened
  await add()()
  expect(await keysDuring(() => passUntilCaughtUp(db, owned, world))).toEqual([1])
  await expectOne()
})

test('a message that is added to a new mailbox while the sync first looks there keeps its key', async () => {
  await using opened = await openWithNewMailbox()
  const { db, world, owned, add, keysDuring, expectOne } = opened
  const session = await openSession(db, owned, world.connect())
  const { compare } = session.provider
  let resets = 0
  session.provider.compare = async function* (source, options) {
    const commit = source === 'New' && resets === 0 ? add() : null
    for await (const step of compare(source, options)) {
      if (step.type === 'reset') {
        resets++
        await commit?.()
      }
      yield step
    }
  }
  expect(await keysDuring(() => runFrom(session))).toEqual([1])
  expect(resets).toBe(1)
  await expectOne()
})

test('a message that was added to a new mailbox before that was renumbered is found under its new key', async () => {
  await using opened = await openWithNewMailbox()
  const { db, server, world, owned, add, locate, expectOne } = opened
  server.deliver('New', 'other content', new Date(1.7e12))
  server.expunge('New', server.get('New').messages[0]!)
  await add()()
  expect(await locate()).toMatchObject({ key: 2 })

  server.renumber('New')
  await passUntilCaughtUp(db, owned, world)

  const { uidValidity } = server.get('New')
  expect(await locate()).toMatchObject({ key: 1, cursor: { uidValidity } })
  await expectOne()
})
