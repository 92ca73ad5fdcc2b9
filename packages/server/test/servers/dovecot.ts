import { execFile } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificates } from './certificate.ts'
import { BARE_SERVER } from './chaos-faults.ts'
import { startChaosProxy } from './chaos-proxy.ts'
import { startDaemon } from './daemon.ts'
import { dovecotConfig, type Flavour, type MailFormat } from './dovecot-config.ts'
import { requireDovecot } from './install.ts'
import { type LmtpServer, type MailServer, makeUpName, type TestUser } from './mail-server.ts'
import { openWitness } from './witness.ts'

const run = promisify(execFile)

const DOMAIN = 'dovecot.test'

export interface DovecotOptions {
  flavour?: Flavour
  /** How it stores mail; `mdbox` by default. */
  format?: MailFormat
  /** Also listens with TLS, and offers STARTTLS; takes another 50 ms to start. */
  tls?: boolean
  connectionsPerUserMax?: number
  /** Domain of its users' addresses. */
  domain?: string
}

/** A Dovecot, with the port where a mail transport agent asks whether a password is right. */
export interface DovecotServer extends MailServer, LmtpServer {
  readonly saslPort: number
  /** Copies all mail of a user. @returns puts the copy back, while nobody is connected to it */
  backUp(user: TestUser): Promise<() => Promise<void>>
}

/** Starts a Dovecot of its own on free loopback ports; many may run at once. Takes about 50 ms. */
export async function startDovecot(options: DovecotOptions = {}): Promise<DovecotServer> {
  const {
    flavour = 'full',
    format = 'mdbox',
    tls = false,
    connectionsPerUserMax = 500,
    domain = DOMAIN,
  } = options
  if (tls && flavour === 'poor') throw new Error('the poor server speaks in the clear only')
  const executable = await requireDovecot()
  let ca: string | null = null
  const daemon = await startDaemon({
    name: 'dovecot',
    portCount: 4,
    async prepare(folder, [port = 0, tlsPort = 0, lmtpPort = 0, saslPort = 0]) {
      await chmod(folder, 0o755)
      for (const name of ['run', 'state', 'users', 'mail']) await mkdir(join(folder, name))
      await chmod(join(folder, 'mail'), 0o777)
      if (tls) ca = await makeCertificates(folder)
      const certificates = tls ? folder : null
      const config = join(folder, 'dovecot.conf')
      await writeFile(
        config,
        dovecotConfig(folder, {
          flavour,
          format,
          port,
          tlsPort,
          lmtpPort,
          saslPort,
          certificates,
          connectionsPerUserMax,
        }),
      )
      return { command: executable, args: ['-F', '-c', config], log: join(folder, 'dovecot.log') }
    },
  })

  const {
    folder,
    ports: [port = 0, tlsPort = 0, lmtpPort = 0, saslPort = 0],
  } = daemon
  // Dovecot carries out commands that it does not advertise; one that has none of them refuses them.
  const bareness = flavour === 'poor' ? await startChaosProxy({ host: '127.0.0.1', port }, BARE_SERVER) : null
  const doveadm = (...args: string[]) => run('doveadm', ['-c', join(folder, 'dovecot.conf'), ...args])
  const waitForNobody = async (user?: TestUser) => {
    for (let tries = 0; tries < 100; tries++) {
      const { stdout } = await doveadm('who', user?.user ?? '*')
      if (stdout.trim().split('\n').length <= 1) return
    }
    throw new Error('Dovecot keeps its connections')
  }
  const server: DovecotServer = {
    domain,
    lmtpPort,
    saslPort,
    kind: flavour === 'full' ? 'dovecot' : 'dovecot-poor',
    host: '127.0.0.1',
    port: bareness?.port ?? port,
    tlsPort: tls ? tlsPort : null,
    ca,
    directPort: port,
    separator: flavour === 'full' ? '/' : '.',
    prefix: flavour === 'full' ? '' : 'INBOX.',
    processGroup: daemon.pid,
    logFile: join(folder, 'dovecot.log'),
    async addUser(name) {
      const user = await addUser(folder, name ?? makeUpName(), domain)
      await makeMailboxes(server, user)
      return user
    },
    setPassword: (user, password) => changePassword(server, folder, { ...user, password }),
    async renumber({ user }, mailbox) {
      const uidValidity = String(1 + Math.floor(Math.random() * 0x7fffffff))
      await doveadm('mailbox', 'update', '-u', user, '--uid-validity', uidValidity, mailbox)
    },
    async backUp(user) {
      const [mail, copy] = [join(folder, 'mail', user.user), join(folder, `copy of ${user.user}`)]
      await run('cp', ['-a', mail, copy])
      return async () => {
        // It fails if nobody is connected.
        await doveadm('kick', user.user).catch(() => null)
        await waitForNobody(user)
        await run('rm', ['-rf', mail])
        await run('cp', ['-a', copy, mail])
      }
    },
    async kick(user) {
      await doveadm('kick', user?.user ?? '*')
      await waitForNobody(user)
    },
    async [Symbol.asyncDispose]() {
      await bareness?.[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
    },
  }
  return server
}

/**
 * Dovecot makes the mailboxes of a new user at the first STATUS. Two connections that do so at once lock each other
 * out, and it ends one of them by a panic ("Resource deadlock avoided").
 */
async function makeMailboxes(server: MailServer, user: TestUser) {
  await using witness = await openWitness(server, user)
  await witness.command('LIST "" "*" RETURN (STATUS (MESSAGES))')
}

/** Dovecot looks at a password file again after a second at the latest. */
async function changePassword(server: MailServer, folder: string, user: TestUser) {
  await writePassword(folder, user)
  const deadline = Date.now() + 3000
  while (Date.now() < deadline) {
    const witness = await openWitness(server, user).catch(() => null)
    await witness?.[Symbol.asyncDispose]()
    if (witness) return user
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('Dovecot does not take the new password')
}

async function addUser(folder: string, name: string, domain: string): Promise<TestUser> {
  const email = name.includes('@') ? name : `${name}@${domain}`
  const user = { user: email, password: `secret of ${name}`, email }
  await writePassword(folder, user)
  return user
}

/** One file for each user: of a shared one Dovecot notices changes only once a second. */
async function writePassword(folder: string, { user, password }: TestUser) {
  await writeFile(join(folder, 'users', user), `${user}:{PLAIN}${password}\n`)
}
