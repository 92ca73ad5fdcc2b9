/** `npm run walks`: counts the files that one request passes; see USAGE. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { startSmtpTaker } from '../bench/smtp-taker.ts'
import { type Caller, callerOf } from '../packages/server/test/caller.ts'
import { startPostgresServer } from '../packages/server/test/postgres-server.ts'
import { startDovecot } from '../packages/server/test/servers/dovecot.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { installServers } from '../packages/server/test/servers/install.ts'
import { makeDataFolder, startServiceProcess } from '../packages/server/test/service-process.ts'
import { readMessages, waitForFirstSync } from '../packages/server/test/sync/followed-account.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'

/** The rooms that do what a call asks for, between the door and the adapters of providers. */
const ITSELF = ['accounts', 'connections', 'events', 'features']

const USAGE = `npm run walks
  Prints the files of the service that the following pass, as the inspector of Node.js sees it, without those of kit/:
  a PATCH of a message, until it is answered; and a POST of a message to send, until it is answered.
  Each is sent several times, and what passes in all of them counts, so that what goes on beside them does not.
  The files of the service itself are counted apart: those of ${ITSELF.join(', ')},
  which lie between the surfaces and the adapters of providers.
`

const WARM_UP = 20
const TIMES = 12
const SOURCE = /\/packages\/(?:server\/src\/|(?=contract\/))(.+)$/

interface Coverage {
  result: Array<{ url: string; functions: Array<{ functionName: string; ranges: Array<{ count: number }> }> }>
}

if (process.argv.includes('--help')) {
  process.stdout.write(USAGE)
} else {
  await installServers()
  await countWalks()
}

async function countWalks() {
  await using server = await startDovecot()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver([{ raw: `From: ada@a.test\r\nTo: ${user.email}\r\nSubject: Walk\r\n\r\nA text.\r\n` }])
  await using postgres = await startPostgresServer()
  await using taker = await startSmtpTaker()
  await using folder = await makeDataFolder()
  const env = {
    DATABASE_URL: postgres.url('postgres'),
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_EGRESS_ALLOW: '127.0.0.1',
    WAXWING_ALLOW_PLAINTEXT: 'true',
  }
  const inspected = { WAXWING_ROLES: 'api', NODE_OPTIONS: '--inspect=127.0.0.1:0' }
  await using api = await startServiceProcess(folder, { env: { ...env, ...inspected } })
  // Following and sending run in another process.
  await using _others = await startServiceProcess(folder, { env: { ...env, WAXWING_ROLES: 'sync,jobs' } })

  const caller = callerOf(api.address, api.key ?? '')
  const accountId = await connect(caller, server, user, taker.port)
  await waitForFirstSync(caller, accountId)
  const [message] = await readMessages(caller, accountId)
  const account = `/v1/accounts/${accountId}`
  // The service starts itself again once, so the last one is it.
  const address = [...api.output().matchAll(/ws:\/\/\S+/g)].at(-1)?.[0] ?? ''
  using inspector = await openInspector(address)

  let isRead = false
  await count('PATCH of a message', inspector, async () => {
    isRead = !isRead
    const { status, body } = await caller.patch(`${account}/messages/${message?.id}`, { isRead })
    if (status !== 200) throw new Error(JSON.stringify(body))
  })
  await count('POST of a message to send', inspector, async () => {
    const sent = { to: [{ address: 'grace@walk.test' }], subject: 'A walk', text: 'A text.' }
    const { status, body } = await caller.post(`${account}/outbox`, sent)
    if (status !== 200) throw new Error(JSON.stringify(body))
  })
}

async function connect(
  caller: Caller,
  server: MailServer,
  user: TestUser,
  smtpPort: number,
): Promise<string> {
  const { status, body } = await caller.post<{ id: string }>('/v1/imap-accounts', {
    email: user.email,
    password: user.password,
    imap: { host: server.host, port: server.port, security: 'none', user: user.user },
    smtp: { host: '127.0.0.1', port: smtpPort, security: 'none', user: user.user },
    settings: { syncWindowDays: null },
  })
  if (status !== 200) throw new Error(JSON.stringify(body))
  return body.id
}

/** Prints the files that every repetition of a call passes. */
async function count(name: string, inspector: Inspector, call: () => Promise<void>) {
  for (let nth = 0; nth < WARM_UP; nth++) await call()
  let passed: ReadonlySet<string> | null = null
  for (let nth = 0; nth < TIMES; nth++) {
    await inspector.take()
    await call()
    const now = await inspector.take()
    passed = new Set([...now].filter(file => passed === null || passed.has(file)))
  }
  const files = [...(passed ?? [])].filter(file => !file.startsWith('kit/')).toSorted()
  const rooms = Map.groupBy(files, file => file.slice(0, Math.max(file.indexOf('/'), 0)))
  const counts = [...rooms].map(([room, { length }]) => `${room} ${length}`)
  const own = ITSELF.reduce((sum, room) => sum + (rooms.get(room)?.length ?? 0), 0)
  const all = `${files.length} files (${counts.join(', ')})`
  process.stdout.write(`${name}: ${own} files of the service itself, of ${all}\n`)
  process.stdout.write(files.map(file => `  ${file}\n`).join(''))
}

interface Inspector extends Disposable {
  /** The files with a function that was called since the last time. */
  take(): Promise<Set<string>>
}

async function openInspector(address: string): Promise<Inspector> {
  const socket = new WebSocket(address)
  await once(socket, 'open')
  let lastId = 0
  const asked = new Map<number, (result: unknown) => void>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(String(data)) as { id: number; result: unknown }
    asked.get(id)?.(result)
    asked.delete(id)
  })
  const ask = (method: string, params = {}) => {
    const id = ++lastId
    const { promise, resolve } = Promise.withResolvers<unknown>()
    asked.set(id, resolve)
    socket.send(JSON.stringify({ id, method, params }))
    return promise
  }
  await ask('Profiler.enable')
  await ask('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  return {
    async take() {
      // Named by the protocol of the inspector.
      const { result } = (await ask('Profiler.takePreciseCoverage')) as Coverage
      const called = result.filter(({ functions }) =>
        functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
      )
      return new Set(called.flatMap(({ url }) => SOURCE.exec(url)?.[1] ?? []))
    },
    [Symbol.dispose]: () => socket.close(),
  }
}
