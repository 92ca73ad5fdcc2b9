import { expect, test } from 'vitest'
import { ODD_MAIL } from '../../../test/mail/odd/odd-mail.ts'
import { openImapConnection } from '../../../test/imap-connection.ts'
import { startChaosProxy } from '../../../test/servers/chaos-proxy.ts'
import { startDovecot } from '../../../test/servers/dovecot.ts'
import { type Asked, startHostileImap } from '../../../test/servers/hostile-imap.ts'
import { openWorld } from '../../../test/servers/world.ts'
import { openIndex } from '../conformance/memory-index.ts'
import { imapAccount } from './mail.ts'
import { Suspicions } from './suspicions.ts'
import { textOf } from './values.ts'

const { signal } = new AbortController()
const literal = (content: string) => `{${content.length}}\r\n${content}`

/** A connection to a server that answers UID FETCH by `answer`, and the answers as imapflow reads them. */
async function arrange(answer: (asked: Asked) => void) {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(
    await startHostileImap(asked => {
      if (!asked.command.startsWith('UID FETCH')) return false
      answer(asked)
      return true
    }),
  )
  const { client, connection } = await openImapConnection(server)
  opened.use(connection)
  await connection.examine('INBOX')
  const readByImapflow: string[] = []
  // Otherwise the listener that waits for the greeting would get the answers.
  client.removeAllListeners('log')
  client.on('log', entry => entry.src === 's' && readByImapflow.push(String(entry.msg)))
  client.emitLogs = true
  const owned = opened.move()
  return { connection, readByImapflow, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Runs a UID FETCH whose handler is given the number and the UID of each message. */
async function fetch(
  { connection }: Awaited<ReturnType<typeof arrange>>,
  take: (number: number, uid: string | null) => void | Promise<void>,
) {
  await connection.run({
    name: 'UID FETCH',
    arguments: [{ type: 'SEQUENCE', value: '1:*' }, [{ type: 'ATOM', value: 'UID' }]],
    answers: { FETCH: (number, [list]) => take(number, textOf(Array.isArray(list) ? list[1] : undefined)) },
  })
}

test('usual FETCH answers go past imapflow, whose queue and parser keep all others', async () => {
  await using arranged = await arrange(({ tag, say }) =>
    say(
      `* 1 FETCH (UID 7 BODY[]<0> ${literal('Subject: x')})`,
      '* 3 EXISTS',
      '* 2 FETCH (UID 8 X "a \\"quoted\\" text")',
      '* 3 FETCH (UID 9 FLAGS (\\Seen))',
      `${tag} OK done`,
      '* 1 FETCH (UID 7 FLAGS (\\Flagged))',
    ),
  )
  const taken: unknown[] = []
  await fetch(arranged, (number, uid) => void taken.push([number, uid]))

  expect(taken).toEqual([
    [1, '7'],
    [2, '8'],
    [3, '9'],
  ])
  // The last answer arrived before the answer to this.
  await arranged.connection.poke()
  expect(arranged.connection.selected?.exists).toBe(3)
  expect(arranged.connection.takeNotice()).toEqual({ arrived: true, changed: true, gone: false })
  const fetches = arranged.readByImapflow.filter(line => line.includes('FETCH'))
  expect(fetches).toEqual([expect.stringContaining('* 2 FETCH'), expect.stringContaining('* 1 FETCH')])
})

test('an answer is not read before the handler has taken the one before it', async () => {
  const count = 20
  await using arranged = await arrange(({ tag, say }) =>
    say(...Array.from({ length: count }, (_, at) => `* ${at + 1} FETCH (UID ${at + 1})`), `${tag} OK done`),
  )
  const taking = new Set<number>()
  const taken: number[][] = []
  await fetch(arranged, async number => {
    taking.add(number)
    await new Promise(resolve => setImmediate(resolve))
    taken.push([...taking])
    taking.delete(number)
  })
  expect(taken).toEqual(Array.from({ length: count }, (_, at) => [at + 1]))
})

test('a handler that fails misses one answer', async () => {
  await using arranged = await arrange(({ tag, say }) =>
    say('* 1 FETCH (UID 7)', '* 2 FETCH (UID 8)', '* 3 FETCH (UID 9)', `${tag} OK done`),
  )
  const taken: number[] = []
  await fetch(arranged, number => {
    if (number === 2) throw new Error('failed')
    taken.push(number)
  })
  expect(taken).toEqual([1, 3])
})

test('odd mail is the same if imapflow reads its answers', async () => {
  await using server = await startDovecot()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  const served = Object.values(ODD_MAIL).filter(({ isUnservable }) => !isUnservable)
  await world.deliver(served.map(({ raw }) => ({ raw })))

  const follow = async (rewrite: (line: string) => string) => {
    await using proxy = await startChaosProxy(server, { rewrite })
    const endpoint = { addresses: [proxy.host], servername: 'localhost', port: proxy.port } as const
    await using account = await imapAccount({
      endpoint: { ...endpoint, security: 'none' },
      login: user,
      suspicions: new Suspicions(),
      signal,
    })
    const index = openIndex('INBOX')
    await index.follow(account.mail)
    return index.messages
  }

  const messages = await follow(line => line)
  expect(messages.size).toBe(served.length)
  // The reader takes only capital letters.
  expect(messages).toEqual(await follow(line => line.replace(/^(\* \d+) FETCH /, '$1 Fetch ')))
})
