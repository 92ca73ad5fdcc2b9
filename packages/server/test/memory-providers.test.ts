import { describe } from 'vitest'
import { openIndex } from '../src/providers/conformance/memory-index.ts'
import type { Arrangement, ProviderWorld } from '../src/providers/conformance/arrangement.ts'
import { describeContent } from '../src/providers/conformance/content.ts'
import { describeFolderSearch, describeSearch } from '../src/providers/conformance/search.ts'
import { LogServer, logMail } from './memory-log.ts'
import { MemoryServer, memoryMail } from './memory-mail.ts'

const AT = new Date(1.7e12)
const unplayed = () => Promise.reject(new Error('not played'))
const UNPLAYED: Pick<ProviderWorld, 'flag' | 'move' | 'renameMailbox'> = {
  flag: unplayed,
  move: unplayed,
  renameMailbox: unplayed,
}

function arrangeFolders(): Promise<Arrangement<'mail' | 'content' | 'search'>> {
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  return Promise.resolve({
    world: {
      ...UNPLAYED,
      listedAs: mailbox => mailbox,
      async deliver(messages, mailbox = 'INBOX') {
        for (const { raw, internalDate = AT } of messages) server.deliver(mailbox, raw, internalDate)
        return server
          .get(mailbox)
          .messages.slice(-messages.length)
          .map(({ uid }) => uid)
      },
      async expunge(mailbox, keys) {
        const gone = server.get(mailbox).messages.filter(({ uid }) => keys.includes(uid))
        for (const message of gone) server.expunge(mailbox, message)
      },
      createMailbox: async mailbox => void server.create(mailbox),
      deleteMailbox: async mailbox => void server.mailboxes.delete(mailbox),
      renumber: async mailbox => server.renumber(mailbox),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    connect: () => Promise.resolve(memoryMail(server)),
    async index(mailbox) {
      const index = openIndex(mailbox)
      await index.follow(memoryMail(server).mail)
      return { ...index, mailboxKey: mailbox }
    },
    poison: keys => keys.forEach(key => server.unreadable.add(Number(key))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  })
}

function arrangeLog(kind: 'labels' | 'folders'): Promise<Arrangement<'mail' | 'content'>> {
  const server = new LogServer(kind)
  const keys = new Map([['INBOX', server.create('INBOX', 'inbox').key]])
  const keyOf = (mailbox: string) => keys.get(mailbox)!
  return Promise.resolve({
    world: {
      ...UNPLAYED,
      listedAs: mailbox => mailbox,
      async deliver(messages, mailbox = 'INBOX') {
        for (const { raw, internalDate = AT } of messages) server.deliver([keyOf(mailbox)], raw, internalDate)
        return [...server.messages.keys()].slice(-messages.length)
      },
      async expunge(_, ids) {
        for (const id of ids) server.delete(server.messages.get(String(id))!)
      },
      createMailbox: async mailbox => void keys.set(mailbox, server.create(mailbox).key),
      deleteMailbox: async mailbox => server.drop(server.mailboxes.get(keyOf(mailbox))!),
      renumber: unplayed,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    },
    connect: () => Promise.resolve(logMail(server)),
    async index(mailbox) {
      const index = openIndex(server.sourceOf(keyOf(mailbox)))
      await index.follow(logMail(server).mail)
      return { ...index, mailboxKey: keyOf(mailbox) }
    },
    poison: () => {
      throw new Error('not played')
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  })
}

// They simulate following for the attacks on the engine, but neither windows nor a server that pushes.
describe('providers in memory', () => {
  describeContent('numbered folders', arrangeFolders)
  describeContent('labels with one history', () => arrangeLog('labels'))
  describeContent('lasting ids in folders', () => arrangeLog('folders'))
  describeSearch('numbered folders', arrangeFolders)
  describeFolderSearch('numbered folders', arrangeFolders)
})
