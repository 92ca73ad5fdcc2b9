// The first step of `npm start`, `npm run dev` and `npm test`: runs `npm ci` unless the packages of this clone are those
// of package-lock.json. Plain JavaScript, since the Node.js that runs it may be older than the one that it brings, on
// which the script of package.json then goes on.
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_MAJOR = 24
const root = realpathSync(fileURLToPath(new URL('..', import.meta.url)))
const modules = join(root, 'node_modules')
/** Exists while packages are installed. Holds the ids of this process and of npm, and the packages from before. */
const work = join(root, '.npm-ci')
const pids = join(work, 'pid')
/** The packages that come back if the installation does not succeed. */
const earlier = join(work, 'node_modules')
const replaced = join(work, 'replaced')
const OFFLINE =
  /code (?:ENOTFOUND|EAI_AGAIN|ECONN\w+|E\w*TIMEDOUT|E(?:NET|HOST)UNREACH|ENOTCACHED|ERR_SOCKET\w*)/
const NAMED_MAX = 3

/** Why the script of package.json does not go on. */
class Refused extends Error {}

/** Kinds of packages that need not be there: those that npm is set to leave out, and those of the arguments. */
const omitted = new Set([
  ...(process.env.npm_config_omit ?? '').split(/\s+/),
  ...process.argv.slice(2).map(argument => argument.replace('--omit=', '')),
])

try {
  if (existsSync(work)) recover()
  let unlike = findUnlike()
  if (unlike.length > 0) {
    await install(unlike)
    unlike = findUnlike()
    if (unlike.length > 0) say(`npm left out ${listed(unlike)}, which this machine should have.`)
  }
  requireNode()
} catch (error) {
  if (!(error instanceof Refused)) throw error
  say(error.message)
  process.exitCode = 1
}

/** The places of packages that are missing, or there in another version than the lock file names. */
function findUnlike() {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const installed = readPackages(join(modules, '.package-lock.json'))
  return Object.entries(wanted).flatMap(([place, entry]) => {
    if (!/(?:^|\/)node_modules\//.test(place)) return []
    const there = installed[place]
    if (!there) return isNeeded(entry) ? [place] : []
    const isSame = there.version === entry.version && there.integrity === entry.integrity
    return isSame && existsSync(join(root, place)) ? [] : [place]
  })
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages ?? {}
  } catch (error) {
    if (error.code !== 'ENOENT' && !(error instanceof SyntaxError)) throw error
    return {}
  }
}

/** An optional package is needed on the machines that it names. A package that names no system, or a C library, never is. */
function isNeeded({ optional, dev, devOptional, os, cpu, libc }) {
  if ((dev || devOptional) && omitted.has('dev')) return false
  if (!optional) return true
  const isForUs = os?.includes(process.platform) && cpu?.includes(process.arch)
  return isForUs === true && libc === undefined && !omitted.has('optional')
}

/** Puts aside what is there: it comes back if this fails, and with the next start if it is interrupted. */
async function install(unlike) {
  await refuseWhileUsed()
  begin()
  say(`Packages are missing or outdated (${listed(unlike)}). Running "npm ci" in ${root}`)
  const { code, complaint } = await runNpm()
  if (code === 0) return finish()
  const hadPackages = existsSync(earlier)
  restore()
  const reason = OFFLINE.test(complaint)
    ? 'The registry of npm cannot be reached, so nothing was installed.'
    : 'Nothing was installed, since "npm ci" failed.'
  const kept = hadPackages
    ? ` The packages that were there are still there; to use them as they are, begin with "npx waxwing serve" or "npx vitest".`
    : ''
  throw new Refused(reason + kept)
}

function begin() {
  mkdirSync(work)
  writeFileSync(pids, `${process.pid}\n`)
  if (existsSync(modules)) renameSync(modules, earlier)
}

