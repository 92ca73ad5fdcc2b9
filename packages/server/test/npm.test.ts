import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openEmbedded } from '../src/database/embedded/embedded.ts'
import { silentLog } from '../src/kit/log.ts'
import { compileCache } from './compile-cache.ts'
import { findFreePort } from './metrics.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { isRunning, PROGRAM, startServiceProcess, until } from './service-process.ts'
import { casesFor, SOAK } from './soak.ts'

const run = promisify(execFile)
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** The environment variables that npm needs: the path of programs, and its cache. */
const NPM_ENVIRONMENT = {
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '',
  npm_config_update_notifier: 'false',
}

const COMMANDS = {
  'npm start': ['npm', 'start'],
  'npx waxwing serve': ['npx', 'waxwing', 'serve'],
} as const

type CommandName = keyof typeof COMMANDS

/** Starts a service through npm, with the means to see its end, npm's own coming first. */
async function startUnderNpm(name: CommandName) {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makePreparedFolder())
  const [file, ...args] = COMMANDS[name]
  const npm = opened.use(
    await startServiceProcess(folder, {
      command: [file, ...args],
      cwd: ROOT,
      // A port that no other program is given while it is free.
      env: { ...NPM_ENVIRONMENT, WAXWING_PORT: String(await findFreePort()) },
    }),
  )
  const owned = opened.move()
  return { npm, folder, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function isListening(address: string) {
  return fetch(`${address}/health/live`).then(
    () => true,
    () => false,
  )
}

/** Sends a request whose body is incomplete. */
async function beginRequest(address: string, key: string | null) {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => void (answer += text))
  socket.on('error', () => {})
  const head = ['POST /v1/imap-accounts HTTP/1.1', 'host: x', `authorization: Bearer ${key}`]
  socket.write(`${[...head, 'content-type: application/json', 'content-length: 2'].join('\r\n')}\r\n\r\n{`)
  return {
    async finish() {
      socket.write('}')
      await until(() => answer.includes('\r\n\r\n'), 'the request is answered')
      return answer
    },
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

test.each(casesFor(Object.keys(COMMANDS) as CommandName[], (_, at) => at === 0))(
  'SIGTERM to "%s" alone ends the service, which answers requests in progress and frees port and folder',
  async name => {
    await using started = await startUnderNpm(name)
    const { npm, folder } = started
    using request = await beginRequest(npm.address, npm.key)
    // The service has read the request when it answers the next one.
    expect(await isListening(npm.address)).toBe(true)
    npm.kill('SIGTERM')
    await until(async () => !(await isListening(npm.address)), 'the service takes no new requests')
    expect(await request.finish()).toMatch(/^HTTP\/1\.1 400 /)
    await until(() => npm.output().includes('"Stopped"'), 'the service closes everything')
    expect(await folder.findServer()).toBeNull()

    await using listening = createServer().listen(Number(new URL(npm.address).port), '127.0.0.1')
    await once(listening, 'listening')
    await using _embedded = await openEmbedded({ dataDir: folder.path, as: 'service', log: silentLog })
  },
)

test('an older Node.js installs without warnings, and prints how to get a newer one', SOAK, async context => {
  // Below npm and npx, the Node.js of this clone comes first.
  const PATH = NPM_ENVIRONMENT.PATH.split(':')
    .filter(folder => !folder.includes('node_modules'))
    .join(':')
  const env = { ...NPM_ENVIRONMENT, PATH, npm_config_userconfig: '/dev/null' }
  const { stdout: version } = await run('node', ['--version'], { env })
  if (Number.parseInt(version.slice(1), 10) >= 22) {
    return context.skip(`The Node.js of this machine is ${version.trim()}, which every package supports`)
  }
  const { stdout, stderr } = await run('npm', ['ci', '--dry-run', '--offline'], { cwd: ROOT, env })
  expect(stdout).toContain('up to date')
  expect(stderr).toBe('')
  await expect(run('node', [PROGRAM], { env })).rejects.toThrow(
    'On Linux, "npm start" in the folder of your clone installs a newer one there',
  )
})

test(
  'the service ends when npm is killed, and a detached one continues without the process that started it',
  SOAK,
  async () => {
    await using folder = await makePreparedFolder()
    const env = {
      ...NPM_ENVIRONMENT,
      ...compileCache(),
      WAXWING_DATA_DIR: folder.path,
      WAXWING_PORT: '0',
      WAXWING_METRICS_PORT: '0',
    }
    const log = `${folder.path}/output`
    // Started by a script of npm, whose shell and npm end at once.
    const script = `nohup ${process.execPath} ${PROGRAM} serve > ${log} 2>&1 & echo $!`
    const shell = spawn('sh', ['-c', script], {
      env: { ...env, npm_lifecycle_script: script, npm_lifecycle_event: 'start' },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const [pid] = await Promise.all([
      once(shell.stdout, 'data').then(([data]) => Number(data)),
      once(shell, 'exit'),
    ])
    try {
      const read = () => readFile(log, 'utf8').catch(() => '')
      await until(async () => (await read()).includes('Waxwing is running'), 'the service starts')
      const [address = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(await read()) ?? []

      // The other one notices that its parent is gone, for which the detached one has had longer.
      await using started = await startUnderNpm('npm start')
      const { npm } = started
      npm.kill('SIGKILL')
      await until(async () => !(await isListening(npm.address)), 'the service takes no new requests')
      await until(async () => (await started.folder.findServer()) === null, 'the database ends')
      expect(await isListening(address)).toBe(true)
      expect(await read()).not.toContain('Stopping')
    } finally {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL')
    }
  },
)
