import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'

export type Kind =
  | 'advisory lock'
  | 'child process'
  | 'database session'
  | 'listening socket'
  | 'temporary folder'
  | 'timer'

/** Something that a test opened, which must be closed when it ends. */
export interface Opened {
  kind: Kind
  name: string
  isOpen(): boolean
  /** The stack of the code that opened it. */
  stack: string
}

/** A test that opens something, or its file if that happens before all tests, or by a thing that was opened there. */
export interface Owner {
  /** The path of the file. */
  file: string
}

const LOOK_MILLISECONDS = 10
const FRAMES_KEPT = 25
/** Entries of closed things are dropped from time to time, so that a file with many keeps little. */
const LOOK_EVERY = 10_000

/** Frames of Node.js, and of the watching itself. */
const OF_NOBODY = /\(?node:|\/test\/leaks\/(?:watch|ledger)/

/** The owner of things that modules open as they are loaded. */
const OF_MODULES: Owner = { file: '' }

const owners = new AsyncLocalStorage<Owner>()
const ledger = new Map<Opened, Owner>()
/** Owners that left something open. It may go on to open things, for which no later test or file is to blame. */
const blamed = new WeakSet<Owner>()

/** The test, or the file, on whose behalf the caller runs. */
export function currentOwner(): Owner {
  return owners.getStore() ?? OF_MODULES
}

export function runAs<Result>(owner: Owner, run: () => Result): Result {
  return owners.run(owner, run)
}

/** Notes that the current test opened something. */
export function note(kind: Kind, nameOf: () => string, isOpen: () => boolean): void {
  const owner = currentOwner()
  if (blamed.has(owner)) return
  const holder = { stack: '' }
  // The runner asks for a hundred frames, which takes long for each timer.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = FRAMES_KEPT
  Error.captureStackTrace(holder, note)
  Error.stackTraceLimit = stackTraceLimit
  // The text of a stack is made when it is read first.
  const opened: Opened = {
    kind,
    isOpen,
    get name() {
      return nameOf()
    },
    get stack() {
      return holder.stack
    },
  }
  ledger.set(opened, owner)
  if (ledger.size % LOOK_EVERY === 0)
    for (const each of ledger.keys()) if (!each.isOpen()) ledger.delete(each)
}

export interface Left {
  opened: Opened
  owner: Owner
}

/**
 * Waits until everything of some owners is closed, and returns what is not, with its owner. It is noted no longer, nor is
 * what those owners open from then on.
 * @param listed kinds that are known to stay open, for which nobody waits
 */
export async function findLeft(
  isOf: (owner: Owner) => boolean,
  secondsMax: number,
  listed: readonly Kind[] = [],
): Promise<Left[]> {
  const until = performance.now() + secondsMax * 1000
  for (;;) {
    const left: Left[] = []
    for (const [opened, owner] of ledger) {
      if (!isOf(owner)) continue
      if (opened.isOpen() && isOurs(opened)) left.push({ opened, owner })
      else ledger.delete(opened)
    }
    if (left.length === 0) return []
    if (left.every(({ opened: { kind } }) => listed.includes(kind)) || performance.now() > until) {
      for (const { opened, owner } of left) {
        ledger.delete(opened)
        if (owner !== OF_MODULES) blamed.add(owner)
      }
      return left
    }
    await sleep(LOOK_MILLISECONDS)
  }
}

/** The frames of a stack from the code that opened something on. */
export function framesOf(stack: string): string[] {
  return stack.split('\n').filter(line => /^ +at /.test(line) && !OF_NOBODY.test(line))
}

/** Whether code of this repository opened it. Packages keep timers of their own for later. */
function isOurs({ kind, stack }: Opened): boolean {
  return kind !== 'timer' || !(framesOf(stack)[0] ?? '/node_modules/').includes('/node_modules/')
}
