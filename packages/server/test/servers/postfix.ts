import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificates } from './certificate.ts'
import { startDaemon } from './daemon.ts'
import type { DovecotServer } from './dovecot.ts'
import { POSTFIX_MASTER, requirePostfix } from './install.ts'
import type { LmtpServer } from './mail-server.ts'
import { postfixConfig, postfixServices } from './postfix-config.ts'

const run = promisify(execFile)

export interface PostfixServer extends AsyncDisposable {
  readonly host: string
  /** Submission in the clear, with STARTTLS where it was started with TLS. */
  readonly port: number
  /** Submission by TLS from the first byte; null where it was started without. */
  readonly tlsPort: number | null
  /** The certificate authority to trust, as PEM; null without TLS. */
  readonly ca: string | null
  readonly logFile: string
}

export interface PostfixOptions {
  tls?: boolean
  messageBytesMax?: number
  /** Other servers that it delivers to. */
  beside?: readonly LmtpServer[]
}

/**
 * Starts a Postfix of its own on free loopback ports, where the users of a Dovecot may send. It delivers to that
 * Dovecot by LMTP; nothing leaves the machine. `nobody@…` is refused with 550 at RCPT, `greylist@…` with 450. What is
 * sent to bounce.test, full.test and defer.test is accepted, and reported as 5.1.1, 5.2.2 and as delayed (4.3.2).
 */
export async function startPostfix(
  dovecot: DovecotServer,
  options: PostfixOptions = {},
): Promise<PostfixServer> {
  const executable = requirePostfix()
  const { tls = false, messageBytesMax = 36_700_160, beside = [] } = options
  let ca: string | null = null
  const daemon = await startDaemon({
    name: 'postfix',
    portCount: 2,
    async prepare(folder, [port = 0, tlsPort = 0]) {
      await chmod(folder, 0o755)
      for (const name of ['etc', 'queue', 'data']) await mkdir(join(folder, name))
      await run('chown', ['postfix', join(folder, 'data')])
      if (tls) ca = await makeCertificates(folder)
      const log = join(folder, 'postfix.log')
      const settings = { folder, port, tlsPort, hasTls: tls, messageBytesMax, dovecot, beside }
      await writeFile(join(folder, 'etc/main.cf'), postfixConfig(settings))
      await writeFile(join(folder, 'etc/master.cf'), postfixServices(settings))
      const config = ['-c', join(folder, 'etc')]
      // Makes the folders of the queue.
      await run(executable, [...config, 'check'])
      // Started by `postfix start-fg`, its master would leave the process group by which it is ended.
      return { command: POSTFIX_MASTER, args: [...config, '-d'], log }
    },
  })
  const [port = 0, tlsPort = 0] = daemon.ports
  return {
    host: '127.0.0.1',
    port,
    tlsPort: tls ? tlsPort : null,
    ca,
    logFile: join(daemon.folder, 'postfix.log'),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}
