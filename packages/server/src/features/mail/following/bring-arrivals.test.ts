/** @module-tag postgres-16-in-soak */
import { expect, test } from 'vitest'
import { ownAccount, pass, passUntilCaughtUp, readFeed, readIndex } from '../../../../test/memory-account.ts'
import { LogServer, logMail } from '../../../../test/memory-log.ts'
import { MemoryServer, memoryMail } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { MailProvider } from '../../../providers/mail.ts'
import { Doubts } from '../../../sync/doubts.ts'

const MESSAGES = 300
const SECOND_LOOK_MS = 21_000

/** An account whose messages have lasting ids, after its first sync. */
async function openLasting() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new LogServer('labels')
  const inbox = server.create('INBOX', 'inbox')
  for (let nth = 1; nth <= MESSAGES; nth++)
    server.deliver([inbox.key], `message ${nth}`, new Date(1.7e12 + nth))
  /** Calls that the provider received. */
  const done = { fetched: 0, resets: [] as string[] }
  const connect = (): MailProvider => {
    const { mail } = logMail(server)
    return {
      ...mail,
      async *arrivals(...given) {
        for await (const step of mail.arrivals(...given)) {
          if (step.type === 'page')
            for (const part of step.steps) if (part.type === 'arrived') done.fetched += part.messages.length
          yield step
        }
      },
      async *compare(...given) {
        for await (const step of mail.compare(...given)) {
          if (step.type === 'reset') done.resets.push(step.keys)
          yield step
        }
      },
    }
  }
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, { connect })
  Object.assign(done, { fetched: 0, resets: [] })
  const clock = { at: 0 }
  const doubts = new Doubts(() => clock.at)
  const resources = opened.move()
  return {
    db,
    server,
    done,
    clock,
    doubts,
    look: () => pass(db, owned, { connect }, doubts),
    index: async () => (await readIndex(db)).map(({ id }) => id),
    deleted: async () => (await readFeed(db)).filter(({ type }) => type === 'message.deleted').length,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

test('most of a mailbox that is gone after an expiry is listed once more, and deleted without anything being fetched', async () => {
  await using account = await openLasting()
  const { server, done, clock, doubts, look, index, deleted } = account
  const before = await index()
  const messages = [...server.messages.values()]
  for (const message of messages.slice(0, 250)) server.delete(message)
  server.expire()
  await look()
  await look()
  expect([await index(), doubts.count]).toEqual([before, 1])

  clock.at += SECOND_LOOK_MS
  await look()
  expect([(await index()).length, await deleted(), doubts.count]).toEqual([50, 250, 0])
  expect(done).toEqual({ fetched: 0, resets: ['kept'] })
  expect((await readFeed(account.db)).map(({ type }) => type)).not.toContain('message.created')
})

test('messages that a provider lost for a moment after an expiry are found again by a second look', async () => {
  await using account = await openLasting()
  const { server, done, clock, doubts, look, index, deleted } = account
  const before = await index()
  const messages = new Map(server.messages)
  for (const message of messages.values()) server.touch(message)
  server.messages.clear()
  server.expire()
  await look()
  for (const [id, message] of messages) server.messages.set(id, message)
  expect(doubts.count).toBe(1)

  clock.at += SECOND_LOOK_MS
  await look()
  expect([await index(), await deleted(), doubts.count]).toEqual([before, 0, 0])
  expect(done).toEqual({ fetched: 0, resets: ['kept'] })
})

test('a doubt ends when its mailbox is deleted', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  server.create('Work')
  for (let nth = 1; nth <= MESSAGES; nth++) server.deliver('Work', `message ${nth}`, new Date(1.7e12 + nth))
  const connect = () => memoryMail(server).mail
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, { connect })
  const doubts = new Doubts(() => 0)
  server.get('Work').messages = []
  await pass(db, owned, { connect }, doubts)
  expect(doubts.count).toBe(1)

  server.mailboxes.delete('Work')
  await pass(db, owned, { connect }, doubts)
  expect(doubts.count).toBe(0)
})

test('a doubt ends when everything of a renumbered mailbox is there again', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  for (let nth = 1; nth <= MESSAGES; nth++) server.deliver('INBOX', `message ${nth}`, new Date(1.7e12 + nth))
  const connect = () => memoryMail(server).mail
  const owned = await ownAccount(db)
  await passUntilCaughtUp(db, owned, { connect })
  const doubts = new Doubts(() => 0)
  const inbox = server.get('INBOX')
  const { messages } = inbox
  inbox.messages = []
  server.renumber('INBOX')
  await expect(pass(db, owned, { connect }, doubts)).rejects.toThrow('seems to have been emptied')
  expect(doubts.count).toBe(1)

  inbox.messages = messages
  server.renumber('INBOX')
  await pass(db, owned, { connect }, doubts)
  expect([(await readIndex(db)).length, doubts.count]).toEqual([MESSAGES, 0])
})
