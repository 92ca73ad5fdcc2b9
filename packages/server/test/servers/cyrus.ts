import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeCertificates } from './certificate.ts'
import {
  type CyrusMailing,
  type CyrusSettings,
  imapdConfig,
  masterConfig,
  SIEVE_FILE,
  SIEVE_SCRIPT,
} from './cyrus-config.ts'
import { startDaemon } from './daemon.ts'
import { encodeMailboxName, quote } from './imap-values.ts'
import { requireCyrus } from './install.ts'
import { type LmtpServer, type MailServer, makeUpName, type TestUser } from './mail-server.ts'
import { openWitness } from './witness.ts'

const run = promisify(execFile)

const DOMAIN = 'cyrus.test'

export interface CyrusServer extends MailServer, LmtpServer {
  /** The port of CalDAV and CardDAV; null if it was started without. */
  readonly davPort: number | null
}

/** Starts a Cyrus of its own on free loopback ports, as root (it drops to `mail`). Takes about 100 ms. */
export function startCyrus({ tls = false } = {}): Promise<MailServer & LmtpServer> {
  return start({ tls, dav: false })
}

/** The same with CalDAV and CardDAV. */
export function startCyrusWithDav(mailing: CyrusMailing | null = null): Promise<CyrusServer> {
  return start({ tls: false, dav: true, mailing })
}

async function start({
  tls,
  dav,
  mailing = null,
}: {
  tls: boolean
  dav: boolean
  mailing?: CyrusMailing | null
}): Promise<CyrusServer> {
  const { programs, env } = await requireCyrus()
  let ca: string | null = null
  const daemon = await startDaemon({
    name: 'cyrus',
    portCount: 4,
    async prepare(folder, [port = 0, tlsPort = 0, lmtpPort = 0, davPort = 0]) {
      await chmod(folder, 0o755)
      for (const name of ['conf', 'conf/socket', 'spool', 'sieve', 'run', 'run/proc', 'run/lock'])
        await mkdir(join(folder, name))
      if (tls) ca = await makeCertificates(folder)
      const settings: CyrusSettings = {
        folder,
        programs,
        port,
        tlsPort,
        lmtpPort,
        hasTls: tls,
        davPort: dav ? davPort : null,
        mailing,
      }
      if (mailing) await writeFile(join(folder, SIEVE_FILE), SIEVE_SCRIPT)
      await writeFile(join(folder, 'imapd.conf'), imapdConfig(settings))
      await writeFile(join(folder, 'cyrus.conf'), masterConfig(settings))
      await savePassword(folder, 'admin', 'secret of admin')
      await run('chown', ['-R', 'mail', folder])
      const log = join(folder, 'master.log')
      const args = ['-C', join(folder, 'imapd.conf'), '-M', join(folder, 'cyrus.conf'), '-L', log, '-D']
      return {
        command: join(programs, 'master'),
        args: [...args, '-p', join(folder, 'master.pid')],
        env,
        log,
      }
    },
  })
  const { folder, ports } = daemon
  const server: CyrusServer = {
    kind: 'cyrus',
    domain: DOMAIN,
    lmtpPort: ports[2] ?? 0,
    davPort: dav ? (ports[3] ?? 0) : null,
    host: '127.0.0.1',
    port: ports[0] ?? 0,
    tlsPort: tls ? (ports[1] ?? 0) : null,
    ca,
    directPort: ports[0] ?? 0,
    separator: '/',
    prefix: '',
    processGroup: daemon.pid,
    logFile: join(folder, 'master.log'),
    async addUser(name = makeUpName()) {
      const user: TestUser = { user: name, password: `secret of ${name}`, email: `${name}@${DOMAIN}` }
      await savePassword(folder, user.user, user.password)
      return user
    },
    async setPassword(user, password) {
      await savePassword(folder, user.user, password)
      return { ...user, password }
    },
    renumber: (user, mailbox) => replaceMailbox(server, user, mailbox),
    kick: user => kick(join(folder, 'run/proc'), user),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
  return server
}

/**
 * Cyrus has no command that changes UIDVALIDITY: the mailbox is put aside and created again with copies of its messages.
 * INBOX cannot be put aside.
 */
async function replaceMailbox(server: MailServer, user: TestUser, mailbox: string) {
  if (mailbox === 'INBOX') throw new Error('Cyrus cannot give INBOX another UIDVALIDITY')
  await using witness = await openWitness(server, user)
  const name = quote(encodeMailboxName(mailbox))
  const aside = quote(encodeMailboxName(`${mailbox} aside`))
  await witness.command(`RENAME ${name} ${aside}`)
  await witness.command(`CREATE ${name}`)
  const { untagged } = await witness.command(`SELECT ${aside}`)
  if (!untagged.some(values => values.join(' ') === '0 EXISTS')) await witness.command(`COPY 1:* ${name}`)
  await witness.command('UNSELECT')
  await witness.command(`DELETE ${aside}`)
}

/** Each process of Cyrus with a client has a file named by its number. */
async function kick(folder: string, user?: TestUser) {
  for (const file of await readdir(folder)) {
    const serves = await readFile(join(folder, file), 'utf8').catch(() => '')
    if (serves.startsWith('imap') && (!user || serves.split(/\s/).includes(user.user)))
      process.kill(Number(file))
  }
}

async function savePassword(folder: string, name: string, password: string) {
  const saved = run('saslpasswd2', ['-p', '-c', '-f', join(folder, 'sasldb2'), '-u', 'cyrus.test', name])
  saved.child.stdin?.end(`${password}\n`)
  await saved
}
