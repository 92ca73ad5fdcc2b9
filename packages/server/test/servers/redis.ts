import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificates } from './certificate.ts'
import { startDaemon } from './daemon.ts'
import { REDIS_CLI, requireRedis } from './install.ts'

const run = promisify(execFile)

export interface RedisServer extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** The same server by TLS; null if it was started without. */
  readonly tlsUrl: string | null
  /** The certificate authority to trust, as PEM; null without TLS. */
  readonly ca: string | null
  kill(signal: NodeJS.Signals): void
  /** Runs a command and returns what `redis-cli` prints. */
  command(...args: string[]): Promise<string>
}

export interface RedisOptions {
  /** A port that an earlier server has left. */
  port?: number
  password?: string
  tls?: boolean
}

/** Starts a Redis of its own on loopback, which writes nothing to the disk. */
export async function startRedis({
  port: given,
  password,
  tls = false,
}: RedisOptions = {}): Promise<RedisServer> {
  const command = requireRedis()
  let ca: string | null = null
  const daemon = await startDaemon({
    name: 'redis',
    portCount: 2,
    ports: given === undefined ? undefined : [given],
    isSilent: true,
    async prepare(folder, [port = 0, tlsPort = 0]) {
      const log = join(folder, 'redis.log')
      const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
      args.push('--dir', folder, '--logfile', log, '--enable-debug-command', 'local')
      if (password !== undefined) args.push('--requirepass', password)
      if (tls) {
        ca = await makeCertificates(folder)
        args.push('--tls-port', String(tlsPort), '--tls-auth-clients', 'no')
        args.push('--tls-cert-file', join(folder, 'server.crt'), '--tls-key-file', join(folder, 'server.key'))
        args.push('--tls-ca-cert-file', join(folder, 'ca.crt'))
      }
      return { command, args, log }
    },
  })
  const [port = 0, tlsPort = 0] = daemon.ports
  const user = password === undefined ? '' : `:${encodeURIComponent(password)}@`
  return {
    port,
    url: `redis://${user}127.0.0.1:${port}`,
    tlsUrl: tls ? `rediss://${user}localhost:${tlsPort}` : null,
    ca,
    kill: signal => void process.kill(daemon.pid, signal),
    async command(...args) {
      const auth = password === undefined ? [] : ['--no-auth-warning', '-a', password]
      const { stdout } = await run(REDIS_CLI, ['-p', String(port), ...auth, ...args])
      return stdout.trimEnd()
    },
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}
