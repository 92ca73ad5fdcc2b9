/**
 * Brings the servers and the browser that the tests run against, Python, which checks our reading of messages, cards and
 * rules, and the tools that check the files of deploy/: `node packages/server/test/servers/install.ts`.
 * Installs only as root on Debian and its kin; elsewhere it refuses with the reason and the remedy.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const DOVECOT = '/usr/sbin/dovecot'
const POSTFIX = '/usr/sbin/postfix'
export const POSTFIX_MASTER = '/usr/lib/postfix/sbin/master'
const CHROMIUM = '/usr/bin/chromium'
const REDIS = '/usr/bin/redis-server'
const VOBJECT = '/usr/lib/python3/dist-packages/vobject/__init__.py'
const DATEUTIL = '/usr/lib/python3/dist-packages/dateutil/__init__.py'
const REQUESTS = '/usr/lib/python3/dist-packages/requests/__init__.py'
export const REDIS_CLI = '/usr/bin/redis-cli'
const PGBOUNCER = '/usr/sbin/pgbouncer'
const HAPROXY = '/usr/sbin/haproxy'
/** Each command that the tests call, or module of Python, with its Debian package. */
const COMMANDS: ReadonlyArray<readonly [path: string, debianPackage: string]> = [
  [DOVECOT, 'dovecot-imapd'],
  ['/usr/lib/dovecot/lmtp', 'dovecot-lmtpd'],
  [POSTFIX, 'postfix'],
  [CHROMIUM, 'chromium'],
  [PGBOUNCER, 'pgbouncer'],
  ['/usr/bin/openssl', 'openssl'],
  ['/usr/sbin/saslpasswd2', 'sasl2-bin'],
  ['/usr/bin/python3', 'python3'],
  [VOBJECT, 'python3-vobject'],
  [DATEUTIL, 'python3-dateutil'],
  // Python, curl and jq run the examples of docs/examples.
  [REQUESTS, 'python3-requests'],
  ['/usr/bin/curl', 'curl'],
  ['/usr/bin/jq', 'jq'],
  [REDIS, 'redis-server'],
  [REDIS_CLI, 'redis-tools'],
  [HAPROXY, 'haproxy'],
  ['/usr/bin/radicale', 'radicale'],
  ['/usr/bin/xandikos', 'xandikos'],
  ['/usr/bin/php', 'php-cli'],
  ['/usr/share/php/Sabre/autoload.php', 'php-sabre-dav'],
  // Debian 12 has PHP 8.2.
  ['/etc/php/8.2/mods-available/pdo_sqlite.ini', 'php-sqlite3'],
  // Programs that check the files of deploy/.
  ['/usr/bin/promtool', 'prometheus'],
  ['/usr/bin/docker-compose', 'docker-compose'],
  ['/usr/bin/systemd-analyze', 'systemd'],
]

/** Cyrus runs as the user `mail`, who cannot enter root's home folder. */
const CYRUS_ROOT = '/var/cache/waxwing-test/cyrus-with-dav'
/** DAViCal wants Apache, which is not needed, so it is unpacked as well. */
const DAVICAL_ROOT = '/var/cache/waxwing-test/davical'
const DAVICAL_PACKAGES = ['davical', 'libawl-php']
/** The extension of PHP for PostgreSQL. */
const PHP_PGSQL = 'php8.2-pgsql'
const CYRUS_PACKAGES = ['cyrus-imapd', 'cyrus-caldav']
const POLICY = '/usr/sbin/policy-rc.d'
const REMEDY =
  'Run the tests as root on Debian 12, for instance by ' +
  '`docker run --rm -v "$PWD:/src" -w /src node:24-bookworm npm test`.'

/** Tests that run without them, for the message. */
const WITHOUT =
  'Without them, `npm test -- --no-servers` runs types, lint, rules, and every test on the embedded PostgreSQL alone.'

/** The folder of extensions of PHP 8.2. */
const PHP_EXTENSIONS = 'usr/lib/php/20220829'
const TRIPLET = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' }[process.arch as string] ?? ''

