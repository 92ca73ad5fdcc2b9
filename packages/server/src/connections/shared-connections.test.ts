import { describe, expect, test } from 'vitest'
import { LogServer, logMail } from '../../test/memory-log.ts'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import type { ReachedAccount } from '../accounts/reach.ts'
import type { ConnectedAccount, Offering } from '../providers/connected-account.ts'
import type { ContentRange } from '../providers/content.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { MessageKey } from '../providers/mail.ts'
import type { SearchQuery } from '../providers/search.ts'
import type { Connector } from './connections.ts'
import { HostBudget } from './host-budget.ts'
import { SharedConnections } from './shared-connections.ts'

const account: ReachedAccount = { id: 'a', tenantId: 't', provider: 'imap', kind: 'mail', version: '1' }
const PLACES = ['INBOX', 'One', 'Two', 'Three']
const LETTER = Buffer.from('letter of INBOX')
const WHOLE: ContentRange = { part: null, isHeader: false, offset: 0, end: null, size: null }
const READ = { isRepeatable: true }
const query: SearchQuery = {
  text: 'letter',
  places: PLACES.map(source => ({ id: source, source, mailboxKey: source, cursor: null, size: null })),
  after: null,
  before: null,
  position: null,
  limit: 10,
  secondsWanted: 60,
  known: () => Promise.resolve(new Map<MessageKey, Date>()),
}

type Connected = Offering<'mail' | 'content' | 'search'>
type Change = (connected: Connected, connection: number, signal: AbortSignal) => ConnectedAccount

/** Connections to a memory server; each may be changed. */
function open(change: Change = connected => connected, connector: Partial<Connector> = {}) {
  const server = new MemoryServer()
  for (const path of PLACES) {
    server.create(path)
    server.deliver(path, `letter of ${path}`, new Date(2024, 1, 1))
  }
  const budget = new HostBudget(2)
  let count = 0
  const connections = new SharedConnections({
    endpointOf: () => 'imap',
    connectorOf: () => () =>
      Promise.resolve({
        version: '1',
        host: 'mail.test',
        syncWindowDays: null,
        isOneAtATime: true,
        acquire: signal => budget.acquire('mail.test', signal),
        connect: signal => Promise.resolve(change(memoryMail(server), ++count, signal)),
        ...connector,
      }),
  })
  const cursor = { uidValidity: server.get('INBOX').uidValidity }
  const stream = (offset = 0) =>
    connections.stream(account, 'content', content =>
      content.open({ source: 'INBOX', cursor, key: 1 }, { ...WHOLE, offset }),
    )
  return {
    server,
    budget,
    connections,
    stream,
    read: async () => (await stream().next()).value as Buffer,
    readSources: (signal?: AbortSignal) =>
      connections.use(
        account,
        'content',
        content => content.readSources({ source: 'INBOX', cursor, keys: [1, 2] }, 1000),
        { ...READ, ...(signal && { signal }) },
      ),
    search: (seconds: number, text = 'letter') =>
      connections.useInSteps(
        account,
        'search',
        provider => provider.search({ ...query, text }),
        AbortSignal.timeout(seconds * 1000),
      ),
    count: () => count,
    [Symbol.asyncDispose]: () => connections[Symbol.asyncDispose](),
  }
}

describe('reading several messages over the connection that reads', () => {
  test('takes its turn among the reads, and ends with its signal', async () => {
    const begun = Promise.withResolvers<void>()
    await using opened = open((connected, connection, signal) =>
      connection > 1
        ? connected
        : {
            ...connected,
            content: {
              ...connected.content,
              async readSources() {
                begun.resolve()
                await new Promise(resolve => signal.addEventListener('abort', resolve))
                throw new ProviderFailure('unavailable', 'closed')
              },
            },
          },
    )
    const stop = new AbortController()
    const first = opened.readSources(stop.signal)
    await begun.promise
    const waiting = [opened.readSources(new AbortController().signal), opened.read()]
    stop.abort()
    await expect(first).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await Promise.all(waiting)).toEqual([new Map([[1, LETTER]]), LETTER])
    expect(opened.count()).toBe(2)
  })

  test('waits for no connection to the host any more once its signal aborts', async () => {
    await using opened = open()
    const never = new AbortController().signal
    using one = await opened.budget.acquire('mail.test', never)
    using _other = await opened.budget.acquire('mail.test', never)
    const wanted = Promise.withResolvers<void>()
    one.onWanted(wanted.resolve)
    const stop = new AbortController()
    const waiting = opened.readSources(stop.signal)
    await wanted.promise
    stop.abort()
    await expect(waiting).rejects.toMatchObject({ message: 'It was given up.', isBeforeAcceptance: true })
  })
})

