import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callerOf } from './caller.ts'
import { makeExternalDatabase } from './external-database.ts'
import { findFreePort } from './metrics.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import {
  isRunning,
  makeDataFolder,
  PROGRAM,
  runWaxwing,
  type ServiceProcess,
  startServiceProcess,
  until,
} from './service-process.ts'
import { SOAK } from './soak.ts'

const SECONDS = 1000
/**
 * Requests in progress get 5 seconds only after Ctrl-C. A stop that took this long waited for them, however busy the
 * machine is.
 */
const DRAIN_SECONDS_MAX = 30

function call(service: ServiceProcess, key: string | null) {
  return callerOf(service.address, key)
}

/** Starts on a new folder and returns the first key, with a mark in the data that must survive everything. */
async function startWithMark(env: Record<string, string> = {}) {
  const folder = await makePreparedFolder()
  const service = await startServiceProcess(folder, { env })
  const { key } = service
  if (key === null) throw new Error('The first start printed no key')
  const changed = await call(service, key).patch('/v1/settings', { syncWindowDays: 17 })
  expect(changed.status).toBe(200)
  return {
    folder,
    service,
    key,
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

async function expectMark(service: ServiceProcess, key: string) {
  expect((await call(service, key).get('/v1/settings')).body).toMatchObject({ syncWindowDays: 17 })
}

type Marked = Awaited<ReturnType<typeof startWithMark>>

/** Kills the database server of a service, and waits until another one serves the same data. */
async function killDatabase({ service, folder, key }: Pick<Marked, 'service' | 'folder' | 'key'>) {
  const server = await requireServer(folder)
  process.kill(server, 'SIGKILL')
  const { get } = call(service, null)
  // The old server's connections answer a little longer than it lives.
  await until(async () => ![null, server].includes(await folder.findServer()), 'another database server runs')
  await until(async () => (await get('/health/ready')).status === 200, 'the service is ready again')
  await expectMark(service, key)
}

async function requireServer(folder: { findServer(): Promise<number | null> }) {
  const pid = await folder.findServer()
  if (pid === null) throw new Error('The embedded server does not run')
  return pid
}

describe('waxwing serve', () => {
  test('creates its data at the first start, in the folder where it is started, with a key in a private file and not in the log', async () => {
    await using folder = await makeDataFolder()
    const env = { WAXWING_DATA_DIR: 'kept/here' }
    await using service = await startServiceProcess(folder, { env, cwd: folder.path })

    const dataDir = path.join(folder.path, 'kept/here')
    const file = path.join(dataDir, 'first-api-key')
    expect(service.output()).toContain(`is in the file ${file}.`)
    expect(service.output()).not.toContain('wk_')
    const { uid, mode } = await stat(file)
    expect({ uid, mode: mode & 0o777 }).toEqual({ uid: process.getuid?.(), mode: 0o600 })
    const key = (await readFile(file, 'utf8')).trim()
    expect((await call(service, key).get('/v1/accounts')).body).toEqual({ items: [], nextCursor: null })
    expect(await readdir(dataDir)).toEqual(expect.arrayContaining(['postgres', 'secret.key']))
    service.kill('SIGINT')
    expect((await service.ended).code).toBe(0)
  })

  test.runIf(process.platform === 'linux')(
    'shows the first key on a terminal, with commands that work, and stores it nowhere else',
    SOAK,
    async () => {
      await using folder = await makePreparedFolder()
      const command = `${process.execPath} ${PROGRAM} serve`
      await using service = await startServiceProcess(folder, {
        // Gives the service a terminal, and copies its output from there.
        command: ['script', '--quiet', '--return', '--command', command, '/dev/null'],
        env: { WAXWING_LOG_FORMAT: 'json' },
      })

      const [, key] = /^ {2}export WAXWING_KEY=(wk_\w+)\s*$/m.exec(service.output()) ?? []
      const [, url] = /curl -H "Authorization: Bearer \$WAXWING_KEY" (http:\S+)/.exec(service.output()) ?? []
      const answer = await fetch(url ?? '', { headers: { authorization: `Bearer ${key}` } })
      expect(answer.status).toBe(200)
      expect(await readdir(folder.path)).not.toContain('first-api-key')
    },
  )

  test('creates no key that it cannot store, and prints how to create one', SOAK, async () => {
    await using folder = await makeDataFolder()
    await using database = await makeExternalDatabase({ migrated: true })
    const notAFolder = path.join(folder.path, 'file')
    await writeFile(notAFolder, '')
    await using service = await startServiceProcess(folder, {
      env: {
        DATABASE_URL: database.url,
        WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
        WAXWING_DATA_DIR: path.join(notAFolder, 'data'),
      },
    })
    expect(service.key).toBeNull()
    expect(service.output()).toMatch(/No API key was made[^"]*npx waxwing key create/)
    const { db } = database.database
    expect(await db.selectFrom('api_key').select('id').execute()).toEqual([])
    expect(await db.selectFrom('tenant').select('name').execute()).toEqual([{ name: 'default' }])
  })

  test(
    'continues with its data at a second start, prints no key, and refuses to start without secret.key',
    SOAK,
    async () => {
      await using first = await startWithMark()
      first.service.kill('SIGTERM')
      expect((await first.service.ended).code).toBe(0)
      const file = path.join(first.folder.path, 'secret.key')
      await rename(file, `${file}.away`)
      const before = await readdir(first.folder.path)
      for (const command of [['serve'], ['tenant', 'list']]) {
        const refused = await runWaxwing(command, { env: { WAXWING_DATA_DIR: first.folder.path } })
        expect(refused.code).toBe(1)
        expect(refused.stderr).toContain(`${file} is missing, and the database there is sealed with it.`)
        expect(await readdir(first.folder.path)).toEqual(before)
      }

      await rename(`${file}.away`, file)
      await using second = await startServiceProcess(first.folder)
      expect(second.output()).not.toContain('wk_')
      await expectMark(second, first.key)
    },
  )

  test('survives kill -9 of itself, of its database and of both, also if nobody reads its output, and then ends cleanly on Ctrl-C', async () => {
    await using first = await startWithMark()
    const { folder, key } = first
    const left = await requireServer(folder)
    first.service.kill('SIGKILL')
    await first.service.ended
    expect(isRunning(left)).toBe(true)

    // It takes over the database that runs, and then starts another one.
    await using second = await startServiceProcess(folder)
    expect(await requireServer(folder)).toBe(left)
    await expectMark(second, key)
    await killDatabase({ service: second, folder, key })

    process.kill(await requireServer(folder), 'SIGKILL')
    second.kill('SIGKILL')
    await second.ended
    await using third = await startServiceProcess(folder)
    await expectMark(third, key)

    third.closeOutput()
    // The next log lines go to a closed pipe.
    await killDatabase({ service: third, folder, key })
    const server = await requireServer(folder)
    const startedAt = Date.now()
    // Under npm, it comes twice.
    third.kill('SIGINT')
    third.kill('SIGINT')
    const { code, signal } = await third.ended
    expect({ code, signal }).toEqual({ code: 0, signal: null })
    expect(Date.now() - startedAt).toBeLessThan(DRAIN_SECONDS_MAX * SECONDS)
    expect(isRunning(server)).toBe(false)
    expect(await folder.findServer()).toBeNull()
  })

  test('keeps its database when the one of a data folder that was deleted under it ends', SOAK, async () => {
    await using first = await startWithMark()
    const left = await requireServer(first.folder)
    first.service.kill('SIGKILL')
    await first.service.ended
    await using other = await makePreparedFolder()
    await rm(first.folder.path, { recursive: true })
    await rename(other.path, first.folder.path)

    await using second = await startServiceProcess(first.folder)
    // It would notice within a minute.
    process.kill(left, 'SIGINT')
    await until(() => !isRunning(left), 'the server that was left ends')
    const env = { WAXWING_DATA_DIR: first.folder.path }
    expect(await runWaxwing(['tenant', 'list'], { env })).toMatchObject({ code: 0 })
    expect((await call(second, second.key).get('/v1/settings')).status).toBe(200)
  })

  test('names every wrong setting at once and touches nothing', async () => {
    await using folder = await makeDataFolder()
    const dataDir = path.join(folder.path, 'data')
    const env = { WAXWING_DATA_DIR: dataDir, WAXWING_PORT: 'http', WAXWING_ALOW_PLAINTEXT: 'true' }
    const { code, stderr } = await runWaxwing(['serve'], { env })

    expect(code).toBe(1)
    expect(stderr).toContain('WAXWING_PORT must be a whole number from 0 to 65535, not "http"')
    expect(stderr).toContain('WAXWING_ALOW_PLAINTEXT is not a setting. Did you mean WAXWING_ALLOW_PLAINTEXT?')
    expect(await readdir(folder.path)).toEqual([])
  })

  test('lists every setting in its help', async () => {
    const { code, stdout } = await runWaxwing(['serve', '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('WAXWING_EGRESS_ALLOW')
    expect(stdout).toContain('DATABASE_URL')
  })
})

describe('a running service', () => {
  let running: Marked
  let metricsPort: number
  beforeAll(async () => {
    metricsPort = await findFreePort()
    running = await startWithMark({
      NODE_OPTIONS: '--max-semi-space-size=3',
      MALLOC_ARENA_MAX: '2',
      WAXWING_METRICS_PORT: String(metricsPort),
    })
  })
  afterAll(() => running[Symbol.asyncDispose]())

  test.runIf(process.platform === 'linux')(
    'limits unused memory, and lets the operator change the limit',
    async () => {
      const { pid } = running.service
      const settings = (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0')
      expect(settings).toContain('NODE_OPTIONS=--max-semi-space-size=16 --max-semi-space-size=3')
      expect(settings).toContain('MALLOC_ARENA_MAX=2')
      const parts = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0')
      expect(parts).toContain('--heap-growing-percent=75')
    },
  )

  test('makes a second service on its data folder refuse to start, and does not notice it', async () => {
    const { folder, service, key } = running
    const second = await runWaxwing(['serve'], { env: { WAXWING_DATA_DIR: folder.path } })

    expect(second.code).toBe(1)
    expect(second.stderr).toContain(
      `The data folder ${folder.path} is in use by another Waxwing service, process`,
    )
    expect(second.stderr).not.toContain('    at ')
    await expectMark(service, key)
  })

  test(
    'makes another one explain that its port is taken, which leaves no database behind',
    SOAK,
    async () => {
      await using folder = await makePreparedFolder()
      const env = { WAXWING_DATA_DIR: folder.path, WAXWING_PORT: new URL(running.service.address).port }
      const { code, stderr } = await runWaxwing(['serve'], { env })

      expect(code).toBe(1)
      expect(stderr).toMatch(/^127\.0\.0\.1:\d+ is in use by another program\./)
      expect(await folder.findServer()).toBeNull()
    },
  )

  test('shows metrics and health on a port of their own', async () => {
    const { service, key } = running
    await call(service, key).get('/v1/accounts')
    const { get } = callerOf(`http://127.0.0.1:${metricsPort}`, null)

    expect((await get('/health/live')).status).toBe(200)
    const none = { count: 0, oldestSeconds: 0 }
    await expect
      .poll(() => get('/health/ready'))
      .toMatchObject({
        status: 200,
        body: { status: 'ok', accounts: { unfollowed: none, failing: none, lagging: none } },
      })
    const { status, body } = await get<string>('/metrics')
    expect(status).toBe(200)
    expect(body).toContain('waxwing_accounts_troubled{trouble="unfollowed"} 0')
    expect(body).toContain(
      'waxwing_http_request_seconds_count{method="GET",route="/v1/accounts",status="200"} 1',
    )
  })
})

describe('a signal to stop', () => {
  /** Sends a request that the service waits for, since its body never ends. */
  async function startRequest(address: string, key: string) {
    const { hostname, port } = new URL(address)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    socket.on('error', () => {})
    const head = ['POST /v1/imap-accounts HTTP/1.1', 'host: x', `authorization: Bearer ${key}`]
    socket.write(`${[...head, 'content-type: application/json', 'content-length: 9'].join('\r\n')}\r\n\r\n{`)
    return { socket, [Symbol.dispose]: () => void socket.destroy() }
  }

  test(
    'gives requests in progress at most 5 seconds after Ctrl-C, and ends at once when repeated; the database ends by itself',
    SOAK,
    async () => {
      await using first = await startWithMark()
      const { folder, key } = first
      using _request = await startRequest(first.service.address, key)
      await expectMark(first.service, key)
      const server = await requireServer(folder)
      let isOver = false
      void first.service.ended.then(() => (isOver = true))
      // A repetition within the first second counts as the same signal.
      await until(() => {
        first.service.kill('SIGTERM')
        return isOver
      }, 'the service ends')
      expect((await first.service.ended).code).toBe(1)
      await until(() => !isRunning(server), 'the database ends')

      await using second = await startServiceProcess(folder)
      using _another = await startRequest(second.address, key)
      await expectMark(second, key)
      const startedAt = Date.now()
      second.kill('SIGINT')
      expect((await second.ended).code).toBe(0)
      expect(Date.now() - startedAt).toBeGreaterThan(4 * SECONDS)
      expect(Date.now() - startedAt).toBeLessThan(DRAIN_SECONDS_MAX * SECONDS)
    },
  )
})