export interface DavicalFiles {
  /** The folder of files that do not depend on the machine, `/usr/share` of an installed DAViCal. */
  share: string
  /** Extensions of PHP that it needs, in the order in which they are loaded. */
  extensions: readonly string[]
  env: { LD_LIBRARY_PATH: string }
}

export interface CyrusFiles {
  /** Folder of master, imapd and the other programs. */
  programs: string
  env: { LD_LIBRARY_PATH: string; LD_PRELOAD: string }
}

/** Where Dovecot is. Throws, with the remedy, where it is not or is one whose configuration we do not speak. */
export async function requireDovecot(): Promise<string> {
  requireInstalled(DOVECOT, 'Dovecot')
  return DOVECOT
}

/** Where the unpacked Cyrus is. Throws, with the remedy, where it is not or cannot be run. */
export async function requireCyrus(): Promise<CyrusFiles> {
  if (process.getuid?.() !== 0) throw new Error(`Cyrus can only be started by root. ${REMEDY}`)
  const programs = join(CYRUS_ROOT, 'usr/lib/cyrus/bin')
  requireInstalled(join(programs, 'master'), 'Cyrus')
  const folders = [`usr/lib/${TRIPLET}`, `lib/${TRIPLET}`, 'usr/lib', 'usr/lib/cyrus']
  const libraryPath = folders.map(folder => join(CYRUS_ROOT, folder)).join(':')
  // Cyrus flushes each message to disk, which takes most of the time, and has no setting against it.
  return { programs, env: { LD_LIBRARY_PATH: libraryPath, LD_PRELOAD: 'libeatmydata.so' } }
}

/** The unpacked DAViCal. Throws, with the remedy, if it is not there. */
export function requireDavical(): DavicalFiles {
  const extensions = ['pgsql.so', 'pdo_pgsql.so'].map(name => join(DAVICAL_ROOT, PHP_EXTENSIONS, name))
  for (const extension of extensions) requireInstalled(extension, 'DAViCal')
  const LD_LIBRARY_PATH = join(DAVICAL_ROOT, 'usr/lib', TRIPLET)
  return { share: join(DAVICAL_ROOT, 'usr/share'), extensions, env: { LD_LIBRARY_PATH } }
}

/** Where Postfix is. Throws, with the remedy, where it is not or cannot be run. */
export function requirePostfix(): string {
  if (process.getuid?.() !== 0) throw new Error(`Postfix can only be started by root. ${REMEDY}`)
  requireInstalled(POSTFIX, 'Postfix')
  return POSTFIX
}

/** Where the browser is. Throws, with the remedy, where it is not. */
export function requireChromium(): string {
  requireInstalled(CHROMIUM, 'Chromium')
  return CHROMIUM
}

/** The path of Redis. Throws, with the remedy, if it is not there. */
export function requireRedis(): string {
  requireInstalled(REDIS, 'Redis')
  return REDIS
}

/** Where PgBouncer is. Throws, with the remedy, where it is not. */
export function requirePgBouncer(): string {
  requireInstalled(PGBOUNCER, 'PgBouncer')
  return PGBOUNCER
}

/** Where the load balancer is. Throws, with the remedy, where it is not. */
export function requireHaproxy(): string {
  requireInstalled(HAPROXY, 'HAProxy')
  return HAPROXY
}

/** The path of a program that the tests call. Throws, with the remedy, if it is not there. */
export function requireProgram(name: string): string {
  const [path] = COMMANDS.find(([command]) => basename(command) === name) ?? []
  if (path === undefined) throw new Error(`The tests do not install ${name}`)
  requireInstalled(path, name)
  return path
}

/** The path of Python, which has vobject. Throws, with the remedy, if one of them is not there. */
export function requireVobject(): string {
  requireInstalled(VOBJECT, 'vobject')
  return requireProgram('python3')
}

/** The path of Python, which has dateutil. Throws, with the remedy, if one of them is not there. */
export function requireDateutil(): string {
  requireInstalled(DATEUTIL, 'dateutil')
  return requireProgram('python3')
}

/** The path of Python, which has requests. Throws, with the remedy, if one of them is not there. */
export function requireRequests(): string {
  requireInstalled(REQUESTS, 'requests')
  return requireProgram('python3')
}