describe('searching over the connection that reads', () => {
  test('is given up where it waits for its turn for too long, but not once it has begun', async () => {
    const held = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    await using opened = open(connected => connected)
    const { connections } = opened
    const late = new AbortController()
    const options = { ...READ, beginsUntil: late.signal }
    const running = connections.use(
      account,
      'content',
      async () => {
        begun.resolve()
        await held.promise
        return 'done'
      },
      options,
    )
    await begun.promise
    let isAsked = false
    const waiting = connections.use(account, 'content', async () => void (isAsked = true), options)
    late.abort()
    await expect(waiting).rejects.toMatchObject({ kind: 'unavailable', isBeforeAcceptance: true })
    held.resolve()
    expect(await running).toBe('done')
    await opened.read()
    expect(isAsked).toBe(false)
  })

  test('reads come between the steps of a search, and searches one after another', async () => {
    let searching = 0
    let searchingMax = 0
    await using opened = open(connected => ({
      ...connected,
      search: {
        async *search(asked) {
          searchingMax = Math.max(searchingMax, ++searching)
          const page = yield* connected.search.search(asked)
          searching--
          return page
        },
      },
    }))
    const { server, search, read } = opened
    const done: string[] = []
    const note = (what: string) => () => void done.push(what)
    let reading: Promise<void> | null = null
    server.onAwait = () => void (reading ??= read().then(note('read')))
    const first = search(60).then(note('first search'))
    const second = search(60).then(note('second search'))
    await Promise.all([first, second, reading])
    expect(done).toEqual(['read', 'first search', 'second search'])
    expect(searchingMax).toBe(1)
    expect(opened.count()).toBe(1)
  })

  test('a search begins again where the connection is lost, and not for ever', async () => {
    const losing = (times: number) =>
      open((connected, connection) => ({
        ...connected,
        search: {
          async *search(asked) {
            yield
            if (connection <= times) throw new ProviderFailure('unavailable', 'lost')
            return yield* connected.search.search(asked)
          },
        },
      }))
    await using once = losing(1)
    expect((await once.search(60)).hits).toHaveLength(4)
    expect(once.count()).toBe(2)

    await using always = losing(100)
    await expect(always.search(60)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(always.count()).toBeLessThan(10)
  })

  test('a search that takes too long is ended with its connection, and who waits goes on', async () => {
    const begun = Promise.withResolvers<void>()
    const asked: string[] = []
    await using opened = open((connected, _, signal) => ({
      ...connected,
      search: {
        // oxlint-disable-next-line require-yield -- a server that does not answer
        async *search({ text }) {
          asked.push(text)
          begun.resolve()
          await new Promise(resolve => signal.addEventListener('abort', resolve))
          throw new ProviderFailure('unavailable', 'closed')
        },
      },
    }))
    const tooLong = { kind: 'unavailable', message: expect.stringContaining('took too long') }
    const ended: string[] = []
    const search = (name: string, seconds: number) =>
      opened.search(seconds, name).finally(() => void ended.push(name))
    const running = expect(search('running', 3)).rejects.toMatchObject(tooLong)
    await begun.promise
    const waiting = expect(search('waiting', 0.1)).rejects.toMatchObject(tooLong)
    const reading = opened.read()

    await Promise.all([running, waiting])
    expect(ended).toEqual(['waiting', 'running'])
    expect((await reading).toString()).toBe('letter of INBOX')
    expect(opened.count()).toBe(2)
    await expect(search('last', 0.2)).rejects.toMatchObject(tooLong)
    expect(asked).toEqual(['running', 'last'])
  })
})

describe('streams', () => {
  /** Yields a byte of the letter at a time, and loses the connection after a number of them in a row. */
  const byBytes =
    (bytesPerConnection: number): Change =>
    connected => ({
      ...connected,
      content: {
        ...connected.content,
        async *open(_, { offset }) {
          for (let sent = 0; offset + sent < LETTER.length; sent++) {
            if (sent === bytesPerConnection) throw new ProviderFailure('unavailable', 'lost')
            yield LETTER.subarray(offset + sent, offset + sent + 1)
          }
          return 'end'
        },
      },
    })

  async function readOn({ connections }: ReturnType<typeof open>): Promise<string> {
    let text = ''
    const pieces = connections.stream(account, 'content', content =>
      content.open({ source: 'INBOX', cursor: null, key: 1 }, { ...WHOLE, offset: text.length }),
    )
    for await (const piece of pieces) text += piece.toString()
    return text
  }

  test('go on where they were over another connection, as often as they get farther', async () => {
    await using opened = open(byBytes(1))
    expect(await readOn(opened)).toBe(LETTER.toString())
    expect(opened.count()).toBe(LETTER.length)

    await using stuck = open(byBytes(0))
    await expect(readOn(stuck)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(stuck.count()).toBe(1)
  })

  test('hold nothing while their caller takes its time', async () => {
    await using opened = open(byBytes(100))
    const { budget, stream, read } = opened
    const slow = stream()
    await slow.next()
    expect((await read()).toString()).toBe('l')
    expect(opened.count()).toBe(1)

    using _one = await budget.acquire('mail.test', new AbortController().signal)
    using _two = await budget.acquire('mail.test', AbortSignal.timeout(5_000))
    expect(budget.heldCount).toBe(2)
  })
})

describe('work that must not be done twice', () => {
  /** Does something before each of the next connections that are to break. */
  function writing(failure: () => ProviderFailure) {
    let done = 0
    const opened = open()
    const write = (isRepeatable: boolean) =>
      opened.connections.use(
        account,
        'content',
        async () => {
          done++
          if (opened.count() === 1) throw failure()
        },
        { isRepeatable },
      )
    return { opened, write, count: () => done }
  }

  test.each([
    ['is repeated where it is a read', true, undefined, 2],
    ['is not repeated where the provider may have done it', false, undefined, 1],
    ['is repeated where the provider has certainly not done it', false, true, 2],
  ])('%s', async (_, isRepeatable, isBeforeAcceptance, times) => {
    const { opened, write, count } = writing(
      () =>
        new ProviderFailure('unavailable', 'lost', {
          ...(isBeforeAcceptance !== undefined && { isBeforeAcceptance }),
        }),
    )
    await using _opened = opened
    await opened.read()
    const written = write(isRepeatable)
    if (times === 1)
      await expect(written).rejects.toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
    else await written
    expect(count()).toBe(times)
    // What is broken is not used any more.
    await opened.read()
    expect(opened.count()).toBe(2)
  })
})

describe('a provider whose calls run side by side', () => {
  const free = { isWanted: false, onWanted() {}, [Symbol.dispose]() {} }

  function openLog(accounts: number) {
    const server = new LogServer('labels')
    const inbox = server.create('Inbox', 'inbox')
    server.deliver([inbox.key], 'letter of INBOX', new Date(2024, 1, 1))
    const [key = ''] = server.messages.keys()
    const closed: string[] = []
    const connections = new SharedConnections({
      endpointOf: () => 'api',
      connectorOf:
        ({ id }) =>
        () =>
          Promise.resolve({
            version: '1',
            host: 'api.test',
            syncWindowDays: null,
            isOneAtATime: false,
            acquire: () => Promise.resolve(free),
            connect: () =>
              Promise.resolve({
                ...logMail(server),
                [Symbol.asyncDispose]: () => Promise.resolve(void closed.push(id)),
              }),
          }),
    })
    const stream = (id: string, version = '1') =>
      connections.stream({ ...account, id, version }, 'content', content =>
        content.open({ source: 'history', cursor: null, key }, WHOLE),
      )
    const ids = Array.from({ length: accounts }, (_, nth) => `account ${nth}`)
    return { server, connections, stream, ids, closed }
  }

  test('reads for a thousand accounts at once, and a call that hangs holds up nobody', async () => {
    const { connections, stream, ids } = openLog(1000)
    await using _ = connections
    const hanging = Promise.withResolvers<string>()
    const held = connections.use({ ...account, id: ids[0]! }, 'content', () => hanging.promise, READ)
    const read = await Promise.all([...ids, ids[0]!].map(async id => (await stream(id).next()).value))
    expect(read).toEqual(Array.from({ length: 1001 }, () => LETTER))
    hanging.resolve('at last')
    expect(await held).toBe('at last')
  })

  test('goes on with what is under way when the account was changed, and closes what it used then', async () => {
    const { connections, stream, closed } = openLog(1)
    await using _ = connections
    const hanging = Promise.withResolvers<string>()
    const before = connections.use(account, 'content', () => hanging.promise, READ)
    expect((await stream('a', '2').next()).value).toEqual(LETTER)
    expect(closed).toEqual([])
    hanging.resolve('whole')
    expect(await before).toBe('whole')
    expect(closed).toEqual(['a'])
  })

  test('is refused what it does not offer', async () => {
    const { connections } = openLog(1)
    await using _ = connections
    const searching = connections.useInSteps(
      account,
      'search',
      provider => provider.search(query),
      AbortSignal.timeout(60_000),
    )
    await expect(searching).rejects.toMatchObject({ kind: 'unsupported', isPermanent: true })
  })
})

test('a connection that breaks as it is used first is not used again', async () => {
  let broken = 2
  await using opened = open()
  const use = () =>
    opened.connections.use(
      account,
      'content',
      async () => {
        if (opened.count() <= broken) throw new ProviderFailure('unavailable', 'lost')
      },
      READ,
    )
  await expect(use()).rejects.toMatchObject({ kind: 'unavailable' })
  broken = 1
  await use()
  expect(opened.count()).toBe(2)
  // It broke while it was idle, and so does the one after it.
  broken = 3
  await expect(use()).rejects.toMatchObject({ kind: 'unavailable' })
  await use()
  expect(opened.count()).toBe(4)
})
