import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'

const START_ATTEMPTS_MAX = 5
const START_SECONDS_MAX = 60
/** All are below those that Linux and macOS give to connections and to servers that take any port. */
const PORT_MIN = 15_000
/** Each worker of a test run has ports of its own. Workers that run at the same time have different numbers. */
const WORKERS_MAX = 17
const PORTS_PER_WORKER = 1_000
const FIRST_PORT = PORT_MIN + (Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS_MAX) * PORTS_PER_WORKER

export interface Daemon extends AsyncDisposable {
  readonly pid: number
  readonly ports: readonly number[]
  readonly folder: string
}

export interface DaemonSpec {
  name: string
  /** Loopback ports that it listens on; the first one must greet before it counts as started. */
  portCount: number
  /** The ports to use, in place of free ones. */
  ports?: readonly number[] | undefined
  /** It speaks only when it is spoken to: it counts as started when its first port takes connections. */
  isSilent?: boolean
  /** Writes its configuration into `folder` and returns the command to run in the foreground. */
  prepare(
    folder: string,
    ports: readonly number[],
  ): Promise<{ command: string; args: string[]; env?: NodeJS.ProcessEnv; log: string }>
}

/**
 * Starts a server in a new folder and process group. Both are gone after dispose, and as well when this process dies
 * in whatever way: a watching shell holds one end of a pipe to us and acts when it closes.
 */
export async function startDaemon(spec: DaemonSpec): Promise<Daemon> {
  let failure: unknown
  for (let attempt = 0; attempt < START_ATTEMPTS_MAX; attempt++) {
    // A unix socket's path has at most 107 bytes, which a long TMPDIR would use up: hence /tmp.
    const folder = await mkdtemp(join('/tmp', `waxwing-${spec.name}-`))
    const ports = spec.ports ?? (await findFreePorts(spec.portCount))
    const { command, args, env, log } = await spec.prepare(folder, ports)
    const server = spawn(command, args, { detached: true, stdio: 'ignore', env: { ...process.env, ...env } })
    const ended = endOf(server)
    if (server.pid === undefined) throw await ended
    const stop = watch(server.pid, folder)
    server.unref()

    try {
      await Promise.race([
        greeted(ports[0] ?? 0, spec.isSilent === true),
        ended.then(error => Promise.reject(error)),
      ])
      return { pid: server.pid, ports, folder, [Symbol.asyncDispose]: stop }
    } catch (error) {
      const said = await readFile(log, 'utf8').catch(() => '')
      await stop()
      failure = new Error(`${spec.name} did not start: ${said.slice(-2000)}`, { cause: error })
      // Another process may have taken the port in the meantime.
      if (!/in use|bind/i.test(said)) throw failure
    }
  }
  throw failure
}

/** The command of a server that writes its log to its standard streams. */
export function logging(log: string, command: string, args: readonly string[]) {
  return { command: '/bin/sh', args: ['-c', 'exec "$@" >>"$0" 2>&1', log, command, ...args], log }
}

function endOf(server: ChildProcess) {
  return new Promise<Error>(resolve => {
    server.once('error', resolve)
    server.once('exit', (code, signal) => resolve(new Error(`ended at once (${code ?? signal})`)))
  })
}

/** Kills the group and removes the folder once the returned function is called or this process is gone. */
function watch(group: number, folder: string) {
  // The second rm is for files that a dying process made during the first.
  const script = 'cat >/dev/null; kill -s KILL -- "-$1"; rm -rf -- "$2"; sleep 0.05; rm -rf -- "$2"'
  const watcher = spawn('/bin/sh', ['-c', script, 'watch', String(group), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.unref()
  const gone = new Promise<void>(resolve => watcher.once('exit', () => resolve()))
  return async () => {
    watcher.ref()
    watcher.stdin?.end()
    await gone
  }
}

/** Ports that this process has tried. Their servers may not listen yet, or be about to start again. */
const tried = new Set<number>()

/**
 * Ports of 127.0.0.1 that nothing listens on at the moment. This process and the other workers of the test run get none of
 * them again, nor does the system give them to anybody who asks for any port. So they stay free until their server listens,
 * and while it starts again.
 */
export async function findFreePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    if (tried.size === PORTS_PER_WORKER) throw new Error('This process has used up its ports')
    const port = FIRST_PORT + randomInt(PORTS_PER_WORKER)
    if (tried.has(port)) continue
    tried.add(port)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  return new Promise((resolve, reject) => {
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    )
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

async function greeted(port: number, isSilent: boolean): Promise<void> {
  const deadline = Date.now() + START_SECONDS_MAX * 1000
  while (Date.now() < deadline) {
    if (await readsGreeting(port, isSilent)) return
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  throw new Error(`nothing greeted on port ${port} within ${START_SECONDS_MAX} s`)
}

function readsGreeting(port: number, isSilent: boolean) {
  return new Promise<boolean>(resolve => {
    const socket = connect(port, '127.0.0.1')
    const done = (greeting: boolean) => {
      socket.destroy()
      resolve(greeting)
    }
    socket.once(isSilent ? 'connect' : 'data', () => done(true))
    socket.once('error', () => done(false))
    socket.once('close', () => done(false))
  })
}
