import { expect, test } from 'vitest'
import {
  openSession,
  ownAccount,
  passUntilCaughtUp,
  readFeed,
  readIndex,
  runFrom,
} from '../../../../test/memory-account.ts'
import { MemoryServer, memoryMail } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'

test('messages that moved to a mailbox keep their ids, however long it takes until they are read there', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  for (let count = 0; count < 5; count++)
    server.deliver('INBOX', `content ${count}`, new Date(1.7e12 + count))
  const world = { connect: () => memoryMail(server).mail }
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, world)
  const before = await readIndex(db)
  expect(before).toHaveLength(5)

  server.create('New')
  for (const message of [...server.get('INBOX').messages].slice(1)) server.move('INBOX', message, 'New')
  server.expunge('INBOX', server.get('INBOX').messages[0]!)
  const busy = await openSession(db, owned, world.connect())
  // All looks began more than a minute ago.
  busy.looks.findHeld = () => Number.MAX_SAFE_INTEGER
  for (const _ of [1, 2])
    expect(await runFrom(busy, { acquireBulkPermit: () => Promise.resolve(null) })).toMatchObject({
      hasMore: true,
    })
  await passUntilCaughtUp(db, owned, world)

  const after = await readIndex(db)
  expect(after.map(({ id }) => id)).toEqual(before.slice(1).map(({ id }) => id))
  const told = (await readFeed(db)).flatMap(({ type, data }) =>
    data.message ? [`${type} ${data.message.subject}`] : [],
  )
  expect(told.toSorted()).toEqual([
    'message.deleted content 0',
    ...[1, 2, 3, 4].map(content => `message.updated content ${content}`),
  ])
})
