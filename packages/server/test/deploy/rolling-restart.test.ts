import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, request } from 'node:http'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { callerOf } from '../caller.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { findFreePorts } from '../servers/daemon.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startHaproxy } from '../servers/haproxy.ts'
import { openWorld } from '../servers/world.ts'
import {
  type DataFolder,
  makeDataFolder,
  type ServiceProcess,
  startServiceProcess,
} from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'

const PROCESSES = 3
const CLIENTS = 4
/** Between two rounds of a client: the test needs a stream of requests and not a load. */
const ROUND_MILLISECONDS = 40
/**
 * Seconds that the download goes on after its process was signalled to stop. `npm run soak` makes it longer than a
 * minute.
 */
const DOWNLOAD_SECONDS = Number(process.env['WAXWING_TEST_DOWNLOAD_SECONDS'] ?? 4)
/** More than the buffers of all sockets on the way hold. */
const MESSAGE_BYTES = 48 * 1024 * 1024
const PIECE_MILLISECONDS = 250

/** Processes that share a database, each with a port and a folder of its own, and one folder of stored files. */
async function openProcesses(env: Record<string, string>) {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await makeExternalDatabase({ migrated: true }))
  const folders: DataFolder[] = []
  for (let count = 0; count < PROCESSES; count += 1) folders.push(opened.use(await makeDataFolder()))
  const ports = await findFreePorts(PROCESSES)
  const shared = {
    ...env,
    DATABASE_URL: database.url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_BLOB_DIR: path.join(folders[0]?.path ?? '', 'blobs'),
    WAXWING_LOG_LEVEL: 'debug',
  }
  const start = (nth: number) => {
    const folder = folders[nth]
    if (!folder) throw new Error(`There is no process ${nth}`)
    return startServiceProcess(folder, { env: { ...shared, WAXWING_PORT: String(ports[nth]) } })
  }
  const first = await start(0)
  const processes: ServiceProcess[] = [first]
  opened.defer(async () => {
    await Promise.all(processes.map(process => process[Symbol.asyncDispose]()))
  })
  processes.push(...(await Promise.all([start(1), start(2)])))
  const owned = opened.move()
  return {
    ports,
    key: first.key,
    processes,
    async restart(nth: number) {
      processes[nth] = await start(nth)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface Client {
  /** Names of objects that were acknowledged as stored. */
  written: string[]
  /** Requests that were not answered as they should be. */
  failures: string[]
  requests: number
}

/** Answer of a process that has too much to do, as on a busy machine. The caller comes again. */
class Overloaded extends Error {}

/** Writes and reads what it wrote over one kept connection, until the test ends it. */
async function runClient(name: string, address: string, key: string, end: AbortSignal): Promise<Client> {
  const client: Client = { written: [], failures: [], requests: 0 }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  async function call(method: string, at: string, body?: object): Promise<{ id?: string; name?: string }> {
    client.requests += 1
    const sent = request(address + at, { method, agent, headers })
    sent.end(body && JSON.stringify(body))
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    const content = (await json(answer)) as { id?: string; code?: string }
    if (content.code === 'overloaded') throw new Overloaded()
    if (answer.statusCode !== 200 && answer.statusCode !== 201)
      throw new Error(`${method} ${at}: ${answer.statusCode} ${JSON.stringify(content)}`)
    return content
  }
  for (let round = 0; !end.aborted; round += 1) {
    try {
      const template = { name: `${name}-${round}`, subject: 'Hello', text: 'Hello' }
      const { id } = await call('POST', '/v1/templates', template)
      client.written.push(template.name)
      const read = await call('GET', `/v1/templates/${id}`)
      if (read.name !== template.name) throw new Error(`${template.name} is read as ${read.name}`)
    } catch (error) {
      if (!(error instanceof Overloaded)) client.failures.push(String(error))
    }
    await sleep(ROUND_MILLISECONDS)
  }
  agent.destroy()
  return client
}

/** Takes a download piece by piece, slowly until the test hurries it. */
async function startDownload(address: string, key: string, at: string) {
  const headers = { authorization: `Bearer ${key}`, 'x-request-id': 'slow-download' }
  const [answer] = (await once(get(address + at, { headers }), 'response')) as [IncomingMessage]
  const hurry = Promise.withResolvers<void>()
  const read = async () => {
    const hash = createHash('sha256')
    for await (const piece of answer) {
      hash.update(piece as Buffer)
      await Promise.race([hurry.promise, sleep(PIECE_MILLISECONDS)])
    }
    return hash.digest('hex')
  }
  return { status: answer.statusCode, digest: read(), hurry: () => hurry.resolve() }
}

test('a rolling restart behind a load balancer fails no request, loses no write, and lets a slow download end', async () => {
  await using dovecot = await startDovecot()
  await using service = await openProcesses({
    WAXWING_EGRESS_ALLOW: '127.0.0.1/32',
    WAXWING_ALLOW_PLAINTEXT: 'true',
  })
  const { processes, ports, key } = service
  if (key === null) throw new Error('The first start made no key')
  await using balancer = await startHaproxy(ports)
  const { address } = balancer
  const untilUp = () =>
    waitUntil('the balancer uses every process', async () => (await balancer.findUp()).length === PROCESSES)
  await untilUp()
  const message = largeMessage()
  const download = await startDownload(
    address,
    key,
    await findLarge(dovecot, callerOf(address, key), message),
  )
  expect(download.status).toBe(200)

  const end = new AbortController()
  const clients = Array.from({ length: CLIENTS }, (_, nth) =>
    runClient(`client-${nth}`, address, key, end.signal),
  )
  const sender = await waitUntil('the process that sends the download', async () =>
    processes.find(({ output }) => output().includes('"requestId":"slow-download"')),
  )
  const sending = processes.indexOf(sender)
  for (const [nth, process] of [...processes].entries()) {
    process.kill('SIGTERM')
    if (nth === sending) {
      let hasEnded = false
      void process.ended.then(() => (hasEnded = true))
      const toldAt = performance.now()
      await waitUntil(
        'the download goes on',
        async () => hasEnded || performance.now() - toldAt > DOWNLOAD_SECONDS * 1000,
        DOWNLOAD_SECONDS + 60,
      )
      expect(hasEnded).toBe(false)
      download.hurry()
    }
    expect(await process.ended).toMatchObject({ code: 0 })
    await service.restart(nth)
    await untilUp()
  }
  expect(await download.digest).toBe(createHash('sha256').update(message).digest('hex'))

  end.abort()
  const done = await Promise.all(clients)
  expect(done.flatMap(({ failures }) => failures)).toEqual([])
  for (const { requests } of done) expect(requests).toBeGreaterThan(20)
  expect((await listNames(callerOf(address, key))).toSorted()).toEqual(
    done.flatMap(({ written }) => written).toSorted(),
  )
})

function largeMessage(): Buffer {
  const lines = randomBytes((MESSAGE_BYTES * 3) / 4)
    .toString('base64')
    .replaceAll(/.{76}/g, '$&\r\n')
  return Buffer.from(
    'From: a@example.com\r\nTo: b@example.com\r\nSubject: large\r\nMIME-Version: 1.0\r\n' +
      'Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n' +
      `${lines}\r\n`,
  )
}

/** Delivers a message to a new account, and returns the path of its source. */
async function findLarge(
  server: Awaited<ReturnType<typeof startDovecot>>,
  { get: ask, post }: ReturnType<typeof callerOf>,
  raw: Buffer,
): Promise<string> {
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  await world.deliver({ raw })
  const { email, password } = user
  const imap = { host: server.host, port: server.port, security: 'none' }
  const made = await post<{ id: string }>('/v1/imap-accounts', { email, password, imap, smtp: null })
  expect(made.status).toBe(200)
  const messages = `/v1/accounts/${made.body.id}/messages`
  return waitUntil('the message is indexed', async () => {
    const { body } = await ask<{ items: { id: string }[] }>(messages)
    const [first] = body.items
    return first && `${messages}/${first.id}/raw`
  })
}

async function listNames({ get: ask }: ReturnType<typeof callerOf>): Promise<string[]> {
  const names: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const at: string = `/v1/templates?limit=200${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
    const { body } = await ask<{ items: { name: string }[]; nextCursor: string | null }>(at)
    names.push(...body.items.map(({ name }) => name))
    cursor = body.nextCursor
  }
  return names
}