function requireInstalled(path: string, name: string) {
  if (existsSync(path)) return
  throw new Error(
    `${name} is not installed. Run \`node packages/server/test/servers/install.ts\` as root on Debian.`,
  )
}

/** Installs what is missing; done in milliseconds when nothing is. */
export async function installServers(): Promise<void> {
  const missing = COMMANDS.filter(([path]) => !existsSync(path)).map(([, debianPackage]) => debianPackage)
  const needsCyrus = !existsSync(CYRUS_ROOT)
  const needsDavical = !existsSync(DAVICAL_ROOT)
  if (missing.length > 0 || needsCyrus || needsDavical) {
    const unpacked = [...(needsCyrus ? CYRUS_PACKAGES : []), ...(needsDavical ? DAVICAL_PACKAGES : [])]
    const wanted = [...missing, ...unpacked].join(', ')
    await requireDebianAndRoot(wanted)
    process.stderr.write(`Installing ${wanted} for the tests\n`)
    await apt('update', '-qq')
    if (missing.length > 0) await installPackages(missing)
    if (needsCyrus) await unpack(CYRUS_ROOT, await listCyrusPackages())
    if (needsDavical) await unpack(DAVICAL_ROOT, [...DAVICAL_PACKAGES, ...(await listMissing([PHP_PGSQL]))])
  }
  if (process.getuid?.() !== 0) throw new Error(`Cyrus can only be started by root. ${REMEDY}`)
  const { stdout } = await run(DOVECOT, ['--version'])
  if (!stdout.startsWith('2.3.')) {
    throw new Error(`Dovecot ${stdout.trim()} reads another configuration than 2.3. ${REMEDY}`)
  }
}

async function requireDebianAndRoot(wanted: string) {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '')
  if (!/^ID(_LIKE)?=.*debian/m.test(release)) {
    throw new Error(`The tests need ${wanted}, which is installed by itself only on Debian. ${REMEDY}`)
  }
  if (process.getuid?.() !== 0) {
    throw new Error(`The tests need ${wanted}, and installing takes root. ${REMEDY}`)
  }
}

function apt(...args: string[]) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return run('apt-get', ['-o', 'DPkg::Lock::Timeout=120', ...args], { env, maxBuffer: 1 << 26 })
}

/** Nothing that comes along may be started: policy-rc.d forbids it (see invoke-rc.d(8)), for as long as this takes. */
async function installPackages(packages: string[]) {
  const isOurs = !existsSync(POLICY)
  if (isOurs) await writeFile(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await apt('install', '-y', '-qq', '--no-install-recommends', ...packages)
  } finally {
    if (isOurs) await rm(POLICY)
  }
}

/** Cyrus with those of its libraries that are not here, as apt would install them; and what makes fsync do nothing. */
async function listCyrusPackages(): Promise<string[]> {
  return [...(await listMissing(CYRUS_PACKAGES)), 'libeatmydata1']
}

/** The packages that an installation of these ones would add, with these ones. */
async function listMissing(packages: readonly string[]): Promise<string[]> {
  const { stdout } = await apt('install', '--simulate', '-y', '--no-install-recommends', ...packages)
  return [...stdout.matchAll(/^Inst (\S+)/gm)].map(match => match[1] ?? '')
}

/** Unpacks packages beside the system, where they cannot conflict with others, as Cyrus does with Dovecot. */
async function unpack(folder: string, packages: readonly string[]): Promise<void> {
  await mkdir(dirname(folder), { recursive: true })
  const work = await mkdtemp(`${folder}-`)
  try {
    const downloads = join(work, 'packages')
    await mkdir(downloads)
    // apt downloads as its own user.
    await chmod(work, 0o755)
    await chmod(downloads, 0o777)
    await run('apt-get', ['download', '-qq', ...packages], { cwd: downloads })
    const root = join(work, 'root')
    for (const file of await readdir(downloads)) await run('dpkg', ['-x', join(downloads, file), root])
    await chmod(root, 0o755)
    // Another run that was faster leaves the same.
    await rename(root, folder).catch(error => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

if (import.meta.main) {
  try {
    await installServers()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${WITHOUT}\n`)
    process.exitCode = 1
  }
}
