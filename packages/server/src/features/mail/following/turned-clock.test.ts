import { expect, test } from 'vitest'
import {
  openSession,
  ownAccount,
  pass,
  passUntilCaughtUp,
  readFeed,
  readIndex,
  runFrom,
} from '../../../../test/memory-account.ts'
import { MemoryServer, memoryMail } from '../../../../test/memory-mail.ts'
import { openTurnedClock } from '../../../../test/turned-clock.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

test('a pass deletes missing messages although the clock of the database was set back meanwhile', async () => {
  await using clock = await openTurnedClock()
  const { db } = clock
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  for (let count = 1; count <= 10; count++)
    server.deliver('INBOX', `content ${count}`, new Date(1.7e12 + count * 1_000))
  const world = { connect: () => memoryMail(server).mail }
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, world)

  for (const message of server.get('INBOX').messages.slice(0, 6)) server.expunge('INBOX', message)
  const session = await openSession(db, owned, world.connect())
  const { listMailboxes } = session.provider
  let lists = 0
  session.provider.listMailboxes = () => {
    // Once the messages are marked as missing, and before they are deleted.
    if (++lists === 2) throw new ProviderFailure('unavailable', 'the connection broke')
    return listMailboxes()
  }
  await expect(runFrom(session)).rejects.toThrow('the connection broke')
  expect(await readIndex(db)).toHaveLength(10)
  await clock.turn('-2 hours')
  await pass(db, owned, world)

  const left = server.get('INBOX').messages.map(({ content }) => content)
  expect((await readIndex(db)).map(({ content }) => content).toSorted()).toEqual(left.toSorted())
  expect((await readFeed(db)).filter(({ type }) => type === 'message.deleted')).toHaveLength(6)
})
