import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readStartTime } from './start-time.ts'

/** Names the folder with a file for each thing that must not outlive the run. */
const VARIABLE = 'WAXWING_TEST_GUARD'
const PROGRAM = path.join(import.meta.dirname, 'end-leftovers.ts')

/** A process to end, or a folder to remove, with the database server whose data lies in it. */
export type Guarded = GuardedProcess | { folder: string }

export interface GuardedProcess {
  pid: number
  /** Null if it could not be read. Another process may have the number later, so this one is not ended then. */
  startTime: string | null
  signal: NodeJS.Signals
}

/**
 * Starts the guard of this process and of those that it starts: when this one has ended, however it ended, the guard
 * ends what they left. A run that is killed cannot do so, and databases and services outlive the processes of their
 * tests. Disposing it does the same.
 */
export function startGuard(): Disposable {
  const folder = mkdtempSync(path.join(tmpdir(), 'waxwing-guard-'))
  process.env[VARIABLE] = folder
  // Ctrl-C in a terminal reaches only the processes of its session.
  const guard = spawn(process.execPath, [PROGRAM, folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  guard.unref()
  // It sees the end of this pipe.
  return { [Symbol.dispose]: () => void guard.stdin.end() }
}

/** Guards a folder until the returned function is called. Does nothing without a guard, as in a script. */
export function guardFolder(folder: string): () => void {
  return put({ folder })
}

/** Guards a process until it ends. `signal` is what ends it. */
export function guardProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): void {
  const { pid } = child
  if (pid === undefined) return
  const release = put({ pid, startTime: readStartTime(pid), signal })
  child.once('exit', release)
}

function put(guarded: Guarded): () => void {
  const guard = process.env[VARIABLE]
  if (guard === undefined) return () => {}
  const file = path.join(guard, randomUUID())
  // At once, since this process may be killed at any time.
  writeFileSync(file, JSON.stringify(guarded))
  return () => rmSync(file, { force: true })
}
