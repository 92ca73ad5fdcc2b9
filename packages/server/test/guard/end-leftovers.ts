// The guard of a test run: a process that waits for the end of the run, which closes its standard input, and then ends
// what the run left. See guard.ts.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Guarded, GuardedProcess } from './guard.ts'
import { readStartTime } from './start-time.ts'

/** Processes of the run may be about to end, and start something until then. */
const ROUNDS_MAX = 10
const ROUND_MILLISECONDS = 500
const LOOK_MILLISECONDS = 20
const LOOKS_MAX = 1000

const [folder = ''] = process.argv.slice(2)

await once(process.stdin.resume(), 'close')
for (let round = 0; round < ROUNDS_MAX && (await endLeftovers()) > 0; round += 1) {
  await setTimeout(ROUND_MILLISECONDS)
}
await rm(folder, { recursive: true, force: true })

/** @returns how many there were */
async function endLeftovers(): Promise<number> {
  const files = (await readdir(folder)).map(name => path.join(folder, name))
  const guarded = (await Promise.all(files.map(read))).filter(one => one !== null)
  // Services first: they start their database again.
  for (const one of guarded) if ('pid' in one && isStillThere(one)) end(one.pid, one.signal)
  for (const one of guarded) if ('folder' in one) await endDatabasesIn(one.folder)
  await Promise.all(files.map(file => rm(file, { force: true })))
  return files.length
}

/** Null for one that was released meanwhile, or not written to its end. */
async function read(file: string): Promise<Guarded | null> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Guarded
  } catch {
    return null
  }
}

/** Another process may have the number by now. */
function isStillThere({ pid, startTime }: GuardedProcess): boolean {
  return startTime !== null && readStartTime(pid) === startTime
}

async function endDatabasesIn(place: string): Promise<void> {
  for (const file of globSync('{data,postgres/cluster,*/postgres/cluster}/postmaster.pid', { cwd: place })) {
    const pid = Number.parseInt(await readFile(path.join(place, file), 'utf8').catch(() => ''), 10)
    // Here, too, another process may have the number.
    if (!(pid > 0) || !commandOf(pid).includes(place)) continue
    end(pid, 'SIGQUIT')
    for (let look = 0; look < LOOKS_MAX && signal(pid, 0); look += 1) await setTimeout(LOOK_MILLISECONDS)
  }
  await rm(place, { recursive: true, force: true }).catch(() => {})
}

function commandOf(pid: number): string {
  try {
    // A small Debian has no ps.
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
  } catch {
    return ''
  }
}

/** Ends a process, also one that a test suspended. */
function end(pid: number, name: NodeJS.Signals): void {
  signal(pid, name)
  signal(pid, 'SIGCONT')
}

/** @returns whether there is such a process */
function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}
