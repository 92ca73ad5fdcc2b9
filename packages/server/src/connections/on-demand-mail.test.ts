import { describe, expect, test } from 'vitest'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import type { MailProvider, MessageKey } from '../providers/mail.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { SearchQuery } from '../providers/search.ts'
import { HostBudget } from './host-budget.ts'
import { OnDemandMail } from './on-demand-mail.ts'

const account = { id: 'a', tenantId: 't', version: '1' }
const PLACES = ['INBOX', 'One', 'Two', 'Three']
const query: SearchQuery = {
  text: 'letter',
  places: PLACES.map(source => ({ id: source, source, cursor: null, size: null })),
  after: null,
  before: null,
  position: null,
  limit: 10,
  secondsWanted: 60,
  known: () => Promise.resolve(new Map<MessageKey, Date>()),
}

type Change = (mail: MailProvider, connection: number, signal: AbortSignal) => MailProvider

function open(change: Change = mail => mail) {
  const server = new MemoryServer()
  for (const path of PLACES) {
    server.create(path)
    server.deliver(path, `letter of ${path}`, new Date(2024, 1, 1))
  }
  let connections = 0
  const mail = new OnDemandMail({
    budget: new HostBudget(2),
    findConnector: () =>
      Promise.resolve({
        host: 'mail.test',
        syncWindowDays: null,
        connect: signal => Promise.resolve(change(memoryMail(server), ++connections, signal)),
      }),
  })
  const read = () =>
    mail.readContent(
      account,
      { source: 'INBOX', cursor: { uidValidity: server.get('INBOX').uidValidity }, key: 1 },
      { part: null, isHeader: false, offset: 0, length: 100 },
    )
  return {
    server,
    mail,
    read,
    count: () => connections,
    [Symbol.asyncDispose]: () => mail[Symbol.asyncDispose](),
  }
}

describe('reading several messages over the connection that reads', () => {
  test('takes its turn among the reads, and ends with its signal', async () => {
    const begun = Promise.withResolvers<void>()
    await using opened = open((mail, connection, signal) =>
      connection > 1
        ? mail
        : {
            ...mail,
            async readSources() {
              begun.resolve()
              await new Promise(resolve => signal.addEventListener('abort', resolve))
              throw new ProviderFailure('unavailable', 'closed')
            },
          },
    )
    const place = {
      source: 'INBOX',
      cursor: { uidValidity: opened.server.get('INBOX').uidValidity },
      keys: [1, 2],
    }
    const stop = new AbortController()
    const first = opened.mail.readSources(account, place, 1000, stop.signal)
    await begun.promise
    const waiting = [
      opened.mail.readSources(account, place, 1000, new AbortController().signal),
      opened.read(),
    ]
    stop.abort()
    await expect(first).rejects.toMatchObject({ kind: 'unavailable' })
    const letter = Buffer.from('letter of INBOX')
    expect(await Promise.all(waiting)).toEqual([new Map([[1, letter]]), letter])
    expect(opened.count()).toBe(2)
  })
})

describe('searching over the connection that reads', () => {
  test('reads come between the steps of a search, and searches one after another', async () => {
    let searching = 0
    let searchingMax = 0
    await using opened = open(mail => ({
      ...mail,
      async *search(asked) {
        searchingMax = Math.max(searchingMax, ++searching)
        const page = yield* mail.search(asked)
        searching--
        return page
      },
    }))
    const { server, mail, read } = opened
    const done: string[] = []
    const note = (what: string) => () => void done.push(what)
    let reading: Promise<void> | null = null
    server.onAwait = () => void (reading ??= read().then(note('read')))
    const first = mail.search(account, query, 60).then(note('first search'))
    const second = mail.search(account, query, 60).then(note('second search'))
    await Promise.all([first, second, reading])
    expect(done).toEqual(['read', 'first search', 'second search'])
    expect(searchingMax).toBe(1)
    expect(opened.count()).toBe(1)
  })

  test('a search begins anew where the connection is lost, and not for ever', async () => {
    const losing = (times: number) =>
      open((mail, connection) => ({
        ...mail,
        async *search(asked) {
          yield
          if (connection <= times) throw new ProviderFailure('unavailable', 'lost')
          return yield* mail.search(asked)
        },
      }))
    await using once = losing(1)
    expect((await once.mail.search(account, query, 60)).hits).toHaveLength(4)
    expect(once.count()).toBe(2)

    await using always = losing(100)
    await expect(always.mail.search(account, query, 60)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(always.count()).toBeLessThan(10)
  })

  test('a search that takes too long is ended with its connection, and who waits goes on', async () => {
    const begun = Promise.withResolvers<void>()
    const asked: string[] = []
    await using opened = open((mail, _, signal) => ({
      ...mail,
      // oxlint-disable-next-line require-yield -- a server that does not answer
      async *search({ text }) {
        asked.push(text)
        begun.resolve()
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        throw new ProviderFailure('unavailable', 'closed')
      },
    }))
    const tooLong = { kind: 'unavailable', message: expect.stringContaining('took too long') }
    const ended: string[] = []
    const search = (name: string, seconds: number) =>
      opened.mail.search(account, { ...query, text: name }, seconds).finally(() => void ended.push(name))
    const running = search('running', 3)
    await begun.promise
    const waiting = search('waiting', 0.1)
    const reading = opened.read()

    await expect(waiting).rejects.toMatchObject(tooLong)
    await expect(running).rejects.toMatchObject(tooLong)
    expect(ended).toEqual(['waiting', 'running'])
    expect((await reading)?.toString()).toBe('letter of INBOX')
    expect(opened.count()).toBe(2)
    await expect(search('last', 0.2)).rejects.toMatchObject(tooLong)
    expect(asked).toEqual(['running', 'last'])
  })
})
