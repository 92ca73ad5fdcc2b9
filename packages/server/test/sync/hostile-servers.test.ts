import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { type Asked, startHostileImap } from '../servers/hostile-imap.ts'
import { waitUntil } from '../wait-until.ts'
import { connectMailbox, openSyncApp } from './followed-account.ts'
import { waitForRuntime } from './proxied-account.ts'
import { casesFor } from '../soak.ts'

const SETTINGS = { syncWindowDays: null }
const MEMORY_BYTES_MAX = 400 * 1024 * 1024
/** Some connections are ended after two minutes. */
const WAIT_SECONDS = 240
/** On a busy machine, all are read so slowly that a server may stay within its budget. Then its account makes no progress. */
const ENDS =
  /^The server (?:sends more than was asked for|stopped answering)|: the server sent (?:more than|something that)|^no progress for/
const USER = { user: 'someone', password: 'secret', email: 'someone@hostile.example' }

/** Lets the account be connected first, so that the sync meets the misbehaviour. */
const after = (command: string, does: (asked: Asked) => void) => (asked: Asked) => {
  if (!asked.command.startsWith(command)) return false
  does(asked)
  return true
}
const LIST_ALL = 'LIST "" "*"'

/** Announces NOTIFY, besides what it does in IDLE. */
const reporting = (does: (asked: Asked) => void) => (asked: Asked) => {
  const { command, tag, say } = asked
  const capabilities = 'CAPABILITY IMAP4rev1 IDLE NOTIFY LITERAL+'
  if (command === 'GREETING') say(`* OK [${capabilities}] ready`)
  else if (command === 'CAPABILITY') say(`* ${capabilities}`, `${tag} OK done`)
  else if (command === 'IDLE') does(asked)
  else return false
  return true
}

/** Each server sends something endlessly that was not asked for; with IDLE, the account is live before. */
const FLOODS: ReadonlyArray<readonly [what: string, misbehave: (asked: Asked) => boolean]> = [
  ['EXISTS', after('IDLE', ({ flood }) => flood('* 1 EXISTS\r\n* 2 EXISTS\r\n'))],
  ['STATUS', after(LIST_ALL, ({ flood }) => flood('* STATUS x (MESSAGES 1 UNSEEN 1)\r\n'))],
  ['FLAGS', after('EXAMINE', ({ flood }) => flood(`* FLAGS (${'keyword '.repeat(500)}x)\r\n`))],
  ['FETCH', after('NAMESPACE', ({ flood }) => flood(`* 1 FETCH (FLAGS (${'k '.repeat(1000)}k))\r\n`))],
  ['CAPABILITY', after('IDLE', ({ flood }) => flood(`* CAPABILITY ${'AUTH=X '.repeat(500)}x\r\n`))],
  ['reports', reporting(({ flood }) => flood('* STATUS a (MESSAGES 1)\r\n* LIST () "/" b\r\n'))],
  ['lines that are not IMAP', after('IDLE', ({ flood }) => flood('((((((((((\r\n'))],
  ['empty lines', after('IDLE', ({ flood }) => flood('\r\n'))],
  ['continuations', after('IDLE', ({ flood }) => flood('+ go on\r\n'))],
  ['a line without end', after('IDLE', ({ flood }) => flood('x'.repeat(1024)))],
  [
    'a literal of a gigabyte',
    after(LIST_ALL, ({ say, flood }) => (say('* LIST () "/" {1073741824}'), flood('x'))),
  ],
  ['a set without end', after(LIST_ALL, ({ say, flood }) => (say('* X 1'), flood(',1')))],
]

const IN_CI = new Set(['EXISTS', 'FETCH', 'a literal of a gigabyte', 'a set without end'])