/** Takes away the packages from before. If that is interrupted, those that are half gone do not come back. */
function finish() {
  if (existsSync(earlier)) renameSync(earlier, replaced)
  rmSync(work, { recursive: true })
}

/** Brings back what an interrupted installation put aside. */
function recover() {
  const [script = 0, npm = 0] = readFileSync(pids, { encoding: 'utf8', flag: 'a+' }).split('\n').map(Number)
  if (script > 0 && isRunning(script)) {
    throw new Refused(
      `Process ${script} installs packages in ${root}. Begin again when it is done; if it does something else, remove ${work}.`,
    )
  }
  if (npm > 0 && isRunning(npm)) {
    throw new Refused(
      `Process ${npm} ("npm ci") still writes packages in ${root}, although what started it has ended. Begin again ` +
        `when it is done, or end it with "kill ${npm}"; if it does something else, remove ${work}.`,
    )
  }
  restore()
}

function restore() {
  if (existsSync(earlier)) {
    rmSync(modules, { recursive: true, force: true })
    renameSync(earlier, modules)
  }
  rmSync(work, { recursive: true })
}

async function runNpm() {
  const { spawn } = await import('node:child_process')
  return new Promise(resolve => {
    const npm = spawn('npm', ['ci'], { cwd: root, stdio: ['ignore', 'inherit', 'pipe'] })
    // It goes on if only this process is killed.
    if (npm.pid !== undefined) appendFileSync(pids, `${npm.pid}\n`)
    let complaint = ''
    npm.stderr.setEncoding('utf8').on('data', text => {
      complaint += text
      process.stderr.write(text)
    })
    npm.once('error', error => {
      say(error.message)
      resolve({ code: null, complaint: '' })
    })
    npm.once('close', code => resolve({ code, complaint }))
  })
}

/** The service loads code and starts its PostgreSQL from node_modules for as long as it runs. */
async function refuseWhileUsed() {
  const service = (await listCommands()).find(
    ({ pid, parts }) => pid !== process.pid && parts.some(isOurProgram),
  )
  if (!service) return
  throw new Refused(
    `Packages are missing or outdated, and Waxwing runs from this clone (process ${service.pid}). Stop it first: ` +
      '"npm ci" takes away what it runs from.',
  )
}

/** A process of the service has its program by its whole path among its arguments, however it was started. */
function isOurProgram(part) {
  if (!/^\/.*\/waxwing(?:\.js)?$/.test(part)) return false
  try {
    return realpathSync(part) === join(root, 'packages/server/bin/waxwing.js')
  } catch {
    return false
  }
}

async function listCommands() {
  if (process.platform !== 'linux') {
    const { spawnSync } = await import('node:child_process')
    const { stdout = '' } = spawnSync('ps', ['-axww', '-o', 'pid=,command='], { encoding: 'utf8' })
    return stdout.split('\n').map(line => {
      const [pid, ...parts] = line.trim().split(/\s+/)
      return { pid: Number(pid), parts }
    })
  }
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(name => ({ pid: Number(name), parts: readCommand(name) }))
}

/** Empty for a process that has ended meanwhile. */
function readCommand(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** On systems for which npm has a Node.js, the script of package.json finds it in node_modules/.bin. */
function requireNode() {
  const major = Number.parseInt(process.versions.node, 10)
  if (major >= NODE_MAJOR || existsSync(join(modules, '.bin/node'))) return
  throw new Refused(
    `Waxwing needs Node.js ${NODE_MAJOR} or newer; this is ${process.version}. npm has none for this system ` +
      `(${process.platform}, ${process.arch}): install it from https://nodejs.org.`,
  )
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return !hasEnded(pid)
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** A process that has ended keeps its number until its parent asks, which the first process of a container may never do. */
function hasEnded(pid) {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

function listed(places) {
  const names = places.slice(0, NAMED_MAX).map(place => place.replace(/^.*node_modules\//, ''))
  const more = places.length - names.length
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
}

function say(text) {
  process.stderr.write(`${text}\n`)
}