// Alone: it measures the memory of the process.
test('servers that send endlessly lose their connections and delay no other account', async () => {
  await using app = await openSyncApp()
  const other = await app.createTenant('other')
  await using servers = new AsyncDisposableStack()
  const accounts = new Map<string, string>()
  const before = process.memoryUsage().rss
  for (const [what, misbehave] of casesFor(FLOODS, ([name]) => IN_CI.has(name))) {
    const server = servers.use(await startHostileImap(misbehave))
    const user = { ...USER, user: `${accounts.size}`, email: `${accounts.size}@hostile.example` }
    accounts.set(what, await connectMailbox(app, server, user, SETTINGS))
  }

  const waiting = new Set(accounts.keys())
  const reasons = new Map<string, string>()
  await waitUntil(
    'the end of every connection',
    async () => {
      expect((await other.get('/v1/settings')).status).toBe(200)
      for (const what of waiting) {
        const { body } = await app.get<Account>(`/v1/accounts/${accounts.get(what)}`)
        if (body.runtime?.state !== 'backoff') continue
        reasons.set(what, body.runtime.detail ?? '')
        waiting.delete(what)
      }
      return waiting.size === 0
    },
    WAIT_SECONDS,
  )

  for (const [what, reason] of reasons) expect(reason, what).toMatch(ENDS)
  expect(process.memoryUsage().rss - before).toBeLessThan(MEMORY_BYTES_MAX)
})

test.concurrent('a server that always reports something new causes at most one pass a second', async () => {
  const listedAt: number[] = []
  let messages = 0
  const answer = reporting(({ say }) =>
    say('+ idling', `* STATUS other (MESSAGES ${++messages} UIDNEXT ${messages + 1})`),
  )
  // Passes that are due by the clock count, too.
  await using app = await openSyncApp({ pace: { pollSeconds: 1.5 } })
  await using server = await startHostileImap(asked => {
    if (asked.command.startsWith(LIST_ALL)) listedAt.push(performance.now())
    return answer(asked)
  })
  await connectMailbox(app, server, USER, SETTINGS)
  await waitUntil('nine passes', async () => listedAt.length >= 9)

  // Before the account is live, passes follow each other directly. Seven pauses take seven seconds, and half of that where
  // a busy machine is late with the question before them; without pauses, it is a fraction of a second.
  expect(listedAt[8]! - listedAt[1]!).toBeGreaterThan(3_500)
})

test.concurrent('an account whose server floods is deleted at once', async () => {
  await using app = await openSyncApp()
  await using server = await startHostileImap(after('IDLE', ({ flood }) => flood('* 1 EXISTS\r\n')))
  const accountId = await connectMailbox(app, server, USER, SETTINGS)
  await waitUntil('IDLE', async () => server.commands.includes('IDLE'))

  expect((await app.delete(`/v1/accounts/${accountId}`)).status).toBe(200)

  await waitUntil('the end of the connection', async () => server.openConnections === 0)
})

test.concurrent('an odd answer is described in words of the service, to the caller that connects the account and in its runtime', async () => {
  await using app = await openSyncApp()
  let isOdd = false
  await using server = await startHostileImap(({ command, tag, say }) => {
    if (!isOdd || command !== 'LIST "" ""') return false
    // A name that is a literal, where the library expects a string.
    say('* LIST () "/" {6}', 'INBOX/', `${tag} OK done`)
    return true
  })
  const accountId = await connectMailbox(app, server, USER, SETTINGS)
  await waitUntil('IDLE', async () => server.commands.includes('IDLE'))
  isOdd = true
  const words = 'The connection to the server failed: the server sent something that cannot be understood.'
  const { host, port } = server
  const refused = await app.post('/v1/imap-accounts', {
    email: 'other@hostile.example',
    password: 'secret',
    imap: { host, port, security: 'none', user: 'other' },
    smtp: null,
  })
  expect(refused.body).toMatchObject({ message: `IMAP: ${words}` })

  await app.patch(`/v1/accounts/${accountId}`, { status: 'paused' })
  // Before its owner has let go of it, the account would keep its connection.
  await waitUntil('the connection to be left', async () => server.openConnections === 0)
  await app.patch(`/v1/accounts/${accountId}`, { status: 'active' })
  await waitForRuntime(app, accountId, 'backoff', new RegExp(`^${words}`))
})
